"""Slots: how the time was spent in which ``threads`` requests could have been in flight. Pure; time is an argument.

A slot is *busy* with an item, *idle* when no queue may be served, *held* when the output or the bandwidth target holds
all back, and *late* from when it could have been given an item until it was: the loop's own doing.
"""

from __future__ import annotations

from nutchpy.core.counters import Counters


class Slots:
    """Adds up slot seconds; ``counters`` tells them in milliseconds."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._begun: float | None = None
        self._woke = 0.0
        self._idle = self._held = self._late = 0.0

    def woke(self, now: float) -> None:
        """The loop has come to itself."""
        if self._begun is None:
            self._begun = now
        self._woke = now

    def began(self, items: int, now: float) -> None:
        """So many items were begun since; their slots had waited for the loop at most as long as it was at work."""
        self._late += items * (now - self._woke)

    def waited(self, free: int, held: bool, since: float, now: float) -> None:
        """The loop slept, for want of anything to begin or because it was held back; ``free`` slots with it."""
        if held:
            self._held += free * (now - since)
        else:
            self._idle += free * (now - since)
        self._woke = now

    def counters(self) -> Counters:
        """Milliseconds by how they were spent, until the loop last woke up."""
        if self._begun is None:
            return Counters()
        whole = self._threads * (self._woke - self._begun)
        spent = {"idle": self._idle, "held": self._held, "late": self._late}
        spent["busy"] = max(0.0, whole - sum(spent.values()))
        return Counters({f"slots:{name}_ms": round(1000 * seconds) for name, seconds in spent.items()})
