"""Segments on disk: one fetch round each, from its fetch lists to its parse tables.

    segments/<yyyyMMddHHmmss>/<table>/part-<list>-<flush>.parquet   _meta.json   .lists/<list>.lock

A segment appears under its name only when its crawl_generate is whole. Every reader takes partial segments: a table
not yet made has no parts.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from nutchpy.core.errors import MissingError
from nutchpy.storage import fs, lock
from nutchpy.storage.manifest import described, mapping
from nutchpy.storage.parts import PartName, segment_parts
from nutchpy.storage.schema import SEGMENT_TABLES

_NAME: Final = re.compile(r"\d{14}")
_NAME_FORMAT: Final = "%Y%m%d%H%M%S"
IN_USE: Final = ".in-use"


@dataclass(frozen=True)
class SegmentMeta:
    """What a segment's ``_meta.json`` says."""

    uuid: str
    name: str
    lists: int
    crawldb: str | None
    """UUID of the crawldb that generated it; None for a free list of URLs."""
    created: str
    stages: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Stage name → ``state`` (``running``, ``interrupted``, ``done``), counters, options, version, start, end."""
    replaces: Sequence[str] = ()
    """UUIDs of the segments that this one stands for: they are dead from the moment it appears."""

    def state(self, stage: str) -> str | None:
        """How far a stage got; None when it never started."""
        return self.stages.get(stage, {}).get("state")


class Segment:
    """One segment folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        """The folder's name, its time of birth."""
        return self.path.name

    @property
    def meta(self) -> SegmentMeta:
        """The metadata as it is on disk now; MissingError when this is no segment, DamagedError for other contents."""
        path = self.path / "_meta.json"
        if not path.exists():
            raise MissingError(f"{self.path} is not a segment (it has no _meta.json){self._hint()}")
        return described(mapping(path, "a segment"), SegmentMeta, path, "a segment")

    def parts(self, table: str) -> list[tuple[PartName, Path]]:
        """The live parts of one of its tables, in order; none when the table is not there yet."""
        return segment_parts(self.path / table)

    def files(self, table: str) -> list[Path]:
        """The files of ``parts``."""
        return [path for _, path in self.parts(table)]

    def list_part(self, number: int) -> Path:
        """The fetch list's own file."""
        return self.path / "crawl_generate" / str(PartName(number, 0, 0))

    @contextmanager
    def locked_list(self, number: int, wait: float = 0.0) -> Iterator[None]:
        """Be the only one to fetch or parse a fetch list of this segment."""
        with lock.exclusive(self.path / ".lists" / f"{number}.lock", f"list {number} of {self.path}", wait):
            yield

    def record(self, stage: str, **facts: Any) -> None:
        """Lay facts about a stage over what ``_meta.json`` says of it (the caller holds the stage's lock)."""
        with lock.exclusive(self.path / ".meta.lock", str(self.path), wait=10):
            for left in self.path.glob("__meta.json.*.tmp"):  # of one who was killed at this
                fs.remove(left)
            meta = self.meta
            stages = {**meta.stages, stage: {**meta.stages.get(stage, {}), **facts}}
            fs.write_json(self.path / "_meta.json", asdict(replace(meta, stages=stages)))

    def _hint(self) -> str:
        if not self.path.exists():
            return ": the folder does not exist"
        inner = [p for p in self.path.iterdir() if _NAME.fullmatch(p.name)]
        return f"; it holds segments: use -dir {self.path}" if inner else ""


def all_segments(folder: Path) -> list[Segment]:
    """The segments under a folder, oldest first, those included that a newer one stands for."""
    if not folder.is_dir():
        return []
    found = (Segment(path) for path in sorted(folder.iterdir()) if _NAME.fullmatch(path.name[:14]))
    return [segment for segment in found if (segment.path / "_meta.json").exists()]


def segments_in(folder: Path) -> list[Segment]:
    """The segments under a folder, oldest first."""
    metas = [(segment, segment.meta) for segment in all_segments(folder)]
    dead = {uuid for _, meta in metas for uuid in meta.replaces}
    return [segment for segment, meta in metas if meta.uuid not in dead]


@contextmanager
def segments_reading(folder: Path) -> Iterator[None]:
    """Keep the files of all segments where they are while the block runs (nothing to do where none ever were)."""
    with lock.shared(folder / IN_USE):
        yield


@contextmanager
def segments_unread(folder: Path) -> Iterator[bool]:
    """Keep readers out for a block; says whether that could be had at once."""
    with lock.if_free(folder / IN_USE) as free:
        yield free


def next_name(folder: Path, now: datetime, after: str = "") -> str:
    """A UTC segment name for ``now``, greater than every name in ``folder`` and than ``after`` (clocks step back)."""
    taken = [segment.name[:14] for segment in all_segments(folder)]
    newest = max([*taken, after], default="")
    name = now.astimezone(UTC).strftime(_NAME_FORMAT)
    if name > newest:
        return name
    last = datetime.strptime(newest, _NAME_FORMAT).replace(tzinfo=UTC)
    return (last + timedelta(seconds=1)).strftime(_NAME_FORMAT)


@contextmanager
def segments_lock(folder: Path, wait: float = 0.0) -> Iterator[None]:
    """Held by generate from scan to publish."""
    fs.require_writable(folder)
    with lock.exclusive(folder / ".lock", str(folder), wait):
        (folder / IN_USE).touch()
        yield


@contextmanager
def creating(folder: Path, name: str, crawldb: str | None, now: datetime) -> Iterator[SegmentDraft]:
    """Build a segment aside in a block (holding ``segments_lock``); it appears when the block ends well."""
    aside = fs.make_folder(folder) / f"_{name}.tmp"
    fs.remove(aside)
    fs.make_folder(aside / "crawl_generate")
    draft = SegmentDraft(aside, folder / name)
    try:
        yield draft
        meta = SegmentMeta(draft.uuid, name, draft.lists, crawldb, now.isoformat(), draft.stages, draft.replaces)
        fs.write_json(aside / "_meta.json", asdict(meta))
        fs.fsync_folder(aside)
        fs.rename(aside, draft.final)
    except BaseException:
        fs.remove(aside)
        raise


@dataclass
class SegmentDraft:
    """A segment being generated: write one part per list into ``part_path``, set ``lists`` (and ``stages``)."""

    aside: Path
    final: Path
    lists: int = 1
    stages: dict[str, dict[str, Any]] = field(default_factory=dict)
    uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    replaces: Sequence[str] = ()

    def part_path(self, number: int) -> Path:
        """Where fetch list ``number`` goes."""
        return self.aside / "crawl_generate" / str(PartName(number, 0, 0))


def sweep(segment: Segment, number: int) -> None:
    """Remove what a killed fetch or parse of a list left: files aside, orphans, replaced parts (its lock is held)."""
    for table in SEGMENT_TABLES:
        folder = segment.path / table
        if folder.is_dir():
            _sweep_table(folder, number)


def _sweep_table(folder: Path, number: int) -> None:
    live = {name for name, _ in segment_parts(folder)}
    for path in folder.iterdir():
        name = PartName.parse(path.name.lstrip("_").split(".parquet")[0] + ".parquet")
        if name is None or name.list != number:
            continue
        if path.name.startswith("_") or name not in live:
            fs.remove(path)
