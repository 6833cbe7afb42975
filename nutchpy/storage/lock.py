"""Locks that die with their owner: ``flock`` on a file that also says who holds it.

A lock is held by an open file that children must not inherit (Python's are close-on-exec, workers start by ``spawn``).
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TextIO

from nutchpy.core.errors import LockedError
from nutchpy.storage import fs

_POLL_SECONDS: Final = 0.2


@contextmanager
def exclusive(path: Path, what: str, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock file ``path`` for a ``with`` block; LockedError (naming the holder) after ``wait`` seconds."""
    fs.make_folder(path.parent)
    with path.open("a+", encoding="utf-8") as file:
        _acquire(file, path, what, wait)
        _sign(file)
        try:
            yield
        finally:
            file.truncate(0)


@contextmanager
def shared(path: Path) -> Iterator[None]:
    """Hold ``path`` shared (readers beside readers); a missing or read-only file needs no lock and gets none."""
    try:
        file = path.open("r", encoding="utf-8")
    except OSError:
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


@contextmanager
def if_free(path: Path) -> Iterator[bool]:
    """Hold ``path`` exclusively when nobody holds it now; says whether that was so."""
    try:
        file = path.open("r", encoding="utf-8")
    except FileNotFoundError:
        yield True
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def holder(path: Path) -> str:
    """Who wrote himself into the lock file, for messages."""
    try:
        who = json.loads(path.read_text(encoding="utf-8"))
        return f"pid {who['pid']} on {who['host']} since {who['since']} ({who['command']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _acquire(file: TextIO, path: Path, what: str, wait: float) -> None:
    give_up = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= give_up:
                raise LockedError(
                    f"{what} is locked by {holder(path)}; try again when it has ended, or wait with --wait-lock SECONDS"
                ) from None
        time.sleep(_POLL_SECONDS)


def _sign(file: TextIO) -> None:
    """Say who holds it; a disk that has no room for that does not keep anyone from holding it."""
    who = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(sys.argv)[:500],
    }
    with suppress(OSError):
        file.truncate(0)
        os.write(file.fileno(), json.dumps(who, ensure_ascii=False).encode())
