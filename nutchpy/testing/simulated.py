"""A simulated clock, selector, transport and name service: the fetcher's own code, driven without waiting.

Time moves only in ``SimSelector.select``, to the earliest thing that is to happen, so hours of crawling take seconds.
A selector with nothing to wait for, asked to wait for ever, is a stalled crawl: it raises.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from selectors import BaseSelector, SelectorKey
from typing import Any, Self

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Headers, ProtocolOutput
from nutchpy.core.protocol_status import ProtocolStatus, from_http
from nutchpy.extension.points import Request
from nutchpy.fetcher.dns import Resolution

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class Stalled(Exception):  # noqa: N818  a state of the simulation
    """Everything waits, and nothing will ever happen."""


@dataclass
class SimClock:
    """Seconds since the start, moved by hand."""

    seconds: float = 0.0

    def monotonic(self) -> float:
        """Seconds that never step back."""
        return self.seconds

    def now(self) -> datetime:
        """Aware UTC wall time."""
        return EPOCH + timedelta(seconds=self.seconds)

    def wall(self) -> int:
        """The same in microseconds since 1970."""
        return round((EPOCH.timestamp() + self.seconds) * 1_000_000)


class SimSelector(BaseSelector):
    """``at`` makes something happen at a time; ``select`` moves the clock."""

    def __init__(self, clock: SimClock) -> None:
        self._clock = clock
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self.on_wait: Callable[[float | None], None] = lambda _: None
        """Hears of every wait that is to last, before it begins."""

    def at(self, when: float, happen: Callable[[], None]) -> None:
        """Call ``happen`` when the clock gets there."""
        self._count += 1
        heapq.heappush(self._events, (when, self._count, happen))

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        """Move the clock to the next event, or by ``timeout`` if that is sooner."""
        if timeout is None and not self._events:
            raise Stalled
        clock = self._clock
        end = clock.seconds + timeout if timeout is not None else self._events[0][0]
        if self._events and self._events[0][0] <= end:
            end = self._events[0][0]
        if end > clock.seconds:
            self.on_wait(timeout)
            clock.seconds = end
        while self._events and self._events[0][0] <= clock.seconds:
            heapq.heappop(self._events)[2]()
        return []

    def register(self, fileobj: Any, events: int, data: Any = None) -> SelectorKey:
        """Files play no part here."""
        return SelectorKey(fileobj, 0, events, data)

    def unregister(self, fileobj: Any) -> SelectorKey:
        """Files play no part here."""
        return SelectorKey(fileobj, 0, 0, None)

    def get_map(self) -> dict[Any, SelectorKey]:
        """No files."""
        return {}


@dataclass(frozen=True, slots=True)
class SimAnswer:
    """What a simulated server does with one request."""

    http_status: int | None = 200
    seconds: float = 0.1
    body: bytes = b""
    headers: Headers = ()
    fault: ProtocolStatus | None = None


@dataclass(slots=True, eq=False)
class Exchange:
    """One request, as the simulated network saw it."""

    url: str
    started: float
    ended: float
    headers: Headers
    ips: Sequence[str] = ()


class SimTransport:
    """Answers by a function of the request. Keeps a log of exchanges unless told not to."""

    def __init__(self, clock: SimClock, answer: Callable[[Request, float], SimAnswer], keep_log: bool = True) -> None:
        self._clock = clock
        self._answer = answer
        self._due: list[tuple[float, int, ProtocolOutput]] = []
        self._given_up: dict[int, str] = {}
        self._open: set[int] = set()
        self._keep_log = keep_log
        self.log: list[Exchange] = []
        self.on_start: Callable[[Request, float], None] = lambda _request, _end: None

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """A simulated network has no settings."""
        raise TypeError("a SimTransport is made with a clock")

    def attach(self, selector: BaseSelector, wake: Callable[[], None]) -> None:
        """Needs neither: it knows beforehand when it is ready."""

    def start(self, token: int, request: Request) -> None:
        """Decide at once how the request will end."""
        now = self._clock.seconds
        answer = self._answer(request, now)
        status = answer.fault or from_http(answer.http_status or 0)
        output = ProtocolOutput(
            request.url,
            status,
            None if answer.fault else answer.http_status,
            answer.fault or "",
            answer.headers,
            b"" if answer.fault else answer.body,
            wire_bytes=len(answer.body),
            elapsed_ms=int(answer.seconds * 1000),
        )
        self._open.add(token)
        heapq.heappush(self._due, (now + answer.seconds, token, output))
        self.on_start(request, now + answer.seconds)
        if self._keep_log:
            self.log.append(Exchange(request.url, now, now + answer.seconds, request.headers, request.pinned_ips))

    def step(self, ready: Sequence[tuple[SelectorKey, int]]) -> list[tuple[int, ProtocolOutput]]:
        """What has ended by now."""
        done = [(token, ProtocolOutput("", ProtocolStatus.RETRY, None, why)) for token, why in self._given_up.items()]
        self._given_up.clear()
        while self._due and self._due[0][0] <= self._clock.seconds:
            _, token, output = heapq.heappop(self._due)
            if token in self._open:
                self._open.remove(token)
                done.append((token, output))
        return done

    def deadline(self) -> float | None:
        """When the next request ends."""
        if self._given_up:
            return self._clock.seconds
        return self._due[0][0] if self._due else None

    def cancel(self, token: int, reason: str) -> None:
        """End a request now."""
        if token in self._open:
            self._open.remove(token)
            self._given_up[token] = reason

    def close(self) -> None:
        """Nothing to let go of."""


@dataclass
class SimLookups:
    """Answers name look-ups after a while; ``answer`` gives seconds and resolution of a host."""

    selector: SimSelector
    clock: SimClock
    answer: Callable[[str], tuple[float, Resolution]]
    asked: list[str] = field(default_factory=list)
    _done: list[tuple[str, Resolution]] = field(default_factory=list)

    def start(self, host: str) -> None:
        """Have the answer come later."""
        self.asked.append(host)
        seconds, resolution = self.answer(host)
        self.selector.at(self.clock.seconds + seconds, lambda: self._done.append((host, resolution)))

    def done(self) -> list[tuple[str, Resolution]]:
        """What has come."""
        found, self._done = self._done, []
        return found

    def close(self) -> None:
        """Nothing to let go of."""
