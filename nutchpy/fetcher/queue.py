"""FetchItemQueue: the waiting URLs of one host, domain or address, and when the next may be requested.

Pure: time is an argument (seconds that never step back). A delay counts from the end of a request; whatever ends
without a request having gone out adds none.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from nutchpy.fetcher.item import FetchItem
from nutchpy.fetcher.pace import Pace

_MOST_DOUBLINGS: Final = 30


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """How one queue is treated: the settings, per-host overlay included. All times in seconds."""

    delay: float
    """Between the end of a request and the next one."""
    min_delay: float = 0.0
    """The same when ``parallel`` is above 1."""
    parallel: int = 1
    """Requests in flight at most."""
    robots_floor: float = 0.0
    """A robots.txt that asks for less gets this."""
    robots_ceiling: float = -1.0
    """A robots.txt that asks for more is not served at all; negative: any delay is borne."""
    max_exceptions: int = -1
    """Failures after which the queue is given up; negative: never."""
    exception_delay: float = 0.0
    """Added after a failure, doubled by each further one."""
    clear_after: float = 0.0
    """Seconds without requests after which failures are forgotten."""
    slowest: float = 0.0
    """Where slowing down for a server in trouble ends; 0: it is not slowed down for."""
    late_factor: float = 0.0
    """An answer that takes so many times as long as usual is trouble too; 0: it is none."""
    bytes_per_second: float = 0.0
    """What its answers may weigh on average; 0: anything."""
    bears: float = -1.0
    """The longest Retry-After that is waited for; 0 waits for none, negative for any."""

    def pause(self, robots_delay: float | None) -> float | None:
        """Seconds to rest after a request, given what robots.txt asks for; None when it asks for too much."""
        if robots_delay and 0 <= self.robots_ceiling < robots_delay:
            return None
        if self.parallel > 1:
            return self.min_delay
        return max(robots_delay, self.robots_floor) if robots_delay else self.delay


@dataclass(slots=True, eq=False)
class FetchItemQueue:
    """One queue. ``parked`` counts its URLs that the feeder still holds; ``entry`` is its place in the heap, if any."""

    id: str
    limits: QueueLimits
    waiting: deque[FetchItem]
    next_fetch_time: float = 0.0
    in_progress: int = 0
    exceptions: int = 0
    deferrals: int = 0
    parked: int = 0
    entry: int = 0
    pace: Pace = field(default_factory=Pace)
    paid_at: float = 0.0
    """When the bytes of its answers are paid for."""
    held: bool = False
    """Waiting for something else than time: its host's address."""
    resting: bool = False
    """Put off, until the next item is taken."""
    hungry: bool = False
    """Low, and in the line for more."""
    reaping: bool = False
    """In the line to be forgotten."""

    @property
    def servable(self) -> bool:
        """Whether only time stands between it and its next request."""
        return bool(self.waiting) and not self.held and self.in_progress < self.limits.parallel

    @property
    def to_come(self) -> int:
        """How many of its URLs wait, as far as the list has been read."""
        return len(self.waiting) + self.parked

    @property
    def idle(self) -> bool:
        """Whether it has nothing to do and nothing to come."""
        return not (self.waiting or self.in_progress or self.parked)

    def take(self) -> FetchItem:
        """The next item, a slot taken for it."""
        item = self.waiting.popleft()
        item.queue = self
        self.in_progress += 1
        return item

    def paced(self, pause: float, seconds: float, trouble: bool) -> float:
        """``pause``, or longer when the server is in trouble, or was; its last answer took so many seconds."""
        limits = self.limits
        if limits.slowest <= 0:
            return pause
        late = not trouble and self.pace.late(seconds, limits.late_factor)
        return self.pace.slower(pause, limits.slowest) if trouble or late else self.pace.faster(pause)

    def spend(self, count: int, started: float) -> float:
        """Note the bytes of an answer; when they, and those before, are paid for."""
        rate = self.limits.bytes_per_second
        if rate > 0:
            self.paid_at = max(self.paid_at, started) + count / rate
        return self.paid_at

    def release(self, ended: float, pause: float) -> None:
        """Free a slot whose request ended at ``ended``."""
        self.in_progress -= 1
        self.deferrals = 0
        self.next_fetch_time = max(self.next_fetch_time, ended + pause)

    def release_unused(self) -> None:
        """Free a slot from which no request went out."""
        self.in_progress -= 1

    def failed(self) -> bool:
        """Count a failure and back off; True when it was one too many."""
        self.exceptions += 1
        if 0 <= self.limits.max_exceptions <= self.exceptions:
            return True
        doublings = min(self.exceptions - 1, _MOST_DOUBLINGS)
        self.next_fetch_time += self.limits.exception_delay * 2**doublings
        return False

    def put_off(self, until: float, most: int) -> bool:
        """Rest until then, at most ``most`` times in a row; True when it was once too often.

        Items that were waiting for one and the same answer put their queue off together: that is one time.
        """
        if until > self.next_fetch_time:
            self.deferrals += 1
            self.next_fetch_time = until
        return self.deferrals > most

    def forget_at(self) -> float:
        """When, left idle, it may be forgotten: politeness and failures outlive its last item."""
        remembered = self.limits.clear_after if self.exceptions or self.deferrals or self.pace.delay else 0.0
        return self.next_fetch_time + remembered
