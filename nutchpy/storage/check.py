"""Whether a crawl on disk is what it should be: every part readable, sorted, in its bucket; nothing left lying about.

Reads everything; changes and locks nothing. What it finds while a stage writes may be that stage's work in progress.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.core.errors import StorageError
from nutchpy.core.urls import bucket_key, bucket_of
from nutchpy.storage.database import Database, Generation
from nutchpy.storage.parts import PartName, absent_columns, bucket_number, covered, part_batches
from nutchpy.storage.schema import SEGMENT_TABLES, TABLES, Table
from nutchpy.storage.segment import Segment, SegmentMeta, all_segments

Severity = Literal["damaged", "wrong", "older", "left over"]

BAD: Final = frozenset({"damaged", "wrong"})
"""What stages stop at, or would go wrong with; the rest does no harm."""
_TWINS: Final = {
    "content": "crawl_fetch",
    "parse_data": "crawl_parse",
    "parse_text": "crawl_parse",
}
"""Table → the one whose part of the same name is its commit record."""


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be."""

    severity: Severity
    path: Path
    what: str


def check_crawl(crawl: Path) -> Iterator[Finding]:
    """Everything found in a crawl folder."""
    for folder in sorted(path for path in crawl.iterdir() if path.is_dir()):
        if (folder / "generations").is_dir() or os.path.lexists(folder / "current"):
            yield from check_database(folder)
    yield from _check_segments(crawl / "segments")


def check_database(folder: Path) -> Iterator[Finding]:
    """One database: its present generation and what lies beside it."""
    generations, current = folder / "generations", folder / "current"
    if os.path.lexists(current) or any(generations.glob("[!_]*/_meta.json")):  # else nothing was published yet
        try:
            with Database.at(folder).reading() as generation:
                yield from _check_generation(generation)
        except StorageError as error:
            yield Finding("damaged", folder, str(error))
    present = current.resolve()
    for path in sorted([*folder.iterdir(), *(generations.iterdir() if generations.is_dir() else ())]):
        if path.name.startswith("_"):
            yield Finding("left over", path, "of a writer that was killed, or is at work; the next one removes it")
        elif path.parent == generations and path.resolve() != present and not (path / "_meta.json").exists():
            yield Finding("left over", path, "is no generation: it has no _meta.json; a writer will remove it")


def damage_of(path: Path, table: Table) -> str | None:
    """What is wrong with a part when it cannot be read to its end; None when it can."""
    try:
        for _ in part_batches(path, table):
            pass
    except StorageError as error:
        return " ".join(str(error).split())  # one line, as all findings are
    except (ValueError, MemoryError) as error:  # what broken bytes may decode to
        return f"{path} cannot be read as Parquet: {error}"
    return None


def check_segment(segment: Segment) -> Iterator[Finding]:
    """One segment: its parts, and that each has the part that commits it."""
    for name in SEGMENT_TABLES:
        table = TABLES[name]
        for part in segment.files(name):
            yield from _check_part(part, table)
    yield from _check_twins(segment)
    lists = {name.list for name, _ in segment.parts("crawl_generate")}
    if len(lists) != segment.meta.lists:
        yield Finding("wrong", segment.path, f"{segment.meta.lists} fetch lists are said to be there, {len(lists)} are")
    yield from _check_once(segment)


# -- private, in calling order


def _check_generation(generation: Generation) -> Iterator[Finding]:
    meta = generation.meta
    table, rows, last = TABLES[meta.table], 0, (-1, "", "")
    for part in generation.lost:
        yield Finding("damaged", part, "is not there any more")
    for part in generation.parts:
        found = list(_check_part(part, table))
        if not found and not generation.as_written(part):
            found.append(
                Finding("damaged", part, "is not what was written: its checksum differs from that in _meta.json")
            )
        yield from found
        if any(finding.severity in BAD for finding in found):
            continue
        bucket = bucket_number(part) or 0
        for batch in part_batches(part, table):
            rows += batch.num_rows
            yield from _check_order(part, batch, bucket, last)
            yield from _check_buckets(part, batch, bucket, meta.buckets)
            last = (bucket, batch["host"][-1].as_py(), batch["url"][-1].as_py())
    if rows != meta.rows:
        yield Finding(
            "wrong", generation.path / "_meta.json", f"{meta.rows} rows are said to be there, {rows} were read"
        )


def _check_part(part: Path, table: Table) -> Iterator[Finding]:
    damage = damage_of(part, table)
    if damage is not None:
        yield Finding("damaged", part, damage)
        return
    absent = absent_columns(part, table)
    if absent:
        yield Finding(
            "older", part, f"has no {', '.join(c.name for c in absent)} yet; upgrade adds what was declared since"
        )


def _check_order(part: Path, rows: pa.Table, bucket: int, last: tuple[int, str, str]) -> Iterator[Finding]:
    """Strictly ascending by host and URL, so that no URL stands there twice."""
    host, url = (rows[name].combine_chunks() for name in ("host", "url"))
    before = (host.slice(0, len(host) - 1), url.slice(0, len(url) - 1))
    after = (host.slice(1), url.slice(1))
    fine = pc.or_(pc.less(before[0], after[0]), pc.and_(pc.equal(before[0], after[0]), pc.less(before[1], after[1])))
    joins = last[0] != bucket or last[1:] < (host[0].as_py(), url[0].as_py())
    if not joins or not pc.all(fine, min_count=0).as_py():
        place = 0 if not joins else pc.index(fine, False).as_py() + 1
        yield Finding(
            "wrong", part, f"rows are not sorted by host and URL, or one is there twice: {url[place].as_py()}"
        )


def _check_buckets(part: Path, rows: pa.Table, bucket: int, buckets: int) -> Iterator[Finding]:
    hosts = pc.unique(rows["host"]).to_pylist()
    stray = next((host for host in hosts if bucket_of(bucket_key(host), buckets) != bucket), None)
    if stray is not None:
        yield Finding("wrong", part, f"host {stray} belongs to another bucket")


def _check_twins(segment: Segment) -> Iterator[Finding]:
    for name, commit in _TWINS.items():
        committed = [part for part, _ in segment.parts(commit)]
        for part, path in segment.parts(name):
            if not covered(part, committed):
                yield Finding("left over", path, f"has no part of {commit} with it; the stage that made it removes it")
    for path in (path for table in SEGMENT_TABLES for path in _files(segment.path / table)):
        if path.name.startswith("_") or PartName.parse(path.name) is None:
            yield Finding("left over", path, "of a stage that was killed, or is at work")


def _files(folder: Path) -> Iterable[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else ()


def _check_once(segment: Segment) -> Iterator[Finding]:
    """One row per URL in each table that says so."""
    for name in ("crawl_generate", "crawl_fetch"):
        parts = [path for path in segment.files(name) if damage_of(path, TABLES[name]) is None]
        columns = [batch["url"] for path in parts for batch in part_batches(path, TABLES[name])]
        urls = pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string())
        twice = len(urls) - pc.count_distinct(urls).as_py()
        if twice:
            yield Finding("wrong", segment.path / name, f"{twice} rows are of URLs that have a row already")


def _check_segments(folder: Path) -> Iterator[Finding]:
    metas: dict[Path, SegmentMeta] = {}
    known = [segment.path for segment in all_segments(folder)]
    for path in known:
        try:
            metas[path] = Segment(path).meta
        except StorageError as error:
            yield Finding("damaged", path / "_meta.json", str(error))
    dead = {uuid for meta in metas.values() for uuid in meta.replaces}
    live = {path for path, meta in metas.items() if meta.uuid not in dead}
    yield from _check_segments_folder(folder, set(known), metas.keys() - live)
    for path in sorted(live):
        yield from check_segment(Segment(path))


def _check_segments_folder(folder: Path, known: Set[Path], dead: Set[Path]) -> Iterator[Finding]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name.startswith("_"):
            yield Finding("left over", path, "of a command that was killed, or is at work")
        elif path in dead:
            yield Finding("left over", path, "a newer segment stands for it; expire removes it")
        elif path.is_dir() and path not in known and not path.name.startswith("."):
            yield Finding("left over", path, "is no segment: it has no _meta.json")
