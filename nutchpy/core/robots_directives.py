"""What a page asks of robots: one reading of ``X-Robots-Tag`` headers and of ``<meta name=robots>``.

Directives add up, the most restrictive wins: those for everyone and those for any of our names are all in force.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from nutchpy.core.content import Headers
from nutchpy.core.http_date import http_date
from nutchpy.core.w3c_date import w3c_date

_KNOWN: Final = frozenset(
    {
        "noindex",
        "nofollow",
        "noarchive",
        "nosnippet",
        "noimageindex",
        "notranslate",
        "indexifembedded",
        "unavailable_after",
    }
)
_MEANS: Final = {"none": ("noindex", "nofollow"), "nocache": ("noarchive",)}
_WITH_VALUE: Final = frozenset({"max-snippet", "max-image-preview", "max-video-preview"})
_EVERYONE: Final = frozenset({"", "*", "robots"})
_WORD: Final = re.compile(r"([^\s,;:]+)[ \t]*(:?)")
_GAP: Final = re.compile(r"[\s,;:]+")
_DATE_WINDOW: Final = 100


@dataclass(frozen=True, slots=True)
class RobotsDirectives:
    """The directives in force for one page."""

    names: frozenset[str] = frozenset()
    """Lower-case names; ``none`` stands as ``noindex`` and ``nofollow``."""
    unavailable_after: int | None = None
    """The earliest date after which the page is not to be indexed, in seconds since 1970."""

    def __or__(self, other: RobotsDirectives) -> RobotsDirectives:
        dates = [date for date in (self.unavailable_after, other.unavailable_after) if date is not None]
        return RobotsDirectives(self.names | other.names, min(dates, default=None))

    def at(self, now: int) -> frozenset[str]:
        """The names in force at an instant: ``noindex`` among them once the page is past its date."""
        expired = self.unavailable_after is not None and now > self.unavailable_after
        return self.names | {"noindex"} if expired else self.names


def from_headers(headers: Headers, agents: Sequence[str]) -> RobotsDirectives:
    """What the ``X-Robots-Tag`` headers say to a crawler that goes by any of ``agents``."""
    values = (value for name, value in headers if name.lower() == "x-robots-tag")
    return _merge(_read(value, agents, scoped=True) for value in values)


def from_meta(tags: Iterable[tuple[str, str]], agents: Sequence[str]) -> RobotsDirectives:
    """What meta tags, given as (name, content), say to it; tags with other names are passed over."""
    ours = {"robots"} | _tokens(agents)
    return _merge(_read(content, agents, scoped=False) for name, content in tags if name.strip().lower() in ours)


def x_robots(headers: Headers, agents: Sequence[str]) -> frozenset[str]:
    """The names alone of ``from_headers``."""
    return from_headers(headers, agents).names


def _merge(parts: Iterable[RobotsDirectives]) -> RobotsDirectives:
    merged = RobotsDirectives()
    for part in parts:
        merged |= part
    return merged


def _read(value: str, agents: Sequence[str], *, scoped: bool) -> RobotsDirectives:
    """``scoped``: a name with a colon that is no directive addresses what follows to that agent."""
    ours = _EVERYONE | _tokens(agents)
    scope = ""
    names: set[str] = set()
    dates: list[int] = []
    for word, argument in _words(value):
        if argument is None and word.endswith(":"):
            scope = word[:-1].partition("/")[0] if scoped else scope
        elif scope in ours:
            names.update(_MEANS.get(word, (word,) if word in _KNOWN else ()))
            if argument and (date := _moment(argument)) is not None:
                dates.append(date)
    return RobotsDirectives(frozenset(names), min(dates, default=None))


def _words(value: str) -> Iterator[tuple[str, str | None]]:
    """Lower-case directives with their argument; a scope comes out as ``name:``."""
    at = 0
    while at < len(value):
        gap = _GAP.match(value, at)
        at = gap.end() if gap else at
        match = _WORD.match(value, at)
        if match is None:
            return
        word, at, argument = match[1].lower(), match.end(), None
        if match[2] and word == "unavailable_after":
            argument = _date(value[at : at + _DATE_WINDOW])
        elif match[2] and word in _WITH_VALUE:
            argument = re.split("[,;]", value[at : at + _DATE_WINDOW], maxsplit=1)[0]
        elif match[2] and word not in _KNOWN and word not in _MEANS:
            word += ":"
        at += len(argument or "")
        yield word, argument


def _date(text: str) -> str:
    """A date may hold a comma after its weekday: the longest run of parts that reads as one, else what has digits."""
    ends = [match.start() for match in re.finditer(r"[,;]|$", text)][:3]
    found = next((text[:end] for end in reversed(ends) if _moment(text[:end]) is not None), None)
    return found if found is not None else text[: ends[0]] if any(map(str.isdigit, text[: ends[0]])) else ""


def _moment(text: str) -> int | None:
    """Seconds since 1970 of a date in any of the forms that HTTP, mail and ISO 8601 have; it may lack its time."""
    seconds = http_date(text)
    if seconds is None and (moment := w3c_date(text) if text.strip() else None):
        return int(moment.timestamp())
    return http_date(f"{text} 00:00:00") if seconds is None and ":" not in text else seconds


def _tokens(agents: Sequence[str]) -> frozenset[str]:
    return frozenset(agent.partition("/")[0].strip().lower() for agent in agents) - {""}
