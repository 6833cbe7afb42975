"""FetchItemQueues: all queues of a fetch list, and which of them may be served next.

Pure and without locks: one thread, time as an argument. A queue that only time keeps from being served stands once in
a heap ordered by that time, and from then on in one of those that are ready, so serving costs O(log queues). Of several
that are ready the one with most URLs to come goes first, since its delays add up to the longest time; equals take
turns. An empty queue is forgotten when neither its delay nor its failures matter any more.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from nutchpy.fetcher.item import FetchItem
from nutchpy.fetcher.pace import Pace
from nutchpy.fetcher.queue import FetchItemQueue, QueueLimits

_Key = TypeVar("_Key", float, int)

Rested = Callable[[str, QueueLimits], float]
"""When a queue that is new here may first be asked: others may have asked its host just now."""


Slowed = Callable[[str], float]
"""Seconds that a queue which is new here was slowed down to before; 0 when it was not."""


def never_slowed(_queue_id: str) -> float:
    """As configured."""
    return 0.0


def never_asked(_queue_id: str, _limits: QueueLimits) -> float:
    """At once."""
    return 0.0


class FetchItemQueues:
    """The queues; ``queued`` items wait in them, ``in_progress`` hold a slot. ``blocked`` queues take no more."""

    def __init__(
        self,
        limits: Callable[[str], QueueLimits],
        rested: Rested = never_asked,
        slowed: Slowed = never_slowed,
    ) -> None:
        self._limits = limits
        self._rested = rested
        self._slowed = slowed
        self._failures: Mapping[str, int] = {}
        self._queues: dict[str, FetchItemQueue] = {}
        self._coming: list[tuple[float, int, FetchItemQueue]] = []
        self._ready: list[tuple[int, int, FetchItemQueue]] = []
        self._idle: list[tuple[float, int, FetchItemQueue]] = []
        self._turn = 0
        self.queued = 0
        self.in_progress = 0
        self.resting = 0
        """Of the queued items, those of queues that were put off: they do not keep others from being fed."""
        self.busy = 0
        """Queues with waiting items."""
        self.blocked: dict[str, str] = {}
        """Queues given up, with the reason."""
        self.hungry: deque[FetchItemQueue] = deque()
        """Queues that have run low while the feeder holds more for them."""

    def __len__(self) -> int:
        return len(self._queues)

    def __iter__(self) -> Iterator[FetchItemQueue]:
        return iter(self._queues.values())

    def remember(self, failures: Mapping[str, int]) -> None:
        """Begin with what queues failed before this list was interrupted; those that failed too often are blocked."""
        self._failures = failures
        for queue_id, count in failures.items():
            if 0 <= self._limits(queue_id).max_exceptions <= count:
                self.blocked[queue_id] = "exceptions"

    def queue(self, queue_id: str) -> FetchItemQueue:
        """The queue of that id, made when there is none."""
        queue = self._queues.get(queue_id)
        if queue is None:
            limits = self._limits(queue_id)
            pace = Pace(self._slowed(queue_id) if limits.slowest > 0 else 0.0)
            queue = FetchItemQueue(queue_id, limits, deque(), self._rested(queue_id, limits), pace=pace)
            queue.exceptions = self._failures.get(queue_id, 0)
            self._queues[queue_id] = queue
        return queue

    def waiting(self, queue_id: str) -> int:
        """How many items wait in a queue."""
        queue = self._queues.get(queue_id)
        return len(queue.waiting) if queue else 0

    def add(self, item: FetchItem, now: float, first: bool = False) -> None:
        """Queue an item (of a queue not blocked), last in its queue unless ``first``."""
        queue = self.queue(item.queue_id)
        self.busy += not queue.waiting
        (queue.waiting.appendleft if first else queue.waiting.append)(item)
        self.queued += 1
        self.resting += queue.resting
        if not queue.entry:
            self._schedule(queue, now)

    def take(self, now: float) -> FetchItem | None:
        """An item that may be requested now, its queue's slot taken; None when there is none."""
        self._ripen(now)
        queue = _first(self._ready)
        if queue is None:
            return None
        heapq.heappop(self._ready)
        queue.entry = 0
        self._end_rest(queue)
        item = queue.take()
        self.queued -= 1
        self.in_progress += 1
        self.busy -= not queue.waiting
        self.note_hungry(queue)
        self._schedule(queue, now)
        return item

    def note_hungry(self, queue: FetchItemQueue) -> None:
        """Line a queue up for the feeder when it has run low and there is more for it."""
        if queue.parked and not queue.hungry and len(queue.waiting) <= queue.limits.parallel:
            queue.hungry = True
            self.hungry.append(queue)

    def next_ready(self) -> float | None:
        """When the next item may be requested; None when it is not time that is waited for."""
        queue = _first(self._ready) or _first(self._coming)
        return None if queue is None else queue.next_fetch_time

    def release(self, item: FetchItem, now: float, pause: float | None, ended: float | None = None) -> None:
        """Free the item's slot: its request ended (at ``ended``, else now) and the queue rests ``pause`` seconds.

        None: no request went out, there is nothing to rest from.
        """
        queue = self._give_back(item)
        if pause is None:
            queue.release_unused()
        else:
            queue.release(now if ended is None else ended, pause)
        self._reschedule(queue, now)

    def rest_until(self, queue_id: str, until: float, now: float) -> None:
        """Serve a queue no more before then."""
        queue = self.queue(queue_id)
        queue.next_fetch_time = max(queue.next_fetch_time, until)
        self._reschedule(queue, now)

    def fail(self, item: FetchItem, now: float, ended: float | None = None) -> list[FetchItem] | None:
        """Free the slot of a request that failed; when it was one failure too many, what is dropped, else None."""
        queue = self._give_back(item)
        queue.release(now if ended is None else ended, item.pause)
        exhausted = queue.failed() and queue.id not in self.blocked
        self._reschedule(queue, now)
        return self.block(queue.id, "exceptions") if exhausted else None

    def put_off(self, item: FetchItem, now: float, seconds: float, most: int) -> list[FetchItem] | None:
        """Free the item's slot, queue it again first, rest its queue; when once too often, what is dropped."""
        queue = self._give_back(item)
        queue.release_unused()
        given_up = queue.put_off(now + seconds, most)
        self._unschedule(queue)
        self._begin_rest(queue)
        self.add(item, now, first=True)
        return self.block(queue.id, "robots_deferred") if given_up else None

    def hold(self, item: FetchItem, now: float) -> None:
        """Free the item's slot, queue it again first, and serve its queue no more until ``resume``."""
        queue = self._give_back(item)
        queue.release_unused()
        queue.held = True
        self._unschedule(queue)
        self.add(item, now, first=True)

    def resume(self, queue_id: str, now: float) -> None:
        """Serve a held queue again."""
        queue = self._queues.get(queue_id)
        if queue is not None and queue.held:
            queue.held = False
            self._reschedule(queue, now)

    def block(self, queue_id: str, reason: str) -> list[FetchItem]:
        """Empty a queue and take no more for it in this run; returns what waited."""
        self.blocked[queue_id] = reason
        queue = self._queues.get(queue_id)
        return self._emptied(queue) if queue else []

    def clear(self) -> list[FetchItem]:
        """Empty all queues; returns what waited."""
        return [item for queue in self for item in self._emptied(queue)]

    def reap(self, now: float) -> None:
        """Forget the queues whose time has come."""
        while self._idle and self._idle[0][0] <= now:
            _, _, queue = heapq.heappop(self._idle)
            queue.reaping = False
            if queue.idle and queue.forget_at() <= now:
                self._queues.pop(queue.id, None)
            elif queue.idle:
                self._note_idle(queue)

    def _give_back(self, item: FetchItem) -> FetchItemQueue:
        queue = item.queue
        if queue is None:
            raise ValueError(f"{item.url} holds no slot")
        item.queue = None
        self.in_progress -= 1
        return queue

    def _begin_rest(self, queue: FetchItemQueue) -> None:
        if not queue.resting:
            queue.resting = True
            self.resting += len(queue.waiting)

    def _end_rest(self, queue: FetchItemQueue) -> None:
        if queue.resting:
            queue.resting = False
            self.resting -= len(queue.waiting)

    def _emptied(self, queue: FetchItemQueue) -> list[FetchItem]:
        self._end_rest(queue)
        items = list(queue.waiting)
        queue.waiting.clear()
        self.queued -= len(items)
        self.busy -= bool(items)
        self._unschedule(queue)
        if queue.idle:
            self._note_idle(queue)
        return items

    def _ripen(self, now: float) -> None:
        """Move the queues whose time has come to those that are ready."""
        while self._coming and self._coming[0][0] <= now:
            _, entry, queue = heapq.heappop(self._coming)
            if queue.entry == entry:
                self._turn += 1
                queue.entry = self._turn
                heapq.heappush(self._ready, (-queue.to_come, self._turn, queue))

    def _schedule(self, queue: FetchItemQueue, now: float) -> None:
        """Give a servable queue its place, by when it may be served."""
        if queue.servable:
            self._turn += 1
            queue.entry = self._turn
            heapq.heappush(self._coming, (max(queue.next_fetch_time, now), self._turn, queue))

    def _unschedule(self, queue: FetchItemQueue) -> None:
        queue.entry = 0

    def _reschedule(self, queue: FetchItemQueue, now: float) -> None:
        self._unschedule(queue)
        self._schedule(queue, now)
        if queue.idle:
            self._note_idle(queue)

    def _note_idle(self, queue: FetchItemQueue) -> None:
        if not queue.reaping:
            self._turn += 1
            queue.reaping = True
            heapq.heappush(self._idle, (queue.forget_at(), self._turn, queue))


def _first(heap: list[tuple[_Key, int, FetchItemQueue]]) -> FetchItemQueue | None:
    """The queue on top of a heap, entries out of date thrown away."""
    while heap:
        _, entry, queue = heap[0]
        if queue.entry == entry:
            return queue
        heapq.heappop(heap)
    return None
