"""What a fetch list's output needs before and after: remains of a killed run removed, small parts merged.

The caller holds the list's lock. Merging keeps the commit rule: the merged content is published before the merged
crawl_fetch, and a merged part makes those it stands for dead the moment it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from nutchpy.storage import fs
from nutchpy.storage.parts import PartName, covered, part_batches, writing
from nutchpy.storage.schema import TABLES
from nutchpy.storage.segment import Segment, sweep

_PARSED: Final = ("parse_text", "parse_data", "crawl_parse")
_BATCH_ROWS: Final = {"content": 32, "crawl_fetch": 16_384}
_GROUP_BYTES: Final = 8 << 20
"""What is written at once, as the output does: more would be more memory than fetching takes."""
MERGED_BYTES: Final = 256 << 20
SMALL_BYTES: Final = 32 << 20
"""Larger parts are left as they are: rewriting them would cost more than it saves."""


def repair(segment: Segment, number: int) -> None:
    """Remove what a killed run left half done, and end a merge it was in."""
    sweep(segment, number)
    committed = [name for name, _ in _of_list(segment, "crawl_fetch", number)]
    parsed = [name for name, _ in _of_list(segment, "crawl_parse", number)]
    for table in ("content", *_PARSED):
        for name, path in _of_list(segment, table, number):
            if not covered(name, committed) or (table in _PARSED and not covered(name, parsed)):
                fs.remove(path)
    for name, _ in _of_list(segment, "content", number):
        if name not in committed:
            _merge_table(segment, "crawl_fetch", name, [other for other in committed if name.covers(other)])


def merge_small(segment: Segment, number: int, stopped: Callable[[], bool] = lambda: False) -> None:
    """Merge runs of small parts that have not been parsed yet, one after the other until it is ``stopped``."""
    parsed = [name for name, _ in _of_list(segment, "crawl_parse", number)]
    sizes = [(name, _size(segment, name)) for name, _ in _of_list(segment, "crawl_fetch", number)]
    open_parts = [(name, size) for name, size in sizes if not covered(name, parsed)]
    for run in _runs(open_parts):
        if stopped():
            return
        merged = PartName(number, run[0].first, run[-1].last)
        for table in ("content", "crawl_fetch"):
            _merge_table(segment, table, merged, run)


def _merge_table(segment: Segment, table: str, merged: PartName, run: Sequence[PartName]) -> None:
    folder = segment.path / table
    parts = [folder / str(name) for name in run if (folder / str(name)).exists()]
    if parts:
        with writing(folder / str(merged), TABLES[table]) as out:
            for rows in _gathered(parts, table):
                out.write(rows)
    for path in parts:
        fs.remove(path)


def _gathered(parts: Sequence[Path], table: str) -> Iterator[pa.Table]:
    """The rows of all parts, some megabytes at a time, however large or small their bodies."""
    waiting: list[pa.Table] = []
    weight = 0
    for path in parts:
        for rows in part_batches(path, TABLES[table], _BATCH_ROWS[table]):
            waiting.append(rows)
            weight += rows.nbytes
            if weight >= _GROUP_BYTES:
                yield pa.concat_tables(waiting)
                waiting, weight = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def _runs(parts: Sequence[tuple[PartName, int]]) -> Iterator[list[PartName]]:
    """Neighbouring small parts, as many as fit into one; runs of one are left alone."""
    run: list[PartName] = []
    weight = 0
    for name, size in parts:
        if run and (size > SMALL_BYTES or weight + size > MERGED_BYTES or name.first != run[-1].last + 1):
            yield from [run] if len(run) > 1 else []
            run, weight = [], 0
        if size <= SMALL_BYTES:
            run.append(name)
            weight += size
    yield from [run] if len(run) > 1 else []


def _of_list(segment: Segment, table: str, number: int) -> list[tuple[PartName, Path]]:
    return [(name, path) for name, path in segment.parts(table) if name.list == number]


def _size(segment: Segment, name: PartName) -> int:
    paths = (segment.path / table / str(name) for table in ("content", "crawl_fetch"))
    return sum(path.stat().st_size for path in paths if path.exists())
