"""Host names to addresses: looked up in a bounded pool of threads, kept for a while, pinned for the transport.

``Resolver`` is pure but for its ``Lookups``: time is an argument, waiting items are handed to ``resume``. A look-up
cannot be broken off, so one that takes too long is given up by those who wait; its answer is kept when it comes.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Final, Protocol

from nutchpy.fetcher.item import FetchItem

_FAILURE_SECONDS: Final = 30.0
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


@dataclass(slots=True)
class _Pending:
    give_up: float
    items: list[FetchItem]


class Resolver:
    """A cache over look-ups. One source of the loop: ``deadline`` and ``step``."""

    def __init__(self, lookups: Lookups, keep: float, timeout: float, resume: Callable[[FetchItem], None]) -> None:
        self._lookups = lookups
        self._keep = keep
        self._timeout = timeout
        self._resume = resume
        self._known: dict[str, tuple[float, Resolution]] = {}
        self._pending: dict[str, _Pending] = {}

    def resolution(self, host: str, now: float) -> Resolution | None:
        """What is known of a host; None when it must be asked for."""
        found = self._known.get(host)
        return found[1] if found is not None and found[0] > now else None

    def ask(self, host: str, item: FetchItem, now: float) -> None:
        """Look a host up for an item, which is resumed when the answer has come (``item.resolution``)."""
        pending = self._pending.get(host)
        if pending is None:
            pending = self._pending[host] = _Pending(now + self._timeout, [])
            self._lookups.start(host)
        pending.items.append(item)

    def deadline(self) -> float | None:
        """When the oldest look-up is given up."""
        return next((pending.give_up for pending in self._pending.values()), None)

    def step(self, now: float) -> None:
        """Take the answers that have come, give up those that take too long."""
        for host, resolution in self._lookups.done():
            self._settle(host, resolution, now)
        overdue = []
        for host, pending in self._pending.items():
            if pending.give_up > now:
                break
            overdue.append(host)
        for host in overdue:
            self._settle(host, Resolution((), f"no answer for {host} in {self._timeout:g} s"), now)

    def close(self) -> None:
        """Start no more look-ups."""
        self._lookups.close()

    def _settle(self, host: str, resolution: Resolution, now: float) -> None:
        self._remember(host, resolution, now)
        pending = self._pending.pop(host, None)
        for item in pending.items if pending else ():
            item.resolution = resolution
            self._resume(item)

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
