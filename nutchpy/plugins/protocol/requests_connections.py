"""Connections for requests that can be judged and broken off: urllib3's, with our sockets and our reading of heads.

A ``Job`` is a request in the hands of a worker thread. Its connection tells it the socket, so that the loop's thread
can shut it: a time-out of a socket is per operation, and a server that drips defeats it.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import os
import queue
import re
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from requests.structures import CaseInsensitiveDict
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError

from nutchpy.plugins.protocol.admission import Target
from nutchpy.plugins.protocol.exchange import Exchange, Failure, headers_of, is_bare, is_chunked, lengths_of
from nutchpy.plugins.protocol.requests_errors import BadHead

_BUFFER: Final = 32768
_STUCK: Final = re.compile(rb"\A(HTTP/1\.[01][ \t]+[0-9]{3})([^0-9\s])")
"""A status with something at its heels, as in ``200: OK``: http.client wants a number, others read one."""
_HEAD: Final = b"HTTP/"
_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;|\r?\n)")
_VERSIONS: Final = {10: "1.0", 11: "1.1"}

Pools = dict[str, type[HTTPConnectionPool]]

# http.client refuses an answer of more than a hundred headers; curl does not, and our own limit is on their bytes.
setattr(http.client, "_MAXHEADERS", 100_000)  # noqa: B010  a name its types do not know


class Grip:
    """A descriptor of our own for a connection's socket: the other one changes hands, and closes.

    It is closed when neither the connection nor a job holds it any more.
    """

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __del__(self) -> None:
        os.close(self._descriptor)

    def shut(self) -> None:
        """Break the connection off under whatever hands it is in."""
        with socket.socket(fileno=os.dup(self._descriptor)) as sock, contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)  # an error: not connected (yet, or any more)


class Job:
    """One exchange, what its connection is, and whether it is still wanted."""

    def __init__(self, exchange: Exchange, target: Target) -> None:
        self.exchange = exchange
        self.target = target
        self.expired: Failure | None = None
        """The deadline that passed: whatever error follows is its doing."""
        self.abandoned = False
        """Nobody waits for it any more."""
        self.reused = False
        """It went out on a connection that had served others, and may have gone stale."""
        self.headers: CaseInsensitiveDict[Any] | None = None
        """As it goes out, also when it does once more: by the same name then."""
        self._lock = threading.Lock()
        self._grip: Grip | None = None

    @property
    def stale(self) -> bool:
        """Whether it failed for no other reason than a kept connection that had died: worth another try."""
        return self.reused and not self.exchange.deadlines.answered and not self.expired and not self.abandoned

    @property
    def wanted(self) -> bool:
        """Whether somebody waits for it, and in time."""
        return self.expired is None and not self.abandoned

    def bind(self, grip: Grip) -> None:
        """Remember how to break the connection off."""
        with self._lock:
            self._grip = grip
            if self.expired is not None or self.abandoned:
                grip.shut()

    def shut(self, failure: Failure | None) -> None:
        """Break the connection off under the worker's hands; None abandons the job."""
        with self._lock:
            self.expired = self.expired or failure
            self.abandoned = self.abandoned or failure is None
            if self._grip is not None:
                self._grip.shut()

    def release(self) -> None:
        """The worker is done with the connection."""
        with self._lock:
            self._grip = None


class _Socket(socket.socket):
    """A socket that asks the kernel less: each call lets another thread run, and then waits for its turn again."""

    def settimeout(self, value: float | None) -> None:
        """Set it, unless it stands."""
        if value != self.gettimeout():
            super().settimeout(value)

    def makefile(self, mode: Any = "r", buffering: int | None = None, **options: Any) -> Any:
        """As any socket's, with room for the head and most bodies."""
        return super().makefile(mode, _BUFFER if buffering is None else buffering, **options)


class Kept(queue.LifoQueue[Any]):
    """A host's connections that nobody uses. Holds nothing in place of those that might come, as urllib3 would."""

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Keep a connection."""
        if item is not None:
            super().put(item, block, timeout)


class _HeadTap:
    """Stands in for a response's file while its head is read: keeps the lines, counts the bytes."""

    def __init__(self, file: Any, exchange: Exchange) -> None:
        self.file = file
        self.lines: list[bytes] = []
        self._exchange = exchange
        self._bytes = 0

    def readline(self, limit: int = -1) -> bytes:
        """The next line; a new block of headers begins behind an empty one."""
        line: bytes = self.file.readline(limit)
        if line:
            now = time.monotonic()
            self._exchange.deadlines.received(now)
            if not self._bytes:
                self._exchange.note("first_byte", now)
        self._bytes += len(line)
        if self._bytes > self._exchange.settings.header_limit:
            self._exchange.too_large = True
            raise http.client.LineTooLong("header block")
        if self.lines and self.lines[-1] in (b"\r\n", b"\n"):
            self.lines = []
        self.lines.append(line)
        return line if len(self.lines) > 1 else _STUCK.sub(rb"\1 \2", line)

    def close(self) -> None:
        """As the file's."""
        self.file.close()


class _Response(http.client.HTTPResponse):
    """http.client's response, whose head goes to the exchange as it stood on the wire."""

    def __init__(self, exchange: Exchange, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self._exchange = exchange

    def begin(self) -> None:
        """Read the head of the final answer, if it has one."""
        file: Any = self.fp
        start: bytes = file.peek()
        if not _HEAD.startswith(start[: len(_HEAD)]) and is_bare(start):
            self._begin_bare()
            return
        tap = _HeadTap(file, self._exchange)
        self.fp = tap  # type: ignore[assignment]  # nothing but readline and close is called while the head is read
        super().begin()
        if self.fp is not None:
            self.fp = file
        headers = headers_of(tap.lines[1:])
        fault = _fault(tap.lines[1:])
        if fault:
            self._close_conn()  # type: ignore[attr-defined]
            raise BadHead(fault)
        if not self.chunked and is_chunked(headers):
            self.chunked, self.chunk_left, self.length = True, None, None
        lengths = lengths_of(headers)
        if not self.chunked and self.length is None and len(lengths) == 1 and lengths[0].isdecimal():
            self.length = int(lengths[0])  # "30, 30": http.client does not read it
        head = b"".join(tap.lines) if self._exchange.settings.keep_response else None
        self._exchange.begin(self.status, headers, _VERSIONS.get(self.version), head)

    def _begin_bare(self) -> None:
        """A document without a head, as http.client would describe it."""
        self.headers = self.msg = http.client.HTTPMessage()
        self.version, self.code, self.status, self.reason = 9, 200, 200, ""
        self.length, self.chunked, self.will_close = None, False, True
        now = time.monotonic()
        self._exchange.deadlines.received(now)
        self._exchange.note("first_byte", now)
        self._exchange.begin(200, (), "0.9")

    def _read_next_chunk_size(self) -> int:
        """Digits and no sign, prefix or underscore, all of which Python's int would read."""
        file: Any = self.fp
        line: bytes = file.readline(_BUFFER)
        size = _CHUNK_SIZE.match(line)
        if size is None:
            self._close_conn()  # type: ignore[attr-defined]
            raise ValueError(f"invalid literal for int() with base 16: {line[:40]!r}")
        return int(size[1], 16)

    def _read_and_discard_trailer(self) -> None:
        """Behind the last chunk: no more than a head may have, and not without an end, as libcurl has it."""
        left = self._exchange.settings.header_limit
        file: Any = self.fp
        while (line := file.readline(_BUFFER)) not in (b"\r\n", b"\n"):
            self._exchange.deadlines.received(time.monotonic())
            left -= len(line)
            if not line or left < 0:
                self._close_conn()  # type: ignore[attr-defined]
                raise http.client.LineTooLong("trailers") if line else http.client.IncompleteRead(b"")

    def _read_status(self) -> tuple[str, int, str]:
        """Skip interim answers: http.client knows only 100."""
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if not 102 <= status < 200:
                return version, status, reason
            http.client.parse_headers(self.fp)


class _Watched(HTTPConnection):
    """Binds its job to the socket, and connects only where the job may connect to."""

    current: Callable[[], Job]
    """The job the calling thread works on."""
    grip: Grip | None = None
    ip: str | None = None

    def _new_conn(self) -> socket.socket:
        job = self.current()
        if self.proxy is not None:
            return _connect(self, job, _resolve(self))
        addresses = [job.target.host.strip("[]")] if job.target.literal else job.exchange.request.pinned_ips
        admitted = [ip for ip in addresses or _resolve(self) if job.exchange.admits(ip)]
        return _connect(self, job, admitted)

    def connect(self) -> None:
        super().connect()
        self.current().exchange.deadlines.connected()
        self._note("tls" if isinstance(self, HTTPSConnection) else "connect")

    def putrequest(self, method: str, url: str, *arguments: Any, **options: Any) -> None:
        """Send our request line: urllib3 would tidy the target up."""
        job = self.current()
        forwarded = job.target.proxied and not job.target.tunnelled
        job.reused = self.sock is not None
        if self.grip is not None:
            job.exchange.deadlines.connected()
            job.exchange.ip = self.ip
            job.bind(self.grip)
        super().putrequest(method, job.target.url if forwarded else job.target.path, *arguments, **options)

    def _send_output(self, *arguments: Any, **options: Any) -> None:
        """http.client's: its buffer holds the head, line by line."""
        job = self.current()
        exchange = job.exchange
        if exchange.settings.keep_request:
            lines = self._buffer  # type: ignore[attr-defined]
            exchange.request_head = job.target.options.masked(b"\r\n".join((*lines, b"", b"")))
        super()._send_output(*arguments, **options)  # type: ignore[misc]

    def getresponse(self) -> Any:
        self.response_class = functools.partial(_Response, self.current().exchange)  # type: ignore[assignment]
        return super().getresponse()

    def close(self) -> None:
        super().close()
        self.grip = None

    def _note(self, step: str) -> None:
        self.current().exchange.note(step, time.monotonic())


class _WatchedTLS(_Watched, HTTPSConnection):
    """The same over TLS."""


def pools(current: Callable[[], Job]) -> Pools:
    """Connection pools, by scheme, whose connections serve the job that ``current`` names."""
    plain = type("Connection", (_Watched,), {"current": staticmethod(current)})
    secure = type("TLSConnection", (_WatchedTLS,), {"current": staticmethod(current)})
    return {
        "http": type("Pool", (HTTPConnectionPool,), {"ConnectionCls": plain, "QueueCls": Kept}),
        "https": type("TLSPool", (HTTPSConnectionPool,), {"ConnectionCls": secure, "QueueCls": Kept}),
    }


def _resolve(connection: _Watched) -> list[str]:
    host = connection.host.strip("[]")
    try:
        found = socket.getaddrinfo(host, connection.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NameResolutionError(host, connection, socket.gaierror(str(error))) from error
    connection.current().exchange.note("dns", time.monotonic())
    return list(dict.fromkeys(str(name[0]) for *_, name in found))


def _connect(connection: _Watched, job: Job, addresses: Sequence[str]) -> socket.socket:
    """Connect to the first address that answers."""
    error: OSError | None = None
    for ip in addresses:
        try:
            return _open(connection, job, ip)
        except TimeoutError as late:
            raise ConnectTimeoutError(connection, f"no connection to {ip}: {late}") from late
        except OSError as refused:
            error = refused
    raise NewConnectionError(connection, str(error or "no address to connect to")) from error


def _open(connection: _Watched, job: Job, ip: str) -> socket.socket:
    sock = _Socket(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_STREAM)
    try:
        for option in connection.socket_options or ():
            sock.setsockopt(*option)
        limit = job.exchange.request.timeouts.connect
        sock.settimeout(limit if limit > 0 else None)
        connection.grip = Grip(os.dup(sock.fileno()))
        job.bind(connection.grip)
        sock.connect((ip, connection.port))
        sock.settimeout(None)
    except OSError:
        sock.close()
        raise
    job.exchange.ip = connection.ip = ip
    job.exchange.note("connect", time.monotonic())
    return sock


def _fault(lines: Sequence[bytes]) -> str:
    """What libcurl refuses too, and http.client does not see. The last line is the empty one."""
    if lines[-1] == b"":
        return "headers end early"
    if any(b"\0" in line for line in lines):
        return "NUL byte in header"
    bare = any(b":" not in line and line[:1] not in b" \t" for line in lines[:-1])
    return "header without colon" if bare else ""
