"""Serve a Site over real HTTP/1.1, with an access log of records. For tests, the demo, and by hand:

with SiteServer(site) as server:             # 127.0.0.1, a free port
    ... server.url("/a") ... server.log.paths()

python -m nutchpy.testing.site_server        # the demo site, on the ports its seed list names
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from email.utils import format_datetime, parsedate_to_datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TextIO

from nutchpy.testing.site import Page, Request, Site

IDLE_SECONDS: Final = 60
GZIP_FROM_BYTES: Final = 400


@dataclass(frozen=True)
class Access:
    """One request: ``started`` when it was read, ``ended`` when its answer was about to be sent (monotonic seconds).

    ``wall`` is ``started`` in seconds since the epoch.
    """

    server: str
    host: str
    method: str
    target: str
    status: int
    bytes: int
    started: float
    ended: float
    wall: float
    user_agent: str
    conditional: bool


class AccessLog:
    """Records in order of completion; several servers may share one. With a file, each is a line of JSON too."""

    def __init__(self, file: TextIO | None = None) -> None:
        self._records: list[Access] = []
        self._file = file
        self._lock = threading.Lock()

    def add(self, record: Access) -> None:
        """Keep a record."""
        with self._lock:
            self._records.append(record)
            if self._file is not None:
                self._file.write(json.dumps(asdict(record)) + "\n")
                self._file.flush()

    def __iter__(self) -> Iterator[Access]:
        with self._lock:
            return iter(list(self._records))

    def __len__(self) -> int:
        with self._lock:
            return len(self._records)

    def clear(self) -> None:
        """Forget everything, to look at a later run alone."""
        with self._lock:
            self._records.clear()

    def paths(self, *, robots: bool = False) -> list[str]:
        """The targets asked for, in order; robots.txt left out unless asked for."""
        return [record.target for record in self if robots or record.target != "/robots.txt"]


class _Handler(BaseHTTPRequestHandler):
    """One connection: answers from the site until the client goes."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = IDLE_SECONDS
    wbufsize = -1

    def __init__(self, owner: SiteServer, *args: Any) -> None:
        self.owner = owner
        super().__init__(*args)

    def handle(self) -> None:
        with self.owner.connection(self.connection), contextlib.suppress(ConnectionError):
            # A client that hangs up is no failure of the server; what it did not read shows in no record.
            super().handle()

    def respond(self) -> None:
        """Answer one request, whatever its method."""
        started, wall = time.monotonic(), time.time()
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers)
        self.rfile.read(int(headers.get("content-length", "0")))
        page = self.owner.site.answer(request)
        if page.delay:
            self.owner.closing.wait(page.delay)
        not_modified = page.validators and page.status == 200 and _unchanged(page, request)
        body, coding = (b"", None) if not_modified else _coded(page, request)
        status = 304 if not_modified else page.status
        # Logged before it is sent: whoever has the answer finds its record.
        self.owner.log.add(
            Access(
                server=self.owner.base,
                host=headers.get("host", ""),
                method=self.command,
                target=self.path,
                status=status,
                bytes=0 if self.command == "HEAD" else len(body),
                started=started,
                ended=time.monotonic(),
                wall=wall,
                user_agent=headers.get("user-agent", ""),
                conditional="if-none-match" in headers or "if-modified-since" in headers,
            )
        )
        self._send(page, status, body, coding)

    do_GET = do_HEAD = do_POST = respond  # noqa: N815  (the base class looks for these names)

    def _send(self, page: Page, status: int, body: bytes, coding: str | None) -> None:
        self.send_response(status)
        if status != 304:
            self.send_header("Content-Type", page.content_type)
            self.send_header("Content-Length", str(len(body)))
        if coding:
            self.send_header("Content-Encoding", coding)
        if page.validators:
            self.send_header("ETag", page.etag)
        if page.last_modified is not None:
            self.send_header("Last-Modified", format_datetime(page.last_modified, usegmt=True))
        for name, value in page.headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def version_string(self) -> str:
        """The Server header; no versions, so that stored headers do not differ between machines."""
        return "nutchpy-testing"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the base class's name)
        """Say nothing: the access log is kept in records."""


def _unchanged(page: Page, request: Request) -> bool:
    """Whether the client's copy is good: If-None-Match decides, else If-Modified-Since (RFC 9110, 13.2.2)."""
    known = request.headers.get("if-none-match")
    if known is not None:
        return page.etag in [tag.strip().removeprefix("W/") for tag in known.split(",")]
    since = request.headers.get("if-modified-since")
    if since is None or page.last_modified is None:
        return False
    try:
        return page.last_modified.replace(microsecond=0) <= parsedate_to_datetime(since)
    except (ValueError, TypeError):
        return False


def _coded(page: Page, request: Request) -> tuple[bytes, str | None]:
    """The body as sent and its content coding."""
    wanted = "gzip" in request.headers.get("accept-encoding", "")
    if not (wanted and page.gzip and page.content_type.startswith("text/") and len(page.body) >= GZIP_FROM_BYTES):
        return page.body, None
    return gzip.compress(page.body, compresslevel=6, mtime=0), "gzip"


def _hang_up(client: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the client did it first
        client.shutdown(socket.SHUT_RDWR)


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128


class SiteServer:
    """A site on one address. ``name`` is the host in its URLs: ``localhost`` and ``127.0.0.1`` are two hosts."""

    def __init__(
        self,
        site: Site,
        *,
        name: str = "127.0.0.1",
        port: int = 0,
        bind: str = "127.0.0.1",
        log: AccessLog | None = None,
    ) -> None:
        self.site = site
        self.name = name
        self.log = log if log is not None else AccessLog()
        self.closing = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._http = _HTTPServer((bind, port), partial(_Handler, self))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), name=f"site-{self.port}")

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._http.server_address[1])

    @property
    def base(self) -> str:
        """The root URL without its slash."""
        return f"http://{self.name}:{self.port}"

    def url(self, target: str = "/") -> str:
        """The URL of a target."""
        return self.base + target

    @contextlib.contextmanager
    def connection(self, client: socket.socket) -> Iterator[None]:
        """Know a connection while it lasts, so that closing the server ends it."""
        with self._lock:
            self._open.add(client)
        if self.closing.is_set():
            _hang_up(client)
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(client)

    def close(self) -> None:
        """Stop listening and hang up on every client."""
        self.closing.set()
        self._http.shutdown()
        with self._lock:
            clients = list(self._open)
        for client in clients:
            _hang_up(client)
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def main(argv: Sequence[str] | None = None) -> int:
    """Serve the demo site until interrupted; its seeds are printed, one a line."""
    from nutchpy.testing.demosite import PORTS, demo_servers

    parser = argparse.ArgumentParser(prog="python -m nutchpy.testing.site_server", description=main.__doc__)
    parser.add_argument("--ports", type=int, nargs=len(PORTS), default=list(PORTS), help="0 for any free one")
    parser.add_argument("--log", type=Path, help="write each request there as a line of JSON")
    options = parser.parse_args(argv)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(options.log.open("a", encoding="utf-8")) if options.log else None
        servers = stack.enter_context(demo_servers(options.ports, AccessLog(file)))
        stack.enter_context(contextlib.suppress(KeyboardInterrupt))
        for server in servers:
            sys.stdout.write(server.url() + "\n")
        sys.stdout.flush()
        signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
