"""The web of graph.py behind one port: an HTTP proxy for all its hosts. One asyncio loop, one protocol, no state.

It takes absolute URLs as proxies do, CONNECT (when it has a certificate: it then speaks TLS for every host), and plain
requests by their Host header. A request that cannot be read ends its connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TextIO

from . import graph
from .graph import Web, Writer

_REASONS = {
    200: "OK",
    301: "Moved Permanently",
    302: "Found",
    404: "Not Found",
    405: "Method Not Allowed",
    429: "Too Many Requests",
    502: "Bad Gateway",
    503: "Service Unavailable",
}
_FAILING = {graph.MISSING: 404, graph.BUSY: 429, graph.UNAVAILABLE: 503}
_TORN = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_MOST_HEAD = 65536


class Hit(NamedTuple):
    """A request: read at ``started``, its answer handed to the system at ``ended`` (monotonic seconds)."""

    host: str
    path: str
    status: int  # 0: the connection was reset
    started: float
    ended: float


Log = Callable[[Hit], None]


@dataclass(frozen=True)
class Answer:
    """What is sent, after how long; ``torn``: and then the connection is reset."""

    status: int
    data: bytes
    seconds: float = 0.0
    torn: bool = False


class Answers:
    """Answers by host and path."""

    def __init__(self, web: Web) -> None:
        self.web = web
        self._writer = Writer(web)

    def answer(self, host: str, path: str) -> Answer:
        """What comes of asking a host for a path."""
        number = self.web.number(host)
        if number is None:
            return Answer(502, _response(502, b"no such host"))
        if path == "/robots.txt":
            return self._robots(number)
        page = self.web.page(number, path)
        return Answer(404, _response(404), self.web.seconds(number)) if page is None else self._page(number, page)

    def _robots(self, number: int) -> Answer:
        rules, seconds = self.web.robots(number), self.web.seconds(number)
        if rules is None:
            return Answer(404, _response(404), seconds)
        return Answer(200, _response(200, rules.encode(), "Content-Type: text/plain\r\n"), seconds)

    def _page(self, number: int, page: int) -> Answer:
        web, fate = self.web, self.web.fate(number, page)
        seconds = web.seconds(number)
        if fate == graph.RESET:
            return Answer(0, _TORN, seconds, torn=True)
        if fate == graph.MOVED:
            status = 301 if page % 2 else 302
            target = web.url(number, web.target(number, page))
            return Answer(status, _response(status, b"", f"Location: {target}\r\n"), seconds)
        status = _FAILING.get(fate)
        if status is not None:
            wait = f"Retry-After: {web.retry_after}\r\n" if status != 404 and web.retry_after else ""
            return Answer(status, _response(status, b"", wait), seconds)
        slow = web.slow_seconds if fate == graph.SLOW else 0.0
        return Answer(200, _response(200, self._writer.html(number, page)), seconds + slow)


def _response(status: int, body: bytes = b"", headers: str = "Content-Type: text/html; charset=utf-8\r\n") -> bytes:
    head = f"HTTP/1.1 {status} {_REASONS[status]}\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Service:
    """Answers whoever connects; ``connections`` are those that stand."""

    def __init__(self, web: Web, log: Log, tls: ssl.SSLContext | None = None) -> None:
        self.answers = Answers(web)
        self.log = log
        self.tls = tls
        self.connections: set[_Connection] = set()

    async def listen(self, bind: str = "127.0.0.1", port: int = 0) -> int:
        """Begin to serve; the port."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), bind, port, backlog=4096)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop serving, and hang up on everyone."""
        self._server.close()
        for connection in list(self.connections):
            connection.hang_up()
        await asyncio.sleep(0)


class _Connection(asyncio.Protocol):
    """Requests one after the other, until the client goes."""

    _transport: asyncio.Transport

    def __init__(self, service: Service) -> None:
        self._service = service
        self._loop = asyncio.get_running_loop()
        self._data = b""
        self._busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._service.connections.add(self)

    def connection_lost(self, _error: Exception | None) -> None:
        self._service.connections.discard(self)

    def hang_up(self) -> None:
        """End the connection from our side."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._data += data
        self._read()

    def _read(self) -> None:
        """Take the next request, when it is whole and none is being answered."""
        if self._busy:
            return
        end = self._data.find(b"\r\n\r\n")
        if end >= 0:
            head, self._data = self._data[:end], self._data[end + 4 :]
            self._respond(head)
        elif len(self._data) > _MOST_HEAD:
            self._transport.abort()

    def _respond(self, head: bytes) -> None:
        started = time.monotonic()
        line = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
        if len(line) != 3:
            self._transport.abort()
            return
        method, target, _ = line
        self._busy = True
        if method == "CONNECT":
            self._connect()
            return
        host, path = _place(target, head)
        answer = self._service.answers.answer(host, path) if method in ("GET", "HEAD") else Answer(405, _response(405))
        if method == "HEAD":
            answer = Answer(answer.status, answer.data.partition(b"\r\n\r\n")[0] + b"\r\n\r\n", answer.seconds)
        if answer.seconds > 0:
            self._loop.call_later(answer.seconds, self._send, host, path, answer, started)
        else:
            self._send(host, path, answer, started)

    def _send(self, host: str, path: str, answer: Answer, started: float) -> None:
        self._busy = False
        self._service.log(Hit(host, path, answer.status, started, time.monotonic()))
        if self._transport.is_closing():
            return
        self._transport.write(answer.data)
        if answer.torn:
            self._loop.call_later(0.01, _reset, self._transport)  # what was sent is read first
            return
        if self._data:
            self._read()

    def _connect(self) -> None:
        if self._service.tls is None:
            self._transport.write(_response(405))
            self._transport.close()
            return
        self._transport.write(b"HTTP/1.1 200 OK\r\n\r\n")
        self._starting = self._loop.create_task(self._speak_tls(self._service.tls))

    async def _speak_tls(self, tls: ssl.SSLContext) -> None:
        with contextlib.suppress(OSError):  # a client that does not like our certificate
            inner = await self._loop.start_tls(self._transport, self, tls, server_side=True)
            if inner is not None:
                self._transport = inner
                self._busy = False
                self._read()


def _place(target: str, head: bytes) -> tuple[str, str]:
    """Host and path of a request."""
    if target.startswith("/"):
        at = head.lower().find(b"\r\nhost:")
        host = head[at + 7 :].partition(b"\r\n")[0].decode("latin-1").strip() if at >= 0 else ""
        return host.partition(":")[0], target
    host, slash, path = target.partition("://")[2].partition("/")
    return host.partition(":")[0], slash + path or "/"


def _reset(transport: asyncio.Transport) -> None:
    connection = transport.get_extra_info("socket")
    if connection is not None and not transport.is_closing():
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def line_of(hit: Hit) -> str:
    """A request as a line of a log file."""
    return f"{hit.started:.6f} {hit.ended:.6f} {hit.status} {hit.host} {hit.path}\n"


def read_log(file: TextIO) -> Iterator[Hit]:
    """The requests of a log file; a last line that is not whole is left out."""
    for line in file:
        if line.endswith("\n"):
            started, ended, status, host, path = line[:-1].split(" ", 4)
            yield Hit(sys.intern(host), path, int(status), float(started), float(ended))


@dataclass
class Running:
    """A web that is being served, and what was asked of it."""

    web: Web
    port: int
    hits: list[Hit]


@contextlib.contextmanager
def serving(web: Web, tls: ssl.SSLContext | None = None) -> Iterator[Running]:
    """Serve a web from a thread of this process, for a test."""
    hits: list[Hit] = []
    service = Service(web, hits.append, tls)
    loop = asyncio.new_event_loop()
    port = loop.run_until_complete(service.listen())
    thread = threading.Thread(target=loop.run_forever, name="simweb")
    thread.start()
    try:
        yield Running(web, port, hits)
    finally:
        asyncio.run_coroutine_threadsafe(service.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
