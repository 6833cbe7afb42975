"""The deadlines of a request (connect, first byte, idle, total), and when to look at which. Time is an argument."""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterator

from nutchpy.extension.points import Timeouts


class Deadlines:
    """When a request is to be given up, going by what has come of it so far."""

    __slots__ = ("_connected", "_last", "_timeouts", "started")

    def __init__(self, timeouts: Timeouts, now: float, *, connected: bool = False) -> None:
        """``connected``: there is no connect deadline to mind, another sees to it."""
        self.started = now
        self._timeouts = timeouts
        self._connected = connected
        self._last: float | None = None

    def connected(self) -> None:
        """The connection stands."""
        self._connected = True

    def received(self, now: float) -> None:
        """Some bytes of the answer came."""
        self._last = now

    @property
    def answered(self) -> bool:
        """Whether anything has come at all."""
        return self._last is not None

    def expiry(self) -> tuple[float, str] | None:
        """The earliest deadline as things stand, and what to say when it has passed; None when there is none."""
        found = self._earliest()
        return None if found is None else (found[0], f"{found[2]} {found[1]:g} s")

    def next_look(self, now: float) -> float | None:
        """When to ask ``expiry`` again at the latest. An answer that begins may bring a deadline nearer, never by more
        than its idle time; from then on deadlines only move away."""
        idle = self._timeouts.idle
        found = self._earliest()
        if self._last is not None or idle <= 0:
            return None if found is None else found[0]
        return now + idle if found is None else min(now + idle, found[0])

    def _earliest(self) -> tuple[float, float, str] | None:
        """The instant of the earliest deadline, its seconds, its words."""
        times = self._timeouts
        limits = [(self.started + times.total, times.total, "answer not finished in")]
        if self._last is not None:
            limits.append((self._last + times.idle, times.idle, "answer stopped for"))
        else:
            limits.append((self.started + times.first_byte, times.first_byte, "no answer in"))
            if not self._connected:
                limits.append((self.started + times.connect, times.connect, "no connection in"))
        set_ones = [limit for limit in limits if limit[1] > 0]
        return min(set_ones) if set_ones else None


class Agenda:
    """When to look at which request again. An entry outlives its request: it is dropped when it comes to the top."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int]] = []

    def add(self, when: float, token: int) -> None:
        """Look at a request then."""
        heapq.heappush(self._heap, (when, token))

    def due(self, now: float) -> Iterator[int]:
        """The requests to look at now. What is added meanwhile is seen too when it is due."""
        while self._heap and self._heap[0][0] <= now:
            yield heapq.heappop(self._heap)[1]

    def next(self, alive: Container[int]) -> float | None:
        """When the next of those still alive is due."""
        while self._heap and self._heap[0][1] not in alive:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None
