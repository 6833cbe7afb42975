"""TailReport: names the queues that a fetch waits for, each minute once few are left, and whenever it is asked to."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from nutchpy.fetcher.feeder import QueueFeeder
from nutchpy.fetcher.queue import FetchItemQueue
from nutchpy.fetcher.queues import FetchItemQueues

_log = logging.getLogger(__name__)

_MINUTE: Final = 60.0
_FEW_QUEUES: Final = 10
_MOST_NAMED: Final = 50


class TailReport:
    """One source of the loop. ``ask`` may be called by a signal handler."""

    def __init__(self, begin: float, queues: FetchItemQueues, feeder: QueueFeeder, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._next = begin + _MINUTE
        self._queues = queues
        self._feeder = feeder
        self._asked = False

    def ask(self) -> None:
        """Report at once."""
        self._asked = True
        self._wake()

    def deadline(self) -> float | None:
        """The next minute."""
        return self._next

    def step(self, now: float) -> None:
        """Report when it was asked for, or when it is time and there is little else to tell."""
        asked, self._asked = self._asked, False
        due = self._next <= now
        if due:
            self._next = now + _MINUTE
        if asked or (due and self._feeder.exhausted and 0 < self._active() <= _FEW_QUEUES):
            self._report(now)

    def _active(self) -> int:
        return sum(1 for queue in self._queues if queue.waiting or queue.in_progress)

    def _report(self, now: float) -> None:
        active = [queue for queue in self._queues if queue.waiting or queue.in_progress]
        active.sort(key=lambda queue: -len(queue.waiting) - queue.parked)
        _log.info("%d queues have URLs left", len(active))
        for queue in active[:_MOST_NAMED]:
            _log.info("%s", described(queue, now))


def described(queue: FetchItemQueue, now: float) -> str:
    """One queue in words."""
    delay = max(queue.pace.delay, queue.limits.pause(None) or 0.0)
    held = ", waits for its host's address" if queue.held else ""
    return (
        f"queue {queue.id}: {len(queue.waiting) + queue.parked} URLs queued, {queue.in_progress} in progress, "
        f"delay {delay:g} s, next in {max(0.0, queue.next_fetch_time - now):.1f} s, {queue.exceptions} exceptions{held}"
    )


@contextmanager
def asked_by_signal(answer: Callable[[], None]) -> Iterator[None]:
    """Call ``answer`` upon SIGUSR1 meanwhile; of use in a main thread alone, where signals arrive."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGUSR1, lambda _number, _frame: answer())
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)
