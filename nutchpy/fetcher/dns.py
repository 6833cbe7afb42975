"""Host names to addresses: looked up in a bounded pool of threads, kept for a while, pinned for the transport.

``Resolver`` is pure but for its ``Lookups``: time is an argument. A queue whose host is being looked up is held, not
a thread: slow name servers cost no one else anything. A look-up cannot be broken off, so one that takes too long is
given up by those who wait, keeps its place in the pool until it ends, and its answer is kept when it comes.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Final, Protocol

_FAILURE_SECONDS: Final = 30.0
_LEAST_KEPT_SECONDS: Final = 10.0
"""An answer must last until the queue that asked for it has its turn."""
_MOST_KEPT: Final = 200_000


@dataclass(frozen=True, slots=True)
class Resolution:
    """The addresses of a host, best first, or why there are none."""

    addresses: tuple[str, ...]
    error: str = ""


class Lookups(Protocol):
    """Where answers come from."""

    def start(self, host: str) -> None:
        """Look a name up; ``done`` gives the answer some time later."""
        ...

    def done(self) -> list[tuple[str, Resolution]]:
        """The answers that have come since the last call."""
        ...

    def close(self) -> None:
        """Start no more."""
        ...


class Resolver:
    """A cache over look-ups, at most ``most`` of them at a time. One source of the loop: ``deadline`` and ``step``."""

    def __init__(
        self, lookups: Lookups, most: int, keep: float, timeout: float, resolved: Callable[[str, float], None]
    ) -> None:
        """``resolved`` hears of each queue that ``ask`` was called for, once there is an answer."""
        self._lookups = lookups
        self._most = most
        self._keep = max(keep, _LEAST_KEPT_SECONDS)
        self._timeout = timeout
        self._resolved = resolved
        self._known: dict[str, tuple[float, Resolution]] = {}
        self._waiting: dict[str, list[str]] = {}
        self._backlog: deque[str] = deque()
        self._running: dict[str, float] = {}
        self._overdue: set[str] = set()

    def resolution(self, host: str, now: float) -> Resolution | None:
        """What is known of a host; None when it must be asked for."""
        found = self._known.get(host)
        return found[1] if found is not None and found[0] > now else None

    def ask(self, host: str, queue_id: str, now: float) -> None:
        """Look a host up on behalf of a queue."""
        if host in self._waiting:
            self._waiting[host].append(queue_id)
            return
        self._waiting[host] = [queue_id]
        if host in self._overdue:
            self._overdue.remove(host)
            self._running[host] = now + self._timeout
            return
        self._backlog.append(host)
        self._start(now)

    def deadline(self) -> float | None:
        """When the oldest look-up is given up."""
        return next(iter(self._running.values()), None)

    def step(self, now: float) -> None:
        """Take the answers that have come, give up those that take too long, begin the next."""
        for host, resolution in self._lookups.done():
            self._running.pop(host, None)
            self._overdue.discard(host)
            self._settle(host, resolution, now)
        while self._running and (deadline := self.deadline()) is not None and deadline <= now:
            host = next(iter(self._running))
            del self._running[host]
            self._overdue.add(host)
            self._settle(host, Resolution((), f"no answer for {host} in {self._timeout:g} s"), now)
        self._start(now)

    def close(self) -> None:
        """Start no more look-ups."""
        self._lookups.close()

    def _start(self, now: float) -> None:
        while self._backlog and len(self._running) + len(self._overdue) < self._most:
            host = self._backlog.popleft()
            self._running[host] = now + self._timeout
            self._lookups.start(host)

    def _settle(self, host: str, resolution: Resolution, now: float) -> None:
        self._remember(host, resolution, now)
        for queue_id in self._waiting.pop(host, ()):
            self._resolved(queue_id, now)

    def _remember(self, host: str, resolution: Resolution, now: float) -> None:
        keep = self._keep if resolution.addresses else min(self._keep, _FAILURE_SECONDS)
        self._known.pop(host, None)
        self._known[host] = (now + keep, resolution)
        while len(self._known) > _MOST_KEPT:
            del self._known[next(iter(self._known))]


def is_address(host: str) -> bool:
    """Whether a URL's host is an address already (the URL standard writes every IPv4 one in dotted decimals)."""
    return host.startswith("[") or host.rpartition(".")[2].isdigit()


def system_lookup(host: str) -> Resolution:
    """Ask the system's resolver."""
    try:
        found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return Resolution((), f"{host}: {getattr(error, 'strerror', None) or error}")
    return Resolution(tuple(dict.fromkeys(str(address[0]) for *_, address in found)))


class ThreadedLookups:
    """Look-ups in at most ``threads`` daemon threads, started as they are needed."""

    def __init__(
        self, threads: int, wake: Callable[[], None], look_up: Callable[[str], Resolution] = system_lookup
    ) -> None:
        self._most = threads
        self._wake = wake
        self._look_up = look_up
        self._hosts: SimpleQueue[str | None] = SimpleQueue()
        self._answers: deque[tuple[str, Resolution]] = deque()
        self._threads = 0
        self._open = 0

    def start(self, host: str) -> None:
        """Hand a host to a thread, a new one when all are busy."""
        self._open += 1
        if self._open > self._threads and self._threads < self._most:
            self._threads += 1
            threading.Thread(target=self._work, name=f"dns-{self._threads}", daemon=True).start()
        self._hosts.put(host)

    def done(self) -> list[tuple[str, Resolution]]:
        """The answers that have come."""
        found = []
        while self._answers:
            found.append(self._answers.popleft())
        self._open -= len(found)
        return found

    def close(self) -> None:
        """Let the threads end after what they are at."""
        for _ in range(self._threads):
            self._hosts.put(None)

    def _work(self) -> None:
        while (host := self._hosts.get()) is not None:
            self._answers.append((host, self._look_up(host)))
            self._wake()
