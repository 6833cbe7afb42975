"""Buckets that do not fit into memory, cut into ranges of host and URL, each written as a slice of its bucket.

One huge host is one bucket however many buckets there are; the ranges cut through it. A statement whose answer for a
row depends on the rows of its host and URL alone may be run range by range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nutchpy.engine.base import Engine, Files, Input, Key, Params, Range
from nutchpy.storage.schema import Table

BYTES_PER_ROW: Final = 1 << 10
"""What a row of a bucket takes while the bucket is joined, sorted and written: measured, and a half again."""
_BYTES_PER_STORED: Final = 12
"""The same for a stored byte: what counts where rows are long, as in the linkdb."""
_SAMPLED: Final = 1_000


def weight(inputs: Mapping[str, Input]) -> int:
    """Bytes that the relations take in memory while they are worked on, roughly."""
    return sum(_weight(relation) for relation in inputs.values())


def write_sliced(
    engine: Engine,
    sql: str,
    inputs: Mapping[str, Input],
    params: Params,
    part_path: Callable[[int | None], Path],
    table: Table,
    sliced: Sequence[str],
) -> int:
    """Write a bucket as one part, or in slices when the relations in ``sliced`` do not fit into memory; the row count.

    ``part_path`` gives the place of slice 0, 1, …, and, for None, of the whole.
    """
    ranges = list(_ranges({name: inputs[name] for name in sliced}, engine.memory))
    if len(ranges) == 1:
        return engine.write(sql, inputs, params, part_path(None), table)
    rows = 0
    for number, within in enumerate(ranges):
        mine = {name: _within(relation, within) if name in sliced else relation for name, relation in inputs.items()}
        rows += engine.write(sql, mine, params, part_path(number), table)
    return rows


def _weight(relation: Input) -> int:
    if isinstance(relation, pa.Table):
        return int(relation.nbytes)
    rows: int = sum(pq.read_metadata(path).num_rows for path in relation.paths)
    stored = sum(path.stat().st_size for path in relation.paths)
    return max(rows * BYTES_PER_ROW, stored * _BYTES_PER_STORED)


def _ranges(inputs: Mapping[str, Input], memory: int) -> Iterator[Range]:
    """Ranges of about equal weight that fit; one without bounds when all of it does."""
    count = -(-weight(inputs) // memory)
    keys = sorted({key for relation in inputs.values() for key in _sample(relation)}) if count > 1 else []
    cuts = [keys[len(keys) * number // count] for number in range(1, count)] if len(keys) > count else []
    bounds: list[Key | None] = [None, *dict.fromkeys(cuts), None]
    yield from (Range(first, end) for first, end in pairwise(bounds))


def _sample(relation: Input) -> Iterator[Key]:
    """Every thousandth key."""
    for hosts, urls in _keys(relation):
        places = pa.array(range(0, len(urls), _SAMPLED), pa.int64())
        yield from zip(hosts.take(places).to_pylist(), urls.take(places).to_pylist(), strict=True)


def _keys(relation: Input) -> Iterator[tuple[pa.ChunkedArray, pa.ChunkedArray]]:
    if isinstance(relation, pa.Table):
        yield relation["host"], relation["url"]
        return
    for path in relation.paths:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                keys = file.read_row_group(group, columns=["host", "url"])
                yield keys["host"], keys["url"]


def _within(relation: Input, within: Range) -> Input:
    if isinstance(relation, Files):
        return Files(relation.table, relation.paths, relation.with_path, within)
    rows = relation
    if within.first is not None:
        rows = rows.filter(pc.invert(_before(rows, within.first)))
    return rows if within.end is None else rows.filter(_before(rows, within.end))


def _before(rows: pa.Table, key: Key) -> pa.ChunkedArray:
    host, url = key
    same = pc.and_(pc.equal(rows["host"], host), pc.less(rows["url"], url))
    return pc.or_(pc.less(rows["host"], host), same)
