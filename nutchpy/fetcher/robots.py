"""robots.txt of each origin: fetched once before its first page, through the same transport, and kept for a while.

What an answer means is core/robots.py's to say. A server in trouble (5xx, 429) puts its host off. One that cannot be
reached at all has no rules that we could know, so no page of it may be asked for (RFC 9309 §2.3.1.4): the page ends
with that failure, and the next attempt asks again. Neither is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from nutchpy.core import robots as rules
from nutchpy.core import urls
from nutchpy.core.content import ProtocolOutput, header
from nutchpy.core.counters import Counters
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.core.retry_after import retry_after
from nutchpy.fetcher.item import FetchItem, Request, Timeouts
from nutchpy.fetcher.pipeline import Finish
from nutchpy.fetcher.traffic import Traffic

_MOST_KEPT: Final = 200_000
_DENY_ALL: Final = rules.parse(b"User-agent: *\nDisallow: /\n")
_ALLOW_ALL: Final = rules.Robots()
_HTTP_OUTCOMES: Final = frozenset(
    {
        ProtocolStatus.SUCCESS,
        ProtocolStatus.EXCEPTION,
        ProtocolStatus.GONE,
        ProtocolStatus.ACCESS_DENIED,
        ProtocolStatus.NOTFOUND,
        ProtocolStatus.MOVED,
        ProtocolStatus.TEMP_MOVED,
        ProtocolStatus.NOTMODIFIED,
    }
)
"""Outcomes that an HTTP answer has, whole enough to be judged by its status."""


@dataclass(frozen=True, slots=True)
class RobotsAnswer:
    """What asking for robots.txt gave: rules, or that the host is put off, or the failure its pages end with."""

    robots: rules.Robots | None = None
    basis: str | None = None
    """What the rules rest on when there is no robots.txt to read them from."""
    exempt: bool = False
    """Nobody asked for it."""
    deferred: str = ""
    retry_after: float | None = None
    """Seconds that the server asks for, when the host is put off."""
    failure: Finish | None = None


_EXEMPT: Final = RobotsAnswer(_ALLOW_ALL, exempt=True)


@dataclass(frozen=True, slots=True)
class RobotsSettings:
    """How robots.txt is asked for and read."""

    agents: tuple[str, ...]
    timeouts: Timeouts
    content_limit: int
    redirects: int
    keep: float
    """Seconds for which rules hold."""
    allow_forbidden: bool
    defer_errors: bool
    allowlist: tuple[str, ...] = ()
    """Hosts (and their subdomains) that are not asked."""


@dataclass(slots=True)
class _Errand:
    """robots.txt of ``origin``, being fetched for ``items``."""

    origin: str
    items: list[FetchItem]
    url: str
    ips: Sequence[str]
    hops: int = 0


class RobotsRules:
    """The rules of all origins. ``resume`` gets items back once ``item.robots`` says what they asked for."""

    def __init__(
        self,
        settings: RobotsSettings,
        traffic: Traffic,
        resume: Callable[[FetchItem], None],
        monotonic: Callable[[], float],
        wall: Callable[[], int],
        keep_answer: Callable[[ProtocolOutput], None] | None = None,
    ) -> None:
        self._settings = settings
        self._traffic = traffic
        self._resume = resume
        self._monotonic = monotonic
        self._wall = wall
        self._keep_answer = keep_answer
        self._known: dict[str, tuple[float, RobotsAnswer]] = {}
        self._errands: dict[str, _Errand] = {}
        self.counters = Counters()

    def known(self, origin: str, host: str) -> RobotsAnswer | None:
        """The rules of an origin; None when it must be asked."""
        if self._settings.allowlist and self._listed(host):
            return _EXEMPT
        found = self._known.get(origin)
        return found[1] if found is not None and found[0] > self._monotonic() else None

    def ask(self, origin: str, item: FetchItem) -> None:
        """Fetch the robots.txt of an origin for an item; items that ask meanwhile wait with it."""
        errand = self._errands.get(origin)
        if errand is not None:
            errand.items.append(item)
            return
        errand = self._errands[origin] = _Errand(origin, [item], f"{origin}/robots.txt", item.ips)
        self._send(errand)

    def verdict(self, answer: RobotsAnswer, url: str) -> rules.RobotsVerdict:
        """What the rules say of a URL."""
        return (answer.robots or _ALLOW_ALL).verdict(url, self._settings.agents)

    def _send(self, errand: _Errand) -> None:
        settings = self._settings
        request = Request(errand.url, (), settings.timeouts, settings.content_limit, errand.ips)
        self._traffic.start(request, lambda output: self._arrived(errand, output))

    def _arrived(self, errand: _Errand, output: ProtocolOutput) -> None:
        if self._keep_answer is not None and output.http_status is not None:
            self._keep_answer(output)
        target = self._target(errand, output)
        if target is not None:
            errand.hops += 1
            errand.ips = errand.ips if urls.host_of(target) == urls.host_of(errand.url) else ()
            errand.url = target
            self._send(errand)
            return
        self._conclude(errand, self._judged(output))

    def _target(self, errand: _Errand, output: ProtocolOutput) -> str | None:
        """Where a redirect leads, while it may be followed."""
        moved = output.protocol_status in (ProtocolStatus.MOVED, ProtocolStatus.TEMP_MOVED)
        if not moved or errand.hops >= self._settings.redirects:
            return None
        location = header(output.headers, "location")
        target = urls.resolve(errand.url, location) if location else None
        return target if target is not None and target.startswith(("http://", "https://")) else None

    def _judged(self, output: ProtocolOutput) -> RobotsAnswer:
        if output.protocol_status not in _HTTP_OUTCOMES or output.http_status is None:
            self.counters.add(f"robots:{output.protocol_status}")
            return RobotsAnswer(failure=Finish(output.protocol_status, f"robots.txt: {output.message}"))
        settings = self._settings
        policy = rules.robots_policy(
            output.http_status, allow_forbidden=settings.allow_forbidden, defer_errors=settings.defer_errors
        )
        self.counters.add(f"robots:{policy}")
        if policy == "parse":
            return RobotsAnswer(rules.parse(output.content))
        if policy == "defer":
            asked = retry_after(output.http_status, output.headers, self._wall() / 1e6)
            return RobotsAnswer(deferred=f"robots.txt answers {output.http_status}", retry_after=asked)
        everything = _ALLOW_ALL if policy == "allow_all" else _DENY_ALL
        return RobotsAnswer(everything, basis=f"robots.txt answers {output.http_status}")

    def _conclude(self, errand: _Errand, answer: RobotsAnswer) -> None:
        del self._errands[errand.origin]
        if answer.robots is not None:
            self._remember(errand.origin, answer)
            other = urls.origin_of(errand.url)
            if errand.hops and other is not None and errand.url == f"{other}/robots.txt":
                self._remember(other, answer)
        for item in errand.items:
            item.robots = answer
            self._resume(item)

    def _remember(self, origin: str, answer: RobotsAnswer) -> None:
        self._known.pop(origin, None)
        self._known[origin] = (self._monotonic() + self._settings.keep, answer)
        while len(self._known) > _MOST_KEPT:
            del self._known[next(iter(self._known))]

    def _listed(self, host: str) -> bool:
        return any(host == name or host.endswith(f".{name}") for name in self._settings.allowlist)
