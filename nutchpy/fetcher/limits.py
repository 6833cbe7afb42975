"""What ends or watches a fetch by the clock: the time limit, the throughput threshold, the report of how it stands."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.fetcher.item import FetchItem
from nutchpy.fetcher.pipeline import Finish, Pipeline
from nutchpy.fetcher.status import FetchStatus
from nutchpy.fetcher.traffic import Traffic

_log = logging.getLogger(__name__)

_SECOND: Final = 1.0
_HUNG_CHECK_SECONDS: Final = 10.0


class TimeLimit:
    """Stops the fetch at an instant."""

    def __init__(self, instant: float, stop: Callable[[str], None]) -> None:
        self._instant: float | None = instant
        self._stop = stop

    def deadline(self) -> float | None:
        """The instant, until it has come."""
        return self._instant

    def step(self, now: float) -> None:
        """Stop when it is time."""
        if self._instant is not None and self._instant <= now:
            self._instant = None
            self._stop("timelimit")


class Throughput:
    """Stops a fetch that has become too slow: fewer than ``pages`` in each of ``retries`` seconds in a row."""

    def __init__(
        self, pages: int, retries: int, begin: float, count: Callable[[], int], stop: Callable[[str], None]
    ) -> None:
        self._pages = pages
        self._retries = retries
        self._next: float | None = begin
        self._count = count
        self._stop = stop
        self._before: int | None = None
        self._slow = 0

    def deadline(self) -> float | None:
        """The end of the present second."""
        return self._next

    def step(self, now: float) -> None:
        """Judge the second that has ended."""
        if self._next is None or self._next > now:
            return
        count = self._count()
        slow = self._before is not None and count - self._before < self._pages
        self._slow = self._slow + 1 if slow else 0
        self._before, self._next = count, now + _SECOND
        if self._slow > self._retries:
            self._next = None
            self._stop("throughput")


class Reporter:
    """Tells how the fetch stands, once a second while it lasts."""

    def __init__(self, begin: float, status: Callable[[], FetchStatus], report: Callable[[FetchStatus], None]) -> None:
        self._next = begin + _SECOND
        self._status = status
        self._report = report

    def deadline(self) -> float | None:
        """The next report."""
        return self._next

    def step(self, now: float) -> None:
        """Report when it is time."""
        if self._next <= now:
            self._next = now + _SECOND
            self._report(self._status())


class Hung:
    """Gives up items that have been under way for too long: the last resort, each step has deadlines of its own.

    An idle fetch is not a hung one: only what was begun and has not ended is looked at, and only that is given up.
    """

    def __init__(self, seconds: float, begin: float, pipeline: Pipeline, traffic: Traffic) -> None:
        self._seconds = seconds
        self._next = begin + _HUNG_CHECK_SECONDS
        self._pipeline = pipeline
        self._traffic = traffic

    def deadline(self) -> float | None:
        """The next look."""
        return self._next

    def step(self, now: float) -> None:
        """Give up what hangs."""
        if self._next > now:
            return
        self._next = now + _HUNG_CHECK_SECONDS
        for item in [item for item in self._pipeline.active if now - item.began > self._seconds]:
            self._give_up(item, now)

    def _give_up(self, item: FetchItem, now: float) -> None:
        handler = self._pipeline.handler_of(item)
        _log.warning("%s hangs in handler %s for %.0f s and is given up", item.url, handler, now - item.began)
        if item.token is not None:
            self._traffic.cancel(item.token, "hung")
        self._pipeline.finish(item, Finish(ProtocolStatus.TIMEOUT, f"hung in handler {handler}"), now)
