"""``runs.jsonl``: one line per stage run in a crawl folder, append only.

When it has become long it becomes ``runs.jsonl.1``, in place of an earlier one, and a new one begins.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from nutchpy.storage import fs

RUNS_FILE: Final = "runs.jsonl"
RUNS_FILES: Final = ("runs.jsonl.1", RUNS_FILE)
"""Older lines, newer lines."""
_MOST_BYTES: Final = 16 << 20


def append_run(crawl_dir: Path, record: Mapping[str, Any], most_bytes: int = _MOST_BYTES) -> None:
    """Append one record; whole lines even when several processes append at once (one ``write`` on O_APPEND)."""
    line = json.dumps(dict(record), ensure_ascii=False, default=str, sort_keys=True) + "\n"
    with _opened(crawl_dir / RUNS_FILE, most_bytes) as fd:
        os.write(fd, (_end_of_cut_line(fd) + line).encode())
        os.fsync(fd)


@contextmanager
def _opened(path: Path, most_bytes: int) -> Iterator[int]:
    """The file to append to, locked: a new one when it has grown too long, or another process has just begun one."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            here = os.fstat(fd)
            if path.exists() and os.path.samestat(here, path.stat()):
                if here.st_size < most_bytes:
                    yield fd
                    return
                fs.rename(path, path.with_name(RUNS_FILES[0]))
        finally:
            os.close(fd)


def _end_of_cut_line(fd: int) -> str:
    """The line end that a writer killed in the middle did not write: without it his line would spoil the next."""
    size = os.fstat(fd).st_size
    return "\n" if size and os.pread(fd, 1, size - 1) != b"\n" else ""


def read_runs(crawl_dir: Path) -> Iterator[dict[str, Any]]:
    """Every record that is whole, oldest first; a line cut by a crash is passed over."""
    for path in (crawl_dir / name for name in RUNS_FILES):
        if path.exists():
            with path.open(encoding="utf-8", errors="replace") as lines:
                yield from _whole(lines)


def _whole(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            continue


def last_run(crawl_dir: Path, tail: int = 1 << 16) -> dict[str, Any] | None:
    """The newest whole record, of a file's last ``tail`` bytes; None when there is none."""
    return next(filter(None, (_last(crawl_dir / name, tail) for name in reversed(RUNS_FILES))), None)


def _last(path: Path, tail: int) -> dict[str, Any] | None:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - tail))
            lines = file.read().splitlines()
    except FileNotFoundError:
        return None
    for line in reversed(lines):
        try:
            record: dict[str, Any] = json.loads(line)
        except ValueError:
            continue
        return record
    return None
