"""snapshot: copy a crawl as it is at one instant, while stages may be at work on it.

Into a new folder, hard links where the file system has them (parts never change, so a snapshot beside the crawl costs
next to nothing), or with - as a tar stream on stdout. The copy is a crawl: go on with it, query it, keep it. What a
stage had not published when the snapshot was taken is not in it, and the stage can be run again there.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final

from nutchpy.core.counters import Counters
from nutchpy.core.errors import UsageError
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument
from nutchpy.stages.sql.crawl import require_crawl
from nutchpy.storage import fs
from nutchpy.storage.segment import Segment, segments_reading
from nutchpy.storage.snapshot import Entry, database_entries, other_entries, segment_entries, state_of

EXAMPLE: Final = """nutchpy snapshot crawl /backup/crawl-monday
nutchpy snapshot crawl - | zstd > crawl.tar.zst"""

_ATTEMPTS: Final = 5


@dataclass(frozen=True)
class SnapshotOptions(Options):
    """See the module."""

    crawl: Path = argument("The crawl folder.")
    dest: Path = argument("The folder to make, or - for a tar stream on stdout.", metavar="DEST")

    def crawl_dir(self) -> Path:
        """As it is named."""
        return self.crawl


def run(options: SnapshotOptions, ctx: Context) -> Outcome:
    """Hold every generation and every segment's files, then copy."""
    crawl = require_crawl(options.crawl)
    if str(options.dest) == "-":
        return _streamed(crawl, ctx)
    if options.dest.exists():
        raise UsageError(f"{options.dest} is already there; name another folder, or remove it")
    aside = options.dest.with_name(f"_{options.dest.name}.tmp")
    fs.remove(aside)  # of a snapshot that was killed
    try:
        with _copying(crawl) as entries, fs.room_in(options.dest.parent):
            counters = _copied(entries, aside, ctx)
        fs.rename(aside, options.dest)
    except BaseException:
        fs.remove(aside)
        raise
    return Outcome(counters, summary=[f"{options.dest}: {counters['parts']} files, {counters['bytes']} bytes"])


def _streamed(crawl: Path, ctx: Context) -> Outcome:
    counters = Counters()
    with _copying(crawl) as entries, tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:
        for entry, file in entries:
            info = tarfile.TarInfo(entry.name)
            info.mtime, info.mode = int(ctx.now.timestamp()), 0o644
            if entry.link is not None:
                info.type, info.linkname = tarfile.SYMTYPE, entry.link
            elif file is not None:
                info.size = os.fstat(file.fileno()).st_size
            else:
                info.size = len(entry.data or b"")
            tar.addfile(info, file or io.BytesIO(entry.data or b""))
            _count(counters, ctx, info.size)
    sys.stdout.buffer.flush()
    summary = [f"{counters['parts']} files, {counters['bytes']} bytes"]
    return Outcome(counters, lines=[], data=iter(()), summary=summary)


def _copied(entries: Iterator[tuple[Entry, BinaryIO | None]], aside: Path, ctx: Context) -> Counters:
    counters = Counters()
    folders: set[Path] = set()
    for entry, file in entries:
        target = aside / entry.name
        if target.parent not in folders:
            fs.make_folder(target.parent)
            folders.add(target.parent)
        if entry.link is not None:
            target.symlink_to(entry.link)
        elif file is not None and entry.source is not None:
            _take_over(entry.source, file, target)
        else:
            target.write_bytes(entry.data or b"")
            fs.fsync_file(target)
        _count(counters, ctx, target.lstat().st_size)
    for folder in folders:
        fs.fsync_folder(folder)
    return counters


def _take_over(source: Path, file: BinaryIO, target: Path) -> None:
    """A second name for the file that was opened, or a copy: another may have taken its name meanwhile."""
    try:
        os.link(source, target)
        if os.path.samestat(target.stat(), os.fstat(file.fileno())):
            return
        target.unlink()
    except OSError:
        target.unlink(missing_ok=True)
    with target.open("wb") as out:
        shutil.copyfileobj(file, out, 1 << 20)
    fs.fsync_file(target)


def _count(counters: Counters, ctx: Context, size: int) -> None:
    counters.add("parts")
    counters.add("bytes", size)
    ctx.progress.update(counters["parts"])


@contextmanager
def _copying(crawl: Path) -> Iterator[Iterator[tuple[Entry, BinaryIO | None]]]:
    """Everything to copy, files opened; nobody deletes a segment or a generation meanwhile."""
    with ExitStack() as held:
        held.enter_context(segments_reading(crawl / "segments"))
        state = state_of(crawl, held)
        entries = chain.from_iterable(database_entries(*database) for database in state.databases)
        segments = chain.from_iterable(_of_segment(segment) for segment in state.segments)
        yield chain(_opened(entries, set()), segments, _opened(other_entries(crawl), set()))


def _of_segment(segment: Segment) -> Iterator[tuple[Entry, BinaryIO | None]]:
    """A segment's entries. A fetch may merge parts meanwhile; then what came in their place is copied too."""
    done: set[str] = set()
    for attempts_left in reversed(range(_ATTEMPTS)):
        try:
            yield from _opened(segment_entries(segment), done)
            return
        except FileNotFoundError:
            if attempts_left == 0:
                raise


def _opened(entries: Iterable[Entry], done: set[str]) -> Iterator[tuple[Entry, BinaryIO | None]]:
    for entry in entries:
        if entry.name in done:
            continue
        if entry.source is None:
            yield entry, None
        else:
            with entry.source.open("rb") as file:
                yield entry, file
        done.add(entry.name)
