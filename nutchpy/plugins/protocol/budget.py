"""BodyBudget: how many bytes of bodies all requests in flight may hold together. Safe for threads.

What finds no room waits, by not being read on: TCP slows its sender down. The oldest request in flight never waits, so
that there is always one that comes to its end and makes room.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class BodyBudget:
    """``limit`` bytes; negative: any."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: dict[int, int] = {}
        self._total = 0
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self.waiting: set[int] = set()
        """Requests that wait for room: it is not their servers that are slow."""

    def enter(self, token: int) -> None:
        """A request begins."""
        with self._lock:
            self._held[token] = 0

    def leave(self, token: int) -> None:
        """A request has ended: its body is somebody else's."""
        with self._lock:
            self._total -= self._held.pop(token, 0)
            if self.waiting:
                self.waiting.discard(token)
                self._changed.notify_all()

    def room(self, token: int, count: int) -> bool:
        """Whether a request may take so many bytes more."""
        if self._limit < 0 or self._total + count <= self._limit:
            return True
        with self._lock:
            return self._room(token, count)

    def hold(self, token: int, held: int) -> bool:
        """Note what a request holds now; False when that is more than all of them may."""
        with self._lock:
            if token in self._held:
                self._total += held - self._held[token]
                self._held[token] = held
        return self._limit < 0 or held <= self._limit

    def wait(self, token: int, count: int, wanted: Callable[[], bool]) -> None:
        """Return once there is room, or the request is not wanted any more (``wake`` makes it look)."""
        if self.room(token, count):
            return
        with self._lock:
            self.waiting.add(token)
            while wanted() and not self._room(token, count):
                self._changed.wait()
            self.waiting.discard(token)

    def wake(self) -> None:
        """Let those who wait look whether they are still wanted."""
        with self._lock:
            self._changed.notify_all()

    def _room(self, token: int, count: int) -> bool:
        fits = self._limit < 0 or self._total + count <= self._limit
        return fits or token not in self._held or next(iter(self._held)) == token
