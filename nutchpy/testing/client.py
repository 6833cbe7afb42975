"""A small event loop around one Transport, for tests: start requests, wait for all answers."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from nutchpy.core.content import Headers, ProtocolOutput
from nutchpy.extension.points import Request, Transport


@dataclass(frozen=True, slots=True)
class PlainTimeouts:
    """Deadlines short enough for tests."""

    connect: float = 5.0
    first_byte: float = 5.0
    idle: float = 5.0
    total: float = 10.0


@dataclass(frozen=True, slots=True)
class PlainRequest:
    """A Request of values."""

    url: str
    headers: Headers = ()
    timeouts: PlainTimeouts = field(default_factory=PlainTimeouts)
    content_limit: int = 1 << 20
    pinned_ips: Sequence[str] = ()
    decode: bool = True


class Client:
    """Owns the selector and the wake-up socket that the fetcher's loop owns otherwise."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self._selector = selectors.DefaultSelector()
        self._wake_in, self._wake_out = socket.socketpair()
        for end in (self._wake_in, self._wake_out):
            end.setblocking(False)
        self._selector.register(self._wake_in, selectors.EVENT_READ, None)
        self._tokens = 0
        transport.attach(self._selector, self._wake)

    def start(self, request: Request) -> int:
        """Begin a request."""
        self._tokens += 1
        self.transport.start(self._tokens, request)
        return self._tokens

    def step(self, wait: float = 1.0) -> list[tuple[int, ProtocolOutput]]:
        """Wait for the transport's next event, at most so long, and let it work."""
        deadline = self.transport.deadline()
        if deadline is not None:
            wait = min(wait, max(0.0, deadline - time.monotonic()))
        ready = self._selector.select(wait)
        for key, _ in ready:
            if key.data is None:
                self._wake_in.recv(4096)
        return self.transport.step([(key, events) for key, events in ready if key.data is self.transport])

    def wait(self, tokens: Sequence[int], seconds: float = 20.0) -> dict[int, ProtocolOutput]:
        """The answers to these requests; TimeoutError when some do not complete."""
        answers: dict[int, ProtocolOutput] = {}
        give_up = time.monotonic() + seconds
        while not answers.keys() >= set(tokens):
            if time.monotonic() > give_up:
                raise TimeoutError(f"{len(tokens) - len(answers)} of {len(tokens)} requests never completed")
            for token, output in self.step():
                if token in answers:
                    raise AssertionError(f"request {token} completed twice")
                answers[token] = output
        return answers

    def fetch(self, request: Request) -> ProtocolOutput:
        """One request, start to end."""
        token = self.start(request)
        return self.wait([token])[token]

    def fetch_all(self, requests: Sequence[Request]) -> list[ProtocolOutput]:
        """Several at once, answers in their order."""
        tokens = [self.start(request) for request in requests]
        answers = self.wait(tokens)
        return [answers[token] for token in tokens]

    def close(self) -> None:
        """End the transport, then the loop."""
        self.transport.close()
        self._selector.close()
        self._wake_in.close()
        self._wake_out.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _wake(self) -> None:
        try:
            self._wake_out.send(b"\0")
        except BlockingIOError:
            return  # full of wake-ups already
