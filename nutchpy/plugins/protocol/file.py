"""The file transport: ``file:`` URLs under one folder, read by a thread of its own. For a crawl of files you have.

A folder is a page of links. Nothing outside of ``file.root`` is read, whichever way links and dots lead there.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from queue import SimpleQueue
from selectors import BaseSelector, SelectorKey
from typing import Final, Self
from urllib.parse import unquote_to_bytes

from nutchpy.conf.layers import Conf
from nutchpy.core import urls
from nutchpy.core.content import Headers, ProtocolOutput, header
from nutchpy.core.errors import ConfigError
from nutchpy.core.http_date import http_date
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.extension.points import Request
from nutchpy.plugins.protocol import listing

_OK: Final = 200


class FileTransport:
    """Transport over the file system."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._wake: Callable[[], None] = _nobody
        self._requests: SimpleQueue[tuple[int, Request] | None] = SimpleQueue()
        self._finished: SimpleQueue[tuple[int, ProtocolOutput]] = SimpleQueue()
        self._open: dict[int, Request] = {}
        self._done: list[tuple[int, ProtocolOutput]] = []
        self._thread: threading.Thread | None = None

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """Build it; there is no reading files without saying which."""
        root = conf.text("file.root")
        if not root or not Path(root).is_dir():
            raise ConfigError(f"protocol.file is set, and file.root ({root!r}) is no folder: what may be read?")
        return cls(Path(root))

    def attach(self, selector: BaseSelector, wake: Callable[[], None]) -> None:
        """Take the call that wakes the loop."""
        self._wake = wake

    def start(self, token: int, request: Request) -> None:
        """Hand a request to the thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="file", daemon=True)
            self._thread.start()
        self._open[token] = request
        self._requests.put((token, request))

    def step(self, ready: Sequence[tuple[SelectorKey, int]]) -> list[tuple[int, ProtocolOutput]]:
        """What has been read."""
        done, self._done = self._done, []
        while not self._finished.empty():
            token, output = self._finished.get()
            if self._open.pop(token, None) is not None:
                done.append((token, output))
        return done

    def deadline(self) -> float | None:
        """Now, when something is finished already."""
        return time.monotonic() if self._done else None

    def cancel(self, token: int, reason: str) -> None:
        """Wait for it no longer."""
        request = self._open.pop(token, None)
        if request is not None:
            self._done.append((token, ProtocolOutput(request.url, ProtocolStatus.RETRY, message=reason)))

    def close(self) -> None:
        """Let the thread end after what it is at."""
        self._open.clear()
        self._requests.put(None)

    def _work(self) -> None:
        while (job := self._requests.get()) is not None:
            token, request = job
            if token in self._open:
                self._finished.put((token, self._answer(request)))
                self._wake()

    def _answer(self, request: Request) -> ProtocolOutput:
        begun = time.monotonic()
        try:
            output = self._read(request)
        except PermissionError:
            output = _refused(request, "may not be read")
        except (FileNotFoundError, NotADirectoryError):
            output = ProtocolOutput(request.url, ProtocolStatus.NOTFOUND, 404, "no such file")
        except (OSError, ValueError) as error:
            output = ProtocolOutput(request.url, ProtocolStatus.EXCEPTION, message=str(error))
        elapsed = round((time.monotonic() - begun) * 1000)
        return _with_elapsed(output, elapsed)

    def _read(self, request: Request) -> ProtocolOutput:
        path = _path_of(request.url)
        if path is None:
            return ProtocolOutput(request.url, ProtocolStatus.PROTO_NOT_FOUND, message="not a file of this machine")
        real = Path(os.fsdecode(os.path.realpath(path, strict=True)))
        if not real.is_relative_to(self._root):
            return _refused(request, "is not under file.root")
        status = real.stat()
        if stat.S_ISDIR(status.st_mode):
            return _folder(request, real, status)
        if not stat.S_ISREG(status.st_mode):
            return _refused(request, "is no regular file")
        return _file(request, real, status)


def _file(request: Request, path: Path, status: os.stat_result) -> ProtocolOutput:
    if not _changed(request.headers, status):
        return ProtocolOutput(request.url, ProtocolStatus.NOTMODIFIED, 304)
    limit = request.content_limit
    with path.open("rb") as file:
        body = file.read() if limit < 0 else file.read(limit)
    cut = 0 <= limit < status.st_size
    return _page(request, body, [("Content-Length", str(status.st_size)), _modified(status)], "length" if cut else None)


def _folder(request: Request, path: Path, status: os.stat_result) -> ProtocolOutput:
    if not request.url.endswith("/"):
        return ProtocolOutput(request.url, ProtocolStatus.MOVED, 301, headers=[("Location", f"{request.url}/")])
    with os.scandir(path) as entries:
        named = sorted((entry.name, entry.is_dir()) for entry in entries if not entry.name.startswith("."))
    body = listing.page(request.url, named)
    return _page(request, body, [("Content-Type", listing.LISTING_TYPE), _modified(status)])


def _page(request: Request, body: bytes, headers: Headers, truncated: str | None = None) -> ProtocolOutput:
    return ProtocolOutput(request.url, ProtocolStatus.SUCCESS, _OK, "", headers, body, truncated, wire_bytes=len(body))


def _refused(request: Request, why: str) -> ProtocolOutput:
    return ProtocolOutput(request.url, ProtocolStatus.ACCESS_DENIED, 401, f"the file {why}")


def _path_of(url: str) -> bytes | None:
    """The path a URL names on this machine."""
    parsed = urls.parse(url)
    if parsed is None or parsed.protocol != "file:" or parsed.hostname not in ("", "localhost"):
        return None
    path = unquote_to_bytes(str(parsed.pathname))
    return None if b"\0" in path else path


def _changed(headers: Headers, status: os.stat_result) -> bool:
    since = header(headers, "if-modified-since")
    seconds = http_date(since) if since is not None else None
    return seconds is None or int(status.st_mtime) > seconds


def _modified(status: os.stat_result) -> tuple[str, str]:
    return "Last-Modified", formatdate(int(status.st_mtime), usegmt=True)


def _with_elapsed(output: ProtocolOutput, elapsed: int) -> ProtocolOutput:
    return replace(output, elapsed_ms=elapsed)


def _nobody() -> None:
    """Nobody to wake, before a loop has come."""
