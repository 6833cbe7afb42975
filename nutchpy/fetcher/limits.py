"""What ends or watches a fetch by the clock: the time limit, the throughput threshold, the report of how it stands."""

from __future__ import annotations

from collections.abc import Callable

from nutchpy.fetcher.status import FetchStatus

_SECOND = 1.0


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
