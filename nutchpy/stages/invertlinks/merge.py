"""A bucket of the linkdb with new links in it, written as it is made: in memory is what one URL's links take, no more.

What is there and what comes are both in the order of the table; the engine sorts what comes, on disk when it is much.
Links are a set, and of a URL with too many the best stay (best.sql), so that segments may come one by one or all at
once, in any order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.core.registered import registered_domains
from nutchpy.core.urls import hosts_of
from nutchpy.engine.base import Engine, Files, Key, statement
from nutchpy.stages.invertlinks.links import LINKS, sites
from nutchpy.storage.parts import PartWriter, part_batches, writing
from nutchpy.storage.schema import INLINKS, SCORES, TABLES

_INLINKS, _BEST = statement(__package__, "inlinks"), statement(__package__, "best")
_LINKDB: Final = TABLES["linkdb"]
_GROUP_BYTES: Final = 32 << 20
_CROWD: Final = 4
"""Links of one URL are collected up to so many times the number that stays, then chosen from."""


def write_bucket(engine: Engine, present: Sequence[Path], new: Sequence[Path], target: Path, most: int) -> None:
    """Bring the links in the files ``new`` into the rows of ``present``; a URL keeps ``most`` links."""
    inputs = {"linkdb": Files(_LINKDB, present), "links": Files(LINKS, new)}
    crowds = Crowds(engine, most)
    rows = (as_rows(crowds.thinned(links)) for links in whole_urls(engine.read(_INLINKS, inputs), crowds))
    before = (batch for part in present for batch in part_batches(part, _LINKDB))
    with writing(target, _LINKDB) as out:
        _write(merged(before, rows), out)


@dataclass(frozen=True)
class Crowds:
    """URLs with more links than they keep."""

    engine: Engine
    most: int

    def best(self, links: pa.Table) -> pa.Table:
        """The links that stay, in the order of the table."""
        encoded = sites(_array(links["from_url"]))
        names = registered_domains(host or "" for host in hosts_of(encoded.dictionary.to_pylist()))
        domains = pa.array(names, pa.string()).take(encoded.indices)
        return self.engine.table(_BEST, {"links": links.append_column("domain", domains)}, {"most": self.most})

    def thinned(self, links: pa.Table) -> pa.Table:
        """Sorted links, each once, with those of crowded URLs reduced to the best."""
        links = distinct(links)
        offsets = _offsets(links["url"])
        starts = offsets.slice(0, len(offsets) - 1)
        crowded = pc.greater(pc.subtract(offsets.slice(1), starts), self.most)
        if not pc.any(crowded).as_py():
            return links
        in_crowd = pc.is_in(links["url"], value_set=_array(links["url"]).take(starts.filter(crowded)))
        together = pa.concat_tables([links.filter(pc.invert(in_crowd)), self.best(links.filter(in_crowd))])
        return together.take(_order(together, ["host", "url", "from_url", "anchor"]))


def whole_urls(batches: Iterable[pa.RecordBatch], crowds: Crowds) -> Iterator[pa.Table]:
    """Sorted links, the same ones in tables that never end within a URL."""
    waiting: list[pa.Table] = []
    for batch in batches:
        links = pa.table(batch)
        last = links["url"][-1]
        first = pc.index(links["url"], last).as_py()
        if waiting and (first or waiting[0]["url"][0] != last):
            yield pa.concat_tables([*waiting, links.slice(0, first)])
            waiting = []
        elif first:
            yield links.slice(0, first)
        waiting.append(links.slice(first))
        if sum(table.num_rows for table in waiting) > _CROWD * crowds.most:
            waiting = [crowds.thinned(pa.concat_tables(waiting))]
    if waiting:
        yield pa.concat_tables(waiting)


def distinct(links: pa.Table) -> pa.Table:
    """Sorted links without those that stand there again; the first of equal ones has the greatest score."""
    again = pc.and_(_as_before(links["url"]), pc.and_(_as_before(links["from_url"]), _as_before(links["anchor"])))
    return links.filter(pc.invert(again)) if pc.any(again).as_py() else links


def as_rows(links: pa.Table) -> pa.Table:
    """Sorted links as rows of the linkdb."""
    links = links.combine_chunks()
    offsets = _offsets(links["url"])
    starts = offsets.slice(0, len(offsets) - 1)
    from_url, anchor, score = (_array(links[name]) for name in ("from_url", "anchor", "score"))
    structs = pa.StructArray.from_arrays([from_url, anchor], fields=list(INLINKS.value_type))
    columns = {
        "url": links["url"].take(starts),
        "host": links["host"].take(starts),
        "inlinks": pa.ListArray.from_arrays(offsets, structs, type=INLINKS),
        "scores": pa.ListArray.from_arrays(offsets, score, type=SCORES),
    }
    return pa.table(columns, schema=_LINKDB.schema.remove_metadata())


def merged(before: Iterator[pa.Table], rows: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Two sorted runs of rows as one; a row of ``rows`` takes the place of the one before."""
    old, new = next(before, None), next(rows, None)
    while old is not None and new is not None:
        bound = min(_key(old, old.num_rows - 1), _key(new, new.num_rows - 1))
        old_now, old = _cut(old, bound)
        new_now, new = _cut(new, bound)
        yield _together(old_now, new_now)
        old = old if old.num_rows else next(before, None)
        new = new if new.num_rows else next(rows, None)
    yield from ([old] if old is not None else [])
    yield from before
    yield from ([new] if new is not None else [])
    yield from rows


# -- private, in calling order


def _offsets(urls: pa.ChunkedArray) -> pa.Array:
    """Where each URL of a sorted column begins; last, where the column ends."""
    starts = pc.indices_nonzero(pc.invert(_as_before(urls)))
    return pa.concat_arrays([starts.cast(pa.int32()), pa.array([len(urls)], pa.int32())])


def _as_before(column: pa.ChunkedArray) -> pa.Array:
    """Whether each value is that of the row before; the first is not."""
    values = _array(column)
    same = pc.equal(values.slice(1), values.slice(0, max(len(values) - 1, 0)))
    return pa.concat_arrays([pa.array([False][: len(values)], pa.bool_()), same])


def _array(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _order(rows: pa.Table, keys: Sequence[str]) -> pa.Array:
    return pc.sort_indices(rows, [(key, "ascending") for key in keys])


def _key(rows: pa.Table, place: int) -> Key:
    return rows["host"][place].as_py(), rows["url"][place].as_py()


def _cut(rows: pa.Table, bound: Key) -> tuple[pa.Table, pa.Table]:
    """The rows up to a key, it included, and those behind."""
    count = bisect_right(range(rows.num_rows), bound, key=lambda place: _key(rows, place))
    return rows.slice(0, count), rows.slice(count)


def _together(old: pa.Table, new: pa.Table) -> pa.Table:
    if not new.num_rows:
        return old
    kept = old.filter(pc.invert(pc.is_in(old["url"], value_set=_array(new["url"]))))
    if not kept.num_rows:
        return new
    rows = pa.concat_tables([kept, new]).combine_chunks()
    return rows.take(_order(rows, ["host", "url"]))


def _write(tables: Iterable[pa.Table], out: PartWriter) -> None:
    """Row groups of the table's number of rows, or fewer where they are long."""
    waiting: list[pa.Table] = []
    rows = size = 0
    for table in tables:
        for start in range(0, table.num_rows, _LINKDB.row_group_rows):
            piece = table.slice(start, _LINKDB.row_group_rows)
            waiting.append(piece)
            rows, size = rows + piece.num_rows, size + piece.nbytes
            if rows >= _LINKDB.row_group_rows or size >= _GROUP_BYTES:
                out.write(pa.concat_tables(waiting))
                waiting, rows, size = [], 0, 0
    if waiting:
        out.write(pa.concat_tables(waiting))
