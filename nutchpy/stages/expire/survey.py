"""What there is to expire: segments with their age, size and state, and every body with the number of its version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from nutchpy.engine.base import Engine, Files, statement
from nutchpy.stages.unfinished import next_stage
from nutchpy.storage.database import Generation
from nutchpy.storage.schema import SEGMENT_TABLES, TABLES, Column, Table
from nutchpy.storage.segment import Segment, SegmentMeta

_BODIES_SQL, _SHARES, _KEPT = (statement(__package__, name) for name in ("bodies", "shares", "kept"))
BODIES: Final = Table(
    "bodies",
    "Bodies and their versions.",
    (
        Column("url", pa.string(), "The URL."),
        Column("segment", pa.int32(), "Number of the segment, oldest first."),
        Column("version", pa.int32(), "1 for the newest of the URL."),
        Column("live", pa.bool_(), "Whether it is a page that the crawldb does not say is gone."),
    ),
)


@dataclass(frozen=True)
class Held:
    """One segment."""

    number: int
    segment: Segment
    meta: SegmentMeta
    waits_for: str | None
    """The stage that has not yet seen all of it; None when it may go."""
    size: int
    bodies: int = 0
    kept: int = 0
    """Bodies that stay wherever they lie."""
    older: int = 0
    """Of these, those that are not the newest of their URL."""

    @property
    def compacted(self) -> bool:
        """Whether an expire made it."""
        return "expire" in self.meta.stages

    @property
    def created(self) -> datetime:
        """When it was made."""
        return datetime.fromisoformat(self.meta.created)

    @property
    def gain(self) -> int:
        """Bytes, roughly, that go with the bodies that do not stay."""
        return self.size * (self.bodies - self.kept) // self.bodies if self.bodies else self.size


@dataclass(frozen=True)
class Survey:
    """All segments, and the bodies in them as a relation."""

    engine: Engine
    held: Sequence[Held]
    bodies: Files
    rule: dict[str, Any]
    """``versions``: how many of a URL stay; ``live_only``: whether those of pages that are gone do not."""

    def kept(self, folder: Path) -> Files:
        """The bodies that stay, as a relation of its own."""
        out = folder / "kept.parquet"
        rows = self.engine.write(_KEPT, {"bodies": self.bodies}, self.rule, out, BODIES)
        return Files(BODIES, [out] if rows else [])


def survey(
    engine: Engine,
    segments: Sequence[Segment],
    crawldb: Generation,
    linkdb: Generation | None,
    folder: Path,
    rule: dict[str, Any],
) -> Survey:
    """Look at everything once; ``folder`` is for the relation of bodies."""
    held = [
        Held(number, segment, segment.meta, next_stage(segment, crawldb, linkdb), size_of(segment))
        for number, segment in enumerate(segments)
    ]
    inputs = {
        "content": table_of("content", held),
        "crawl_fetch": table_of("crawl_fetch", held),
        "crawldb": Files(TABLES["crawldb"], crawldb.parts),
        "places": places(held, "content"),
    }
    out = folder / "bodies.parquet"
    rows = engine.write(_BODIES_SQL, inputs, {}, out, BODIES)
    bodies = Files(BODIES, [out] if rows else [])
    shares = {row.pop("segment"): row for row in engine.table(_SHARES, {"bodies": bodies}, rule).to_pylist()}
    counted = [Held(**{**vars(one), **shares.get(one.number, {})}) for one in held]
    return Survey(engine, counted, bodies, rule)


def table_of(name: str, held: Iterable[Held]) -> Files:
    """One table of some segments, with the paths of its rows."""
    return Files(TABLES[name], [path for one in held for path in one.segment.files(name)], with_path=True)


def places(held: Iterable[Held], *tables: str) -> pa.Table:
    """``places``: which segment a file belongs to."""
    found = [(path, one) for one in held for name in tables for path in one.segment.files(name)]
    columns = {
        "path": pa.array([str(path) for path, _ in found], pa.string()),
        "segment": pa.array([one.number for _, one in found], pa.int32()),
        "name": pa.array([one.segment.name for _, one in found], pa.string()),
        "compacted": pa.array([one.compacted for _, one in found], pa.bool_()),
    }
    return pa.table(columns)


def size_of(segment: Segment) -> int:
    """Bytes of its tables on disk."""
    return sum(path.stat().st_size for name in SEGMENT_TABLES for path in segment.files(name))
