"""Feeds: the parts of segments that a crawldb has not consumed yet, and the parts that these need beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from nutchpy.engine.base import Files
from nutchpy.storage.database import DatabaseMeta
from nutchpy.storage.parts import PartName
from nutchpy.storage.schema import TABLES
from nutchpy.storage.segment import Segment

FEED_TABLES: Final = ("crawl_fetch", "crawl_parse")


@dataclass(frozen=True)
class Feed:
    """One part. ``twin`` is the same number for a crawl_fetch part and the crawl_parse part of the same pages."""

    uuid: str
    table: str
    name: PartName
    path: Path
    round: int
    twin: int
    fresh: bool
    """Not consumed yet; a part that is not fresh is only looked up for one that is."""


def feeds(meta: DatabaseMeta | None, segments: Sequence[Segment], force: bool) -> list[Feed]:
    """What to read of these segments, older ones first. ``force`` takes every part as fresh; None has consumed none."""
    found: list[Feed] = []
    for number, segment in enumerate(sorted(segments, key=lambda s: (s.name, str(s.path)))):
        found += _feeds_of(meta, segment, number, len(found), force)
    return found


def files(found: Iterable[Feed], table: str) -> Files:
    """The parts of one of the tables, as an input with paths."""
    return Files(TABLES[table], [feed.path for feed in found if feed.table == table], with_path=True)


def parts_relation(found: Sequence[Feed]) -> pa.Table:
    """``parts``: what SQL has to know of the file that a row comes from."""
    columns: Mapping[str, pa.Array] = {
        "path": pa.array([str(feed.path) for feed in found], pa.string()),
        "round": pa.array([feed.round for feed in found], pa.int32()),
        "twin": pa.array([feed.twin for feed in found], pa.int32()),
        "fresh": pa.array([feed.fresh for feed in found], pa.bool_()),
    }
    return pa.table(columns)


def consumed(meta: DatabaseMeta, found: Iterable[Feed]) -> DatabaseMeta:
    """The metadata with the fresh parts recorded."""
    for feed in found:
        if feed.fresh:
            meta = meta.with_applied(feed.uuid, feed.table, [str(feed.name)])
    return meta


def _feeds_of(meta: DatabaseMeta | None, segment: Segment, number: int, first_twin: int, force: bool) -> list[Feed]:
    """A segment's fresh parts and their twins. crawl_parse is listed first: a part that comes up meanwhile can then
    only be a crawl_fetch without its crawl_parse, never the other way round."""
    uuid = segment.meta.uuid
    parts = [(table, name, path) for table in reversed(FEED_TABLES) for name, path in segment.parts(table)]
    twins = _twins([name for _, name, _ in parts])
    known = set() if force or meta is None else {part[:2] for part in parts if meta.has_applied(uuid, *part[:2])}
    found = [
        Feed(uuid, table, name, path, number, first_twin + twins[name], (table, name) not in known)
        for table, name, path in parts
    ]
    wanted = {feed.twin for feed in found if feed.fresh}
    return [feed for feed in found if feed.twin in wanted]


def _twins(names: Iterable[PartName]) -> dict[PartName, int]:
    """Names that share a flush of a list get one number (one may have been merged before the other came)."""
    numbers: dict[PartName, int] = {}
    reach: tuple[int, int] = (-1, -1)
    number = -1
    for name in sorted(set(names)):
        if name.list != reach[0] or name.first > reach[1]:
            number += 1
            reach = (name.list, name.last)
        reach = (name.list, max(reach[1], name.last))
        numbers[name] = number
    return numbers
