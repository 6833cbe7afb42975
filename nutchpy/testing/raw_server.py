"""A threaded server of raw bytes on a loopback port: it says just what its script tells it, breaking off when told.

    with RawServer([Send(b"HTTP/1.1 200 OK\\r\\n\\r\\nbody")]) as server:
        fetch(server.url("/x"))

A script is a sequence of actions, or a function from the request's head to one. Each connection's request head is read
first, the actions follow, the connection is closed; ``Again`` waits for one more request on it instead.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

_HEAD_END: Final = b"\r\n\r\n"
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Send:
    """Send these bytes, ``times`` over; -1: until the client goes away."""

    data: bytes
    times: int = 1


@dataclass(frozen=True, slots=True)
class Drip:
    """Send ``data`` in bits of ``size`` bytes, ``interval`` seconds apart."""

    data: bytes
    interval: float
    size: int = 1


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for so long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Reset:
    """End the connection with a TCP reset."""


@dataclass(frozen=True, slots=True)
class Again:
    """Read another request on this connection and begin the script anew."""


Action = Send | Drip | Wait | Reset | Again
Script = Sequence[Action] | Callable[[bytes], Sequence[Action]]


class RawServer:
    """Serves a script on a loopback address until closed; ``requests`` holds the request heads, in their order."""

    def __init__(
        self,
        script: Script,
        tls: ssl.SSLContext | None = None,
        *,
        read_request: bool = True,
        address: str = "127.0.0.1",
    ) -> None:
        self._address = address
        self._script = script
        self._tls = tls
        self._read_request = read_request
        self._closing = threading.Event()
        self._connections: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self.requests: list[bytes] = []
        self.accepted = 0
        self._listener = socket.create_server((address, 0), backlog=128)
        self.port = int(self._listener.getsockname()[1])
        self._start(self._accept)

    def url(self, path: str = "/") -> str:
        """The address of a path on this server."""
        return f"{'https' if self._tls else 'http'}://{self._address}:{self.port}{path}"

    def close(self) -> None:
        """Drop all connections and end all threads."""
        self._closing.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join(5)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _start(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            self._connections.add(connection)
            self._start(lambda connection=connection: self._serve(connection))  # type: ignore[misc]

    def _serve(self, connection: socket.socket) -> None:
        # The client may be gone at any moment: that is what many tests are about.
        with contextlib.suppress(OSError):
            wrapped = self._tls.wrap_socket(connection, server_side=True) if self._tls else connection
            self._connections.discard(connection)
            self._connections.add(wrapped)
            with wrapped:
                while self._answer(wrapped):
                    pass
            self._connections.discard(wrapped)

    def _answer(self, connection: socket.socket) -> bool:
        """One request and its actions; whether another may follow."""
        head = self._head(connection) if self._read_request else b""
        if head is None:
            return False
        self.requests.append(head)
        for action in self._script(head) if callable(self._script) else self._script:
            if isinstance(action, Again):
                return True
            self._act(connection, action)
        return False

    def _head(self, connection: socket.socket) -> bytes | None:
        head = b""
        while _HEAD_END not in head:
            data = connection.recv(65536)
            if not data:
                return None
            head += data
        return head

    def _act(self, connection: socket.socket, action: Action) -> None:
        match action:
            case Send(data, times):
                while times and not self._closing.is_set():
                    connection.sendall(data)
                    times -= 1
            case Drip(data, interval, size):
                for at in range(0, len(data), size):
                    connection.sendall(data[at : at + size])
                    if self._closing.wait(interval):
                        return
            case Wait(seconds):
                self._closing.wait(seconds)
            case Reset():
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
                connection.close()
            case Again():
                pass
