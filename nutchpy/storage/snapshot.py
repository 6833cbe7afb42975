"""What a copy of a crawl consists of, at one instant, while stages may be at work on it.

The segments there are, and what each database says of itself, are read again until nothing has changed in between; so
every part that a database has taken in is in the copy. In a segment the commit records are listed before the parts that
they commit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nutchpy.core.errors import StorageError
from nutchpy.storage.database import Database, Generation
from nutchpy.storage.parts import PartName, covered
from nutchpy.storage.runs import RUNS_FILES
from nutchpy.storage.segment import IN_USE, Segment, segments_in

_COMMITS: Final = {
    "crawl_fetch": ("content",),
    "crawl_parse": ("parse_data", "parse_text"),
    "crawl_generate": (),
    "attempts": (),
}
"""Table whose parts commit → tables of which a part counts when it has one of its own name there."""
_ATTEMPTS: Final = 100


@dataclass(frozen=True)
class Entry:
    """One thing to copy, under a path relative to the crawl: a file, some bytes, or a link."""

    name: str
    source: Path | None = None
    data: bytes | None = None
    link: str | None = None


@dataclass(frozen=True)
class State:
    """One instant of a crawl."""

    segments: Sequence[Segment]
    databases: Sequence[tuple[Path, Generation, bytes]]
    """Folder, generation, and what its ``_meta.json`` says."""


def state_of(crawl: Path, held: ExitStack) -> State:
    """The present state; ``held`` keeps its generations. The caller keeps the segments' files."""
    for _ in range(_ATTEMPTS):
        before = segments_in(crawl / "segments")
        with ExitStack() as attempt:
            databases = [(folder, *_generation(folder, attempt)) for folder in _databases(crawl)]
            if [one.path for one in segments_in(crawl / "segments")] == [one.path for one in before]:
                held.push(attempt.pop_all())
                return State(before, databases)
    raise StorageError(f"{crawl} changes too fast to be copied; try again")


def database_entries(folder: Path, generation: Generation, meta: bytes) -> Iterator[Entry]:
    """A database's generation and the link to it."""
    inside = f"{folder.name}/generations/{generation.path.name}"
    for path in generation.parts:
        yield Entry(f"{inside}/{path.name}", path)
    yield Entry(f"{inside}/_meta.json", data=meta)
    yield Entry(f"{inside}/.in-use", data=b"")
    yield Entry(f"{folder.name}/current", link=f"generations/{generation.path.name}")


def segment_entries(segment: Segment) -> Iterator[Entry]:
    """A segment as it is now: what is committed, and what its ``_meta.json`` said before that was looked at."""
    inside = f"segments/{segment.name}"
    meta = (segment.path / "_meta.json").read_bytes()
    committed = {name: segment.parts(name) for name in _COMMITS}
    for commit, tables in _COMMITS.items():
        names = [name for name, _ in committed[commit]]
        for table in tables:
            yield from _entries(inside, table, [(n, p) for n, p in segment.parts(table) if covered(n, names)])
        yield from _entries(inside, commit, committed[commit])
    yield Entry(f"{inside}/_meta.json", data=meta)


def other_entries(crawl: Path) -> Iterator[Entry]:
    """What readers of the segments hold, settings, and the record of runs."""
    if (crawl / "segments").is_dir():
        yield Entry(f"segments/{IN_USE}", data=b"")
    for name in RUNS_FILES:
        if (crawl / name).exists():
            yield Entry(name, data=(crawl / name).read_bytes())
    conf = crawl / "conf"
    for path in sorted(conf.rglob("*")) if conf.is_dir() else ():
        if path.is_file():
            yield Entry(str(path.relative_to(crawl)), data=path.read_bytes())


# -- private, in calling order


def _databases(crawl: Path) -> Sequence[Path]:
    return sorted(path for path in crawl.iterdir() if os.path.lexists(path / "current"))


def _generation(folder: Path, held: ExitStack) -> tuple[Generation, bytes]:
    generation = held.enter_context(Database.at(folder).reading())
    return generation, (generation.path / "_meta.json").read_bytes()


def _entries(inside: str, table: str, parts: Sequence[tuple[PartName, Path]]) -> Iterator[Entry]:
    for _, path in parts:
        yield Entry(f"{inside}/{table}/{path.name}", path)
