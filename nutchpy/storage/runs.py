"""``runs.jsonl``: one line per stage run in a crawl folder, append only."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

RUNS_FILE = "runs.jsonl"


def append_run(crawl_dir: Path, record: Mapping[str, Any]) -> None:
    """Append one record; whole lines even when several processes append at once (one ``write`` on O_APPEND)."""
    line = json.dumps(dict(record), ensure_ascii=False, default=str, sort_keys=True) + "\n"
    fd = os.open(crawl_dir / RUNS_FILE, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(fd, (_end_of_cut_line(fd) + line).encode())
        os.fsync(fd)
    finally:
        os.close(fd)


def _end_of_cut_line(fd: int) -> str:
    """The line end that a writer killed in the middle did not write: without it his line would spoil the next."""
    size = os.fstat(fd).st_size
    return "\n" if size and os.pread(fd, 1, size - 1) != b"\n" else ""


def read_runs(crawl_dir: Path) -> Iterator[dict[str, Any]]:
    """Every record that is whole, oldest first; a line cut by a crash is passed over."""
    path = crawl_dir / RUNS_FILE
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                continue


def last_run(crawl_dir: Path, tail: int = 1 << 16) -> dict[str, Any] | None:
    """The newest whole record, of the file's last ``tail`` bytes; None when there is none."""
    try:
        with (crawl_dir / RUNS_FILE).open("rb") as file:
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
