"""Databases on disk: crawldb, linkdb and their like as whole generations, swapped atomically.

    crawldb/  current -> generations/<id>   old -> generations/<id>   .lock
              generations/<id>/part-<bucket>.parquet (or part-<bucket>-<slice>.parquet), _meta.json

``current`` alone is authoritative. A writer builds the next generation aside and publishes it; a reader resolves
``current`` once and holds that generation's ``.in-use`` shared, so that no clean-up takes it away under him.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from nutchpy.core.errors import DamagedError, MissingError, UsageError
from nutchpy.core.urls import bucket_key, bucket_of
from nutchpy.storage import fs, lock
from nutchpy.storage.manifest import described, mapping
from nutchpy.storage.parts import PartName, bucket_number, bucket_part, check_part, covered, database_parts, joined
from nutchpy.storage.schema import SCHEMA_VERSION, TABLES, Table

_log = logging.getLogger(__name__)

BUCKET_COUNTS: Final = (1, 16, 64)
_ASIDE: Final = "_was-current"
_OLD_ASIDE: Final = "_was-old"

Applied = Mapping[str, Mapping[str, list[str]]]
"""Segment UUID → table → names of the parts consumed."""


@dataclass(frozen=True)
class DatabaseMeta:
    """What ``_meta.json`` of a generation says."""

    table: str
    uuid: str
    """Of the database, the same in all its generations."""
    buckets: int = 1
    rows: int = 0
    applied: Applied = field(default_factory=dict)
    made_by: str = ""
    made_at: str = ""
    schema_version: int = SCHEMA_VERSION
    sums: Mapping[str, str] = field(default_factory=dict)
    """Part name → SHA-256 of the file, in hex: Parquet as written here has no checksums of its own."""

    def has_applied(self, segment: str, table: str, part: PartName) -> bool:
        """Whether a segment's part was consumed, under this name or before it was merged."""
        names = self.applied.get(segment, {}).get(table, [])
        return covered(part, [name for name in map(PartName.parse, names) if name])

    def with_applied(self, segment: str, table: str, names: list[str]) -> DatabaseMeta:
        """With more parts recorded as consumed; neighbouring flushes as one range."""
        tables = dict(self.applied.get(segment, {}))
        parts = [name for name in map(PartName.parse, [*tables.get(table, []), *names]) if name]
        tables[table] = [str(part) for part in joined(parts)]
        return replace(self, applied={**self.applied, segment: tables})


@dataclass(frozen=True)
class Generation:
    """One whole, unchanging state of a database."""

    path: Path
    meta: DatabaseMeta

    @property
    def parts(self) -> list[Path]:
        """The bucket files, in bucket order."""
        return database_parts(self.path)

    def bucket(self, number: int) -> list[Path]:
        """The files of one bucket: one, none when it is empty, several when it was written in slices."""
        return [part for part in self.parts if bucket_number(part) == number]

    def of_host(self, host: str) -> list[Path]:
        """The files that hold whatever there is of a host."""
        return self.bucket(bucket_of(bucket_key(host), self.meta.buckets))

    def check(self) -> int:
        """Row count of all parts; DamagedError naming the first that cannot be read."""
        table = TABLES[self.meta.table]
        return sum(check_part(part, table) for part in self.parts)

    @property
    def lost(self) -> list[Path]:
        """Parts that were written and are not there any more."""
        return [self.path / name for name in sorted(self.meta.sums.keys() - {part.name for part in self.parts})]

    def as_written(self, part: Path) -> bool:
        """Whether a part is, byte for byte, what was written; True of one from before checksums were kept."""
        return self.meta.sums.get(part.name) in (None, fs.sha256(part))

    def verify(self, parts: Iterable[Path] | None = None) -> None:
        """DamagedError naming the first part, of these or of all, that is not what was written, or one that is gone."""
        if self.lost:
            raise DamagedError(f"{self.lost[0]} is not there any more")
        stray = next((part for part in self.parts if (bucket_number(part) or 0) >= self.meta.buckets), None)
        if stray is not None:  # a writer would leave its rows out
            raise DamagedError(f"{stray} belongs to none of the {self.meta.buckets} buckets that _meta.json speaks of")
        for part in self.parts if parts is None else parts:
            if not self.as_written(part):
                raise DamagedError(f"{part} is not what was written: its checksum differs from that in _meta.json")


@dataclass
class Draft:
    """A generation being built: put parts into ``path``, set ``meta``, and the end of the block publishes it whole."""

    path: Path
    table: Table
    meta: DatabaseMeta
    base: Path | None = None
    """The folder of the present generation, whose parts may be kept."""
    abandoned: bool = False
    """Set when nothing changes after all: the draft goes, and the present generation stays as it is."""
    kept: dict[str, str] = field(default_factory=dict)
    """Checksums of the parts taken over."""

    def part_path(self, bucket: int, number: int | None = None) -> Path:
        """Where the file of a bucket, or of one of its slices, goes."""
        return self.path / bucket_part(bucket, number)

    def keep(self, part: Path) -> None:
        """Take over an unchanged bucket of the present generation; DamagedError when it cannot be read."""
        check_part(part, self.table)
        fs.hard_link(part, self.path / part.name)
        if part.parent == self.base and part.name in self.meta.sums:
            self.kept[part.name] = self.meta.sums[part.name]


class Database:
    """A database folder: its present generation, its writer lock, its replacement."""

    def __init__(self, path: Path, table: str) -> None:
        self.path = path
        self.table = TABLES[table]

    @property
    def exists(self) -> bool:
        """Whether there is a present generation."""
        return os.path.lexists(self._link)

    def current(self) -> Generation:
        """The present generation; MissingError when there is none."""
        folder = self._folder()
        return Generation(folder, self._read_meta(folder))

    def current_or_none(self) -> Generation | None:
        """The present generation, or None for a database not yet made."""
        return self.current() if self.exists else None

    @classmethod
    def at(cls, path: Path) -> Database:
        """The database in a folder, whichever table it holds; MissingError when there is none."""
        meta = cls(path, "crawldb")._folder() / "_meta.json"
        table = mapping(meta, "a generation").get("table") if meta.exists() else None
        if not isinstance(table, str) or table not in TABLES:
            raise DamagedError(f"{meta} does not describe a database of a table that is known")
        return cls(path, table)

    @contextmanager
    def reading(self) -> Iterator[Generation]:
        """The present generation, kept from clean-up while the block runs."""
        while True:
            folder = self._folder()
            with lock.shared(folder / ".in-use"):
                if folder.exists():  # else it was replaced and removed before we held it
                    yield Generation(folder, self._read_meta(folder))
                    return

    @contextmanager
    def locked(self, wait: float = 0.0) -> Iterator[None]:
        """Be the only writer for a block; LockedError naming the holder otherwise.

        A database that has lost its ``current`` (copied without its links) gets it back first.
        """
        if not self.exists and (self.path / "crawldb").exists():
            raise MissingError(f"{self.path} is a crawl folder; did you mean {self.path / self.table.name}?")
        fs.require_writable(self.path)
        with lock.exclusive(self.path / ".lock", str(self.path), wait):
            self._repair()
            yield

    @contextmanager
    def replacing(self, made_by: str, now: datetime, grace: float, keep_old: bool = True) -> Iterator[Draft]:
        """Build the next generation in a block (holding ``locked``); published when it ends well, gone when it raises.

        Nothing is built on a present generation that is not what was written: DamagedError. The draft's ``meta``
        starts as the present one's. ``grace``: seconds that a generation no longer current or old is kept, for readers
        that hold no lock.
        """
        self._repair()
        base = self.current_or_none()
        meta = base.meta if base else DatabaseMeta(self.table.name, str(uuid.uuid4()))
        if base is not None:
            base.verify()
        self._sweep()
        meta = replace(meta, made_by=made_by, made_at=now.isoformat())
        draft = Draft(self._new_folder(now), self.table, meta, base.path if base else None)
        try:
            with fs.room_in(draft.path):
                yield draft
                if not draft.abandoned:
                    self._publish(draft, keep_old, now)
        except BaseException:
            fs.remove(draft.path)
            raise
        if draft.abandoned:
            fs.remove(draft.path)
        else:
            self._forget(now, grace)

    def amend(self, change: Callable[[DatabaseMeta], DatabaseMeta]) -> None:
        """Say something else of the present generation, whose rows stay (holding ``locked``)."""
        self._repair()
        present = self.current()
        meta = change(present.meta)
        if meta != present.meta:
            fs.write_json(present.path / "_meta.json", asdict(meta))

    # -- private, in calling order

    @property
    def _link(self) -> Path:
        """``current``, or what it was when a writer died in the one moment at which it is not there."""
        current, aside = self.path / "current", self.path / _ASIDE
        return aside if not os.path.lexists(current) and aside.exists() else current

    def _folder(self) -> Path:
        link = self._link
        if link.exists():
            return link.resolve()
        if link.is_symlink():
            raise DamagedError(f"{link} points to {link.readlink()}, which is not there{self._way_out()}")
        raise MissingError(f"there is no {self.table.name} in {self.path}{self._hint()}")

    def _hint(self) -> str:
        if not self.path.exists():
            return " (the folder does not exist)"
        if (newest := self._newest()) is not None:
            return (
                f": its link current is lost; the next command that writes it makes generations/{newest.name} current"
            )
        return "; is it the crawl folder instead of the database?" if (self.path / "crawldb").exists() else ""

    def _way_out(self) -> str:
        newest = self._newest()
        if newest is None:
            return ""
        return f": remove it, and the next command that writes makes generations/{newest.name} current"

    def _read_meta(self, folder: Path) -> DatabaseMeta:
        path = folder / "_meta.json"
        if not path.exists():
            raise DamagedError(f"{folder} has no _meta.json; it is not a generation of a {self.table.name}")
        found = mapping(path, "a generation")
        version = found.get("schema_version", 0)
        if isinstance(version, int) and version > SCHEMA_VERSION:
            raise DamagedError(f"{path} has schema version {version}, newer than this nutchpy")
        meta = described(found, DatabaseMeta, path, "a generation")
        if meta.table not in TABLES or meta.buckets not in BUCKET_COUNTS:
            raise DamagedError(f"{path} does not describe a generation: {meta.table} in {meta.buckets} buckets")
        if meta.table != self.table.name:
            raise UsageError(f"{self.path} is a {meta.table}, not a {self.table.name}")
        return meta

    def _new_folder(self, now: datetime) -> Path:
        generations = fs.make_folder(self.path / "generations")
        folder = generations / f"_{now:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}"
        folder.mkdir()
        return folder

    def _publish(self, draft: Draft, keep_old: bool, now: datetime) -> None:
        rows, sums = 0, {}
        for part in database_parts(draft.path):
            rows += check_part(part, draft.table)
            fs.fsync_file(part)
            sums[part.name] = draft.kept.get(part.name) or fs.sha256(part)
        draft.meta = replace(draft.meta, rows=rows, schema_version=SCHEMA_VERSION, sums=sums)
        (draft.path / ".in-use").touch()
        fs.write_json(draft.path / "_meta.json", asdict(draft.meta))
        fs.fsync_folder(draft.path)
        final = draft.path.with_name(draft.path.name.lstrip("_"))
        fs.rename(draft.path, final)
        self._swap(final, keep_old, now)

    def _swap(self, final: Path, keep_old: bool, now: datetime) -> None:
        current, old = self.path / "current", self.path / "old"
        before = current.readlink() if current.is_symlink() else self._adopt(current) if current.is_dir() else None
        self._retire(old, now)
        if before is not None and keep_old:
            self._make_way(old, _OLD_ASIDE)
            fs.point_link(old, str(before))
        elif not keep_old:
            self._retire(current, now)
            fs.remove(old)
        self._make_way(current, _ASIDE)
        fs.point_link(current, f"generations/{final.name}")
        for aside in (_ASIDE, _OLD_ASIDE):
            fs.remove(self.path / aside)

    def _retire(self, link: Path, now: datetime) -> None:
        """Let the grace of the generation behind ``link`` begin now."""
        if link.exists():
            os.utime(link.resolve(), (now.timestamp(), now.timestamp()))

    def _make_way(self, link: Path, aside: str) -> None:
        """A real folder cannot be replaced by a link at one stroke."""
        if link.is_dir() and not link.is_symlink():
            fs.rename(link, self.path / aside)

    def _adopt(self, current: Path) -> Path:
        """A generation of the files of a ``current`` that is a real folder (copied by zip, S3, rsync -L)."""
        adopted = Path("generations") / f"adopted-{uuid.uuid4().hex[:8]}"
        fs.make_folder(self.path / adopted)
        for file in current.iterdir():
            fs.hard_link(file, self.path / adopted / file.name)
        return adopted

    def _repair(self) -> None:
        """Put a missing ``current`` back: after half a swap, a first publish cut short, a copy without links."""
        current, aside = self.path / "current", self.path / _ASIDE
        if os.path.lexists(current):
            return
        if aside.exists():
            fs.rename(aside, current)
        elif (newest := self._newest()) is not None:
            _log.warning("%s was not there; it is its newest generation, %s, again", current, newest.name)
            fs.point_link(current, f"generations/{newest.name}")

    def _newest(self) -> Path | None:
        """The whole generation made last."""
        folder = self.path / "generations"
        names = [path for path in folder.iterdir() if not path.name.startswith("_")] if folder.is_dir() else []
        whole = [path for path in names if (path / "_meta.json").exists()]
        return max(whole, key=lambda path: (self._read_meta(path).made_at, path.name), default=None)

    def _sweep(self) -> None:
        """Remove what a killed writer left (we hold the lock, so nobody builds here now)."""
        for folder in (self.path, self.path / "generations"):
            if folder.is_dir():
                for left in folder.iterdir():
                    if left.name.startswith("_"):
                        fs.remove(left)

    def _forget(self, now: datetime, grace: float) -> None:
        kept = {link.resolve() for name in ("current", "old") if (link := self.path / name).exists()}
        for folder in (self.path / "generations").iterdir():
            if folder.resolve() in kept or now.timestamp() - folder.stat().st_mtime < grace:
                continue
            with lock.if_free(folder / ".in-use") as free:
                if free:
                    fs.rename(folder, folder.with_name(f"_{folder.name}"))
                    fs.remove(folder.with_name(f"_{folder.name}"))
