"""robots.txt: RFC 9309, with Google's reading where the RFC is silent. Pure: bytes in, verdicts out, no network.

``parse`` is total and linear in the body (500 KiB of it are read). A verdict costs at most rules × URL length: patterns
are matched piece by piece from the left, which is exact for ``*`` and never backtracks.

Decisions, where sources differ:

- Percent-encoding is normalised on both sides (RFC 9309 §2.2.2), so ``/%62ar`` and ``/bar``, ``/ö`` and ``/%C3%B6``
  are one path; ``%2F`` and ``/`` in a path are not. Google's own matcher compares the text as it stands.
- Of several agent names the first that the file names wins; its groups are merged; ``*`` is for when none is named.
- A name of several words is no product token: only a file that has no ``*`` either may mean us by it.
- A ``User-agent`` line may name several, with blanks, commas or the like between them; each is addressed, as in Nutch.
- Crawl-delay is no RFC directive: it does not close a list of ``User-agent`` lines. It is for those of its group that
  stand above it, and of several for one name the shortest counts, as in Nutch.
- ``/robots.txt`` itself is always allowed (RFC 9309 §2.2.2).
- An HTML page that holds directives is read without its tags, as in Nutch.
- A last line cut by the size limit is dropped: half a ``Disallow`` forbids too much.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from nutchpy.core.robots_path import Spellings, spellings_of_path, spellings_of_pattern

SIZE_LIMIT: Final = 500 * 1024
MAX_CRAWL_DELAY: Final = 1e9
"""Seconds; an absurd delay is cut to this, so that arithmetic with it stays finite."""

_LINE_LIMIT: Final = 2083 * 8 - 1
_WHITE: Final = b" \t"
_AGENT_KEYS: Final = ("user-agent", "useragent", "user agent", "useg-agent", "ser-agent")
_DISALLOW_KEYS: Final = (
    *("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"),
    *("desallow", "dssalow", "dsallow"),
)
_SITEMAP_KEYS: Final = ("sitemap", "site-map")
_DELAY_KEYS: Final = ("crawl-delay", "crawldelay", "crawl delay", "crawl_delay")
_TOKEN: Final = re.compile(r"[A-Za-z_-]*")
_RAW_TOKEN: Final = re.compile(r"[^\s/]*")
_PRODUCT: Final = re.compile(r"(?<![^\s/();,])[^\s/();,]++(?=/)")
_SITEMAP_LINE: Final = re.compile(rb"site-?map[ \t]+https?:", re.IGNORECASE)
_BETWEEN_NAMES: Final = re.compile(r"[\s,;()]+")
_HTML: Final = re.compile(rb"<(?:html|head|body)\s*>", re.IGNORECASE)
_TAG_OF_HTML: Final = re.compile(rb"<[^<>\r\n]+>")
_ITSELF: Final = "/robots.txt"
_SECONDS: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(?:\s*s(?:ec(?:ond)?s?)?)?", re.ASCII | re.IGNORECASE)

Policy = Literal["parse", "allow_all", "deny_all", "defer"]


@dataclass(frozen=True, slots=True)
class RobotsVerdict:
    """What robots.txt says of one URL, and why."""

    allowed: bool
    group: str | None = None
    """The agent name whose groups were asked (``*`` included); None when no group is for us."""
    line: int | None = None
    """Number of the line that decided, from 1; None when no rule matched."""
    rule: str | None = None
    """The deciding rule, as ``Disallow: /x``."""
    crawl_delay: float | None = None
    """Seconds."""
    sitemaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One Allow or Disallow line."""

    allow: bool
    line: int
    text: str
    octets: int
    """Length of the pattern: the longest match wins."""
    pattern: Spellings

    def __str__(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {self.text}"


@dataclass(slots=True)
class Group:
    """One run of ``User-agent`` lines and what follows it."""

    agents: list[str]
    rules: list[Rule]
    delays: list[tuple[int, float]] = field(default_factory=list)
    """Each Crawl-delay, and how many of the agents stand above it."""
    closed: bool = False

    def addresses(self, token: str) -> bool:
        """Whether it is for that agent."""
        return any(token in _agent_tokens(name) for name in self.agents)

    def delays_of(self, token: str) -> list[float]:
        """The Crawl-delays below that agent's name, which is one of its agents."""
        first = next(number for number, name in enumerate(self.agents) if token in _agent_tokens(name))
        return [seconds for above, seconds in self.delays if above > first]


@dataclass(frozen=True, slots=True)
class Ruleset:
    """The merged groups of one agent; ``rules`` stand in the order in which the first match wins."""

    group: str | None
    rules: tuple[Rule, ...] = ()
    crawl_delay: float | None = None


@dataclass(frozen=True, slots=True)
class Robots:
    """A parsed robots.txt."""

    groups: tuple[Group, ...] = ()
    sitemaps: tuple[str, ...] = ()
    _selected: dict[tuple[str, ...], Ruleset] = field(default_factory=dict, repr=False, compare=False)

    def ruleset(self, agents: Sequence[str]) -> Ruleset:
        """The rules for a crawler that goes by ``agents``, most preferred first."""
        key = tuple(agents)
        if key not in self._selected:
            self._selected[key] = self._select(key)
        return self._selected[key]

    def verdict(self, url: str, agents: Sequence[str]) -> RobotsVerdict:
        """Whether ``agents`` may fetch ``url``, with the group, line and rule that say so."""
        rules = self.ruleset(agents)
        path = spellings_of_path(url)
        ruled = () if path.plain == _ITSELF else rules.rules
        won = next((rule for rule in ruled if rule.pattern.matches(path)), None)
        return RobotsVerdict(
            allowed=won is None or won.allow,
            group=rules.group,
            line=won.line if won else None,
            rule=str(won) if won else None,
            crawl_delay=rules.crawl_delay,
            sitemaps=self.sitemaps,
        )

    def _select(self, agents: tuple[str, ...]) -> Ruleset:
        named = {token for group in self.groups for name in group.agents for token in _agent_tokens(name)}
        ours = [(agent, token) for agent in agents for token in _our_tokens(agent) if token != "*"]
        words = [(agent, token) for agent, token in ours if " " not in token]
        for agent, token in (*words, ("*", "*"), *ours):
            if token in named:
                return self._merge(agent, token)
        return Ruleset(None)

    def _merge(self, agent: str, token: str) -> Ruleset:
        groups = [group for group in self.groups if group.addresses(token)]
        rules = [rule for group in groups for rule in group.rules]
        rules.sort(key=lambda rule: (-rule.octets, not rule.allow, rule.line))
        delays = [seconds for group in groups for seconds in group.delays_of(token)]
        return Ruleset(agent, tuple(rules), min(delays, default=None))


def parse(body: bytes) -> Robots:
    """Read a robots.txt body, whatever it holds."""
    builder = _Builder()
    for number, raw in enumerate(_lines(_text(body)), 1):
        pair = _key_and_value(raw)
        if pair is not None:
            builder.add(number, *pair)
    return Robots(tuple(builder.groups), tuple(dict.fromkeys(builder.sitemaps)))


def robots_policy(http_status: int | None, *, allow_forbidden: bool = True, defer_errors: bool = True) -> Policy:
    """What the final answer to a robots.txt request means; None is a network failure.

    ``allow_forbidden`` is ``http.robots.403.allow`` (401 and 403), ``defer_errors`` is
    ``http.robots.503.defer.visits`` (429, 5xx and failures). A 3xx is one redirect too many: no robots.txt.
    """
    if http_status is None or http_status == 429 or not 200 <= http_status < 500:
        return "defer" if defer_errors else "allow_all"
    if http_status < 300:
        return "parse"
    if http_status in (401, 403):
        return "allow_all" if allow_forbidden else "deny_all"
    return "allow_all"


class _Builder:
    """Collects groups line by line."""

    def __init__(self) -> None:
        self.groups: list[Group] = []
        self.sitemaps: list[str] = []

    def add(self, number: int, key: str, value: bytes) -> None:
        if key.startswith(_AGENT_KEYS):
            self._agent(_decode(value))
        elif key.startswith("allow"):
            self._rules(_allow_rules(number, value))
        elif key.startswith(_DISALLOW_KEYS):
            self._rules([_rule(False, number, value, value)])
        elif key.startswith(_DELAY_KEYS):
            self._delay(_decode(value))
        elif key.startswith(_SITEMAP_KEYS) and value:
            self.sitemaps.append(_decode(value))

    def _agent(self, name: str) -> None:
        if not self.groups or self.groups[-1].closed:
            self.groups.append(Group([], []))
        self.groups[-1].agents.append(name)

    def _rules(self, rules: Sequence[Rule]) -> None:
        if self.groups:
            self.groups[-1].closed = True
            self.groups[-1].rules.extend(rule for rule in rules if rule.octets)

    def _delay(self, value: str) -> None:
        match = _SECONDS.fullmatch(value)
        if self.groups and match:
            group = self.groups[-1]
            group.delays.append((len(group.agents), min(float(match[1]), MAX_CRAWL_DELAY)))


def _text(body: bytes) -> bytes:
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        body = body[: 2 * SIZE_LIMIT].decode("utf-16", "replace").encode("utf-8", "replace")
    if len(body) > SIZE_LIMIT:
        cut = body[:SIZE_LIMIT]
        end = max(cut.rfind(b"\n"), cut.rfind(b"\r"))
        body = cut[: end + 1] if end >= 0 else cut
    return _TAG_OF_HTML.sub(b"", body) if _HTML.search(body) else _without_bom(body)


def _without_bom(body: bytes) -> bytes:
    for mark in (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"):
        if body.startswith(mark):
            return body[len(mark) :]
    return body


def _lines(text: bytes) -> Iterator[bytes]:
    for line in text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"):
        yield line[:_LINE_LIMIT]


def _key_and_value(line: bytes) -> tuple[str, bytes] | None:
    """Split ``key: value``; a missing colon passes when two words stand on the line, as in ``Sitemap http:…``."""
    line = line.partition(b"#")[0].partition(b"\0")[0].strip()
    key, colon, value = line.partition(b":")
    if not colon or (value.startswith(b"//") and _SITEMAP_LINE.match(line)):
        words = line.replace(b"\t", b" ").split(b" ")
        parts = [word for word in words if word]
        if len(parts) != 2:
            return None
        key, value = parts
    key = key.strip()
    return (_decode(key).lower(), value.strip()) if key else None


def _allow_rules(number: int, value: bytes) -> list[Rule]:
    """An Allow line; one that names ``/index.htm…`` also allows its folder, as Google has it."""
    rules = [_rule(True, number, value, value)]
    folder, slash, name = value.rpartition(b"/")
    if slash and name.startswith(b"index.htm"):
        rules.append(_rule(True, number, folder + b"/$", value))
    return rules


def _rule(allow: bool, number: int, pattern: bytes, text: bytes) -> Rule:
    octets, spellings = spellings_of_pattern(pattern)
    return Rule(allow, number, _decode(text), octets, spellings)


def _agent_tokens(name: str) -> set[str]:
    """The names a ``User-agent`` value answers to: of each word the RFC's token and all (``MJ12bot``); the value."""
    if name[:1] == "*" and (len(name) == 1 or name[1].isspace()):
        return {"*"}
    words = _BETWEEN_NAMES.split(name)
    tokens = {_match(token, word) for word in words for token in (_TOKEN, _RAW_TOKEN)}
    return (tokens | {name.lower()}) - {"", "*"}


def _our_tokens(agent: str) -> list[str]:
    """The names that we answer to: what stands before a version, and each product of a whole ``User-Agent`` header."""
    names = [agent.partition("/")[0].strip(), *_PRODUCT.findall(agent)]
    return list(dict.fromkeys(name.lower() for name in names))


def _match(token: re.Pattern[str], name: str) -> str:
    match = token.match(name)
    return match[0].lower() if match else ""


def _decode(value: bytes) -> str:
    return value.decode("utf-8", "replace")
