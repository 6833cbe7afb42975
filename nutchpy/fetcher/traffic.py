"""Traffic: the requests in flight. Gives each a token for the transport, and hands each answer to who asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from selectors import BaseSelector, SelectorKey

from nutchpy.core.content import ProtocolOutput
from nutchpy.extension.points import Request, Transport
from nutchpy.fetcher.bandwidth import Bandwidth

Done = Callable[[ProtocolOutput], None]


class Traffic:
    """A transport with callbacks. Pages and robots.txt files go the same way."""

    def __init__(self, transport: Transport, bandwidth: Bandwidth | None = None) -> None:
        self.transport = transport
        self._bandwidth = bandwidth
        self._waiting: dict[int, Done] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def attach(self, selector: BaseSelector, wake: Callable[[], None]) -> None:
        """Connect the transport to the loop."""
        self.transport.attach(selector, wake)

    def start(self, request: Request, done: Done) -> int:
        """Begin a request; ``done`` gets its answer, from within ``step``. Returns its token."""
        self._last += 1
        self._waiting[self._last] = done
        if self._bandwidth is not None:
            self._bandwidth.began(self._last)
        self.transport.start(self._last, request)
        return self._last

    def cancel(self, token: int, reason: str) -> None:
        """Give a request up; its answer is nobody's."""
        if token in self._waiting:
            self._waiting[token] = _ignore
            self.transport.cancel(token, reason)

    def step(self, ready: Sequence[tuple[SelectorKey, int]]) -> None:
        """Let the transport work, and hand out what has come."""
        for token, output in self.transport.step(ready):
            if self._bandwidth is not None:
                self._bandwidth.ended(token, output.wire_bytes)
            self._waiting.pop(token)(output)

    @property
    def free_at(self) -> float:
        """When another page may be asked for, going by the bandwidth target."""
        return self._bandwidth.free_at if self._bandwidth is not None else 0.0

    def deadline(self) -> float | None:
        """When the transport wants to work at the latest."""
        return self.transport.deadline()

    def close(self) -> None:
        """Let go of sockets and threads."""
        self.transport.close()


def _ignore(_output: ProtocolOutput) -> None:
    """Take an answer that no one waits for any more."""
