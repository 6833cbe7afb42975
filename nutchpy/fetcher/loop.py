"""FetchLoop: one thread that owns everything of one fetch list and shares nothing.

It feeds the queues, begins what may be requested now, and waits for whichever comes first: a transfer, a look-up or a
worker that is done, the time of the next queue, of the transport, of a flush or of a limit, a signal. It never spins,
never sleeps to look again, and is idle only when nothing can be begun. Clock and selector come from outside, so the
same loop runs on simulated ones.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from selectors import EVENT_READ, BaseSelector, SelectorKey
from typing import Final, Protocol

from nutchpy.fetcher.machine import Machine
from nutchpy.fetcher.pipeline import Finish, Unrecorded

Ready = Sequence[tuple[SelectorKey, int]]

_BEGINNINGS: Final = 4
"""Items begun per thread between two looks at what has come: denied ones end at once, and leave the thread free."""


class Watcher(Protocol):
    """What a file other than the transport's is registered with, as its ``data``."""

    def notice(self) -> None:
        """The file is ready."""
        ...


class Waker:
    """Wakes the loop from other threads and signal handlers: one byte through a socket, however often it is called."""

    def __init__(self, selector: BaseSelector) -> None:
        self._read, self._write = socket.socketpair()
        self._read.setblocking(False)
        self._write.setblocking(False)
        selector.register(self._read, EVENT_READ, self)
        self._called = False
        """It has been, and has not noticed yet: what is done until it does, it will see without another byte."""

    def wake(self) -> None:
        """Make the loop look around; safe from any thread, also after the loop has ended."""
        if not self._called:
            self._called = True
            with suppress(OSError):  # full: it will wake anyway; closed: no one is left to wake
                self._write.send(b"\0")

    def notice(self) -> None:
        """Take the bytes; being awake is enough."""
        with suppress(BlockingIOError):
            self._read.recv(4096)
        self._called = False

    def close(self) -> None:
        """Let go of the sockets."""
        self._read.close()
        self._write.close()


class FetchLoop:
    """``run`` fetches the list. ``stop`` ends it early; ``reason`` then says why."""

    def __init__(self, machine: Machine, selector: BaseSelector, monotonic: Callable[[], float]) -> None:
        self._machine = machine
        self._selector = selector
        self._monotonic = monotonic
        self.reason: str | None = None
        self.interrupted = False
        """Whether it is to end as soon as it can."""
        self._abandon_at: float | None = None

    def run(self) -> None:
        """Fetch until everything queued and fed has ended."""
        self._machine.slots.woke(self._monotonic())
        self._work(())
        while True:
            begun = self._begin(self._monotonic())
            if self._machine.over:
                return
            self._work(self._sleep(begun))

    def stop(self, reason: str, grace: float | None = None) -> None:
        """Begin nothing more; what waits is dropped. Requests in flight may end, or have ``grace`` seconds to."""
        machine = self._machine
        if self.reason is None:
            self.reason = reason
            machine.territory.closed = True
            machine.sink.closed = reason
            machine.feeder.stop(reason)
            machine.sink.drop_items(machine.queues.clear(), reason)
        if grace is not None:
            self.interrupted = True
            self._abandon_at = self._monotonic() + grace

    def _begin(self, now: float) -> int:
        """Feed the queues, and begin what may begin; not for ever, should all of it end at once. How many that were."""
        machine = self._machine
        most = machine.threads * _BEGINNINGS
        for begun in range(most):
            if machine.feeder.wanting:
                machine.feeder.feed(now)
            if machine.free <= 0 or machine.output.full or machine.traffic.free_at > now:
                return begun
            item = machine.queues.take(now)
            if item is None:
                return begun
            machine.pipeline.begin(item, now)
        return most

    def _sleep(self, begun: int) -> Ready:
        """Wait for an event, and note what that costs, now that ``begun`` items are on their way."""
        machine, now = self._machine, self._monotonic()
        machine.slots.began(begun, now)
        free, held = machine.free, machine.output.full or machine.traffic.free_at > now
        ready = self._selector.select(self._patience(now))
        machine.slots.waited(free, held, now, self._monotonic())
        return ready

    def _patience(self, now: float) -> float | None:
        """Seconds to wait for an event at most; None for ever."""
        machine = self._machine
        if machine.resumed:
            return 0.0
        instants = [source.deadline() for source in machine.sources]
        instants.append(machine.traffic.deadline())
        instants.append(self._abandon_at)
        if machine.free > 0 and not machine.output.full:
            instants.append(self._next_beginning())
        earliest = min((instant for instant in instants if instant is not None), default=None)
        return None if earliest is None else max(0.0, earliest - now)

    def _next_beginning(self) -> float | None:
        ready, free = self._machine.queues.next_ready(), self._machine.traffic.free_at
        return None if ready is None else max(ready, free)

    def _work(self, ready: Ready) -> None:
        """Let everything work that has something to do, then send the items on that waited for it.

        What time it is, is asked after the transfers have worked: answers that came meanwhile ended no earlier.
        """
        machine = self._machine
        machine.traffic.step(self._sorted(ready))
        now = self._monotonic()
        for source in machine.sources:
            source.step(now)
        self._send_on(now)
        if self._abandon_at is not None and self._abandon_at <= now:
            self._abandon(now)
        machine.queues.reap(now)

    def _sorted(self, ready: Ready) -> Ready:
        """The transport's events; the owners of the others are told at once."""
        transport = self._machine.traffic.transport
        own = []
        for event in ready:
            watcher = event[0].data
            if watcher is transport:
                own.append(event)
            else:
                watcher.notice()
        return own

    def _send_on(self, now: float) -> None:
        resumed = self._machine.resumed
        while resumed:
            self._machine.pipeline.advance(resumed.popleft(), now)

    def _abandon(self, now: float) -> None:
        """Give up what is still in flight."""
        machine = self._machine
        self._abandon_at = None
        for item in list(machine.pipeline.active):
            if item.token is not None:
                machine.traffic.cancel(item.token, INTERRUPTED.message)
            machine.pipeline.finish(item, INTERRUPTED, now)


INTERRUPTED: Final = Finish(Unrecorded.INTERRUPTED, "stopped")
