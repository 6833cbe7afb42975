"""``rewrite``: change a database bucket by bucket. Shared by updatedb, inject, dedup and refilter.

A stage says which URLs of a bucket are *touched* and what is news of them. The bucket is copied, a row group at a time
and without being sorted; on its way past, a policy (a Python function over Arrow tables) makes new rows of those that
are touched. A bucket in which nothing changes is kept as it is. Memory is bounded however many rows are touched: what
is news is sorted in memory while it is little, else by the engine, from a file; a bucket that does not fit into memory
(one host with very many URLs) is written in slices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nutchpy.core.urls import bucket_range
from nutchpy.engine.base import Engine, Files, statement
from nutchpy.engine.merge import Ordered, found, merged, numbers
from nutchpy.engine.slices import BYTES_PER_ROW, weight
from nutchpy.storage import fs
from nutchpy.storage.database import Draft, Generation
from nutchpy.storage.ordered import BucketWriter, bucket_writer, coded, coded_schema, decoded, row_groups, together
from nutchpy.storage.parts import opened
from nutchpy.storage.schema import Column, Table

_SORTED: Final = statement(__package__, "rewrite")
_SHARE_IN_MEMORY: Final = 32
"""News of a bucket that take less than this part of the memory there is are sorted in it."""
_TAIL_ROWS: Final = 65_536
_CODE: Final = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class Bucket:
    """A bucket to rewrite: its number, its key range (inclusive) and its present parts."""

    number: int
    first: int
    last: int
    parts: Sequence[Path]


@dataclass(frozen=True)
class Change:
    """What becomes of touched rows. Those it does not speak of stay, or stay unknown, as they are."""

    rows: pa.Table
    """Rows of the table that are new or have changed, whole, each with its ``nth``; in any order."""
    gone: pa.Array = field(default_factory=lambda: pa.array([], pa.int64()))
    """The ``nth`` of rows that are dropped from the database."""
    patches: pa.Table | None = None
    """Of rows of which little changes: ``nth``, in order, and the columns that do (numbers and times only)."""


class Touched:
    """Touched URLs of a row group, in order: what is ``news`` of them, and the rows that there are of them."""

    def __init__(self, news: pa.Table, base: pa.Table, known: pa.Array, place: pa.Array) -> None:
        self.news = decoded(news).append_column("known", known).append_column("nth", numbers(news.num_rows))
        """What was given of them, whether there is a row (``known``), and the number, ``nth``, that names it here."""
        self._base = base
        self._place = pc.if_else(known, place, None)

    def with_rows(self, news: pa.Table, columns: Sequence[str] = ()) -> pa.Table:
        """Some of the news with these columns (else all) of the rows there are, null where there is none."""
        names = columns or [name for name in self._base.column_names if name not in ("url", "host")]
        whole = news.num_rows == self.news.num_rows
        places = self._place if whole else self._place.take(news["nth"].combine_chunks())
        there = decoded(self._base.select(list(names)).take(places))
        return pa.table({name: news[name] for name in news.column_names} | {name: there[name] for name in names})


News: TypeAlias = Callable[[Bucket], Iterable[pa.RecordBatch]]
Policy: TypeAlias = Callable[[Touched], Change]


@dataclass(frozen=True)
class Rewrite:
    """What to do with each bucket.

    ``news`` gives what is news in a bucket, in any order: ``url``, ``host`` and whatever the policy wants to know; each
    URL once. ``policy`` is called for the touched URLs of one row group at a time.
    """

    news: News
    policy: Policy


def rewrite(engine: Engine, before: Generation | None, draft: Draft, plan: Rewrite) -> bool:
    """Fill ``draft`` from ``before`` by ``plan``; whether any bucket changed."""
    changed = False
    for number in range(draft.meta.buckets):
        bucket = Bucket(number, *bucket_range(number, draft.meta.buckets), before.bucket(number) if before else [])
        aside = draft.path / f"_touched-{number:05d}.parquet"
        with _in_order(plan.news(bucket), aside, engine.memory // _SHARE_IN_MEMORY) as news:
            copied = news.rows > 0 and _copied(engine, plan.policy, draft, bucket, news)
        changed |= copied
        if not copied:
            for part in bucket.parts:
                draft.keep(part)
    return changed


def _copied(engine: Engine, policy: Policy, draft: Draft, bucket: Bucket, news: _News) -> bool:
    """Write the bucket with what becomes of the touched rows; False when that is nothing, and nothing was written."""
    table, touched = draft.table, Ordered(news.tables(engine))
    rows = _slice_rows(engine, Files(table, bucket.parts), news.rows)
    with bucket_writer(partial(draft.part_path, bucket.number), table, rows) as out:
        copy = _Copy(out, bucket, table)
        for base in _groups(bucket, table):
            copy.take(_changed(policy, table, base, list(touched.up_to(base.slice(base.num_rows - 1)))), base)
        for news_of_new in _pieces(touched.rest()):
            copy.take(_changed(policy, table, nothing := coded_schema(table).empty_table(), [news_of_new]), nothing)
        return copy.begun


def _groups(bucket: Bucket, table: Table) -> Iterator[pa.Table]:
    """The bucket's present rows, some at a time."""
    groups = chain.from_iterable(row_groups(part, table) for part in bucket.parts)
    return (rows for rows in groups if rows.num_rows)


def _pieces(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    for rows in tables:
        yield from (rows.slice(start, _TAIL_ROWS) for start in range(0, rows.num_rows, _TAIL_ROWS))


def _slice_rows(engine: Engine, present: Files, added: int) -> int | None:
    """How many rows make a slice; None when the bucket fits into memory as a whole."""
    size = weight({"present": present}) + added * BYTES_PER_ROW
    slices = -(-size // engine.memory)
    rows: int = sum(pq.read_metadata(path).num_rows for path in present.paths) + added
    return -(-rows // slices) if slices > 1 else None


class _Copy:
    """A bucket's copy, begun when there is a change: the row groups that went by before are read again then."""

    def __init__(self, out: BucketWriter, bucket: Bucket, table: Table) -> None:
        self._out = out
        self._bucket = bucket
        self._table = table
        self._passed = 0
        self.begun = False

    def take(self, rows: pa.Table, base: pa.Table) -> None:
        """The next rows: ``base`` itself when they are as they were."""
        if rows is base and not self.begun:
            self._passed += 1
            return
        if not self.begun:
            self.begun = True
            for earlier in islice(_groups(self._bucket, self._table), self._passed):
                self._out.write(earlier)
        self._out.write(rows)


def _changed(policy: Policy, table: Table, base: pa.Table, news: list[pa.Table]) -> pa.Table:
    """Rows of the bucket with the news of them, and of new ones among them; ``base`` itself when nothing changes."""
    if not news:
        return base
    touched = together(news).combine_chunks()
    known, place = found(base, touched)
    change = policy(Touched(touched, base, known, place))
    rows = change.rows.take(pc.sort_indices(change.rows["nth"]))
    nth = rows["nth"].combine_chunks()
    is_known, at = known.take(nth), place.take(nth)
    is_new = pc.invert(is_known)
    gone = place.take(change.gone.filter(known.take(change.gone)))
    rows = coded(rows, table)
    base = _patched(base, change.patches, place, table)
    return merged(base, rows.filter(is_known), at.filter(is_known), gone, rows.filter(is_new), at.filter(is_new))


def _patched(base: pa.Table, patches: pa.Table | None, place: pa.Array, table: Table) -> pa.Table:
    """The rows with some values replaced; ValueError for a null where none may be."""
    if patches is None or not patches.num_rows:
        return base
    concerned = pc.is_in(numbers(base.num_rows), value_set=place.take(patches["nth"].combine_chunks()))
    for name in patches.column_names:
        if name != "nth":
            at, field_ = base.column_names.index(name), table.schema.field(name)
            values = patches[name].combine_chunks().cast(field_.type)
            if values.null_count and not field_.nullable:
                raise ValueError(f"null in the column {name}")
            base = base.set_column(
                at, base.schema.field(at), pc.replace_with_mask(base[name].combine_chunks(), concerned, values)
            )
    return base


class _News:
    """What is news in a bucket: in memory while it is little, else in a file, to be sorted by the engine."""

    def __init__(self, path: Path, most: int) -> None:
        self._path = path
        self._most = most
        self._batches: list[pa.RecordBatch] = []
        self._held = 0
        self._writer: pq.ParquetWriter | None = None
        self._schema: pa.Schema | None = None
        self.rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Take some."""
        if not batch.num_rows:
            return
        self._schema = batch.schema
        self._batches.append(batch)
        self.rows += batch.num_rows
        self._held += batch.nbytes
        if self._held > self._most:
            self._spill()

    def tables(self, engine: Engine) -> Iterator[pa.Table]:
        """All of it by host and URL, hosts coded; nothing more may be added."""
        if self._writer is None:
            rows = pa.Table.from_batches(self._batches).combine_chunks()
            order = pc.sort_indices(rows, [("host", "ascending"), ("url", "ascending")])
            yield _host_coded(rows).take(order)
            return
        self._spill()
        self.close()
        for batch in engine.read(_SORTED, {"touched": Files(self._declared(), [self._path])}):
            yield _host_coded(pa.table(batch))

    def close(self) -> None:
        """End the file."""
        if self._writer is not None:
            self._writer.close()

    def _spill(self) -> None:
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, self._schema, compression="lz4")
        for batch in self._batches:
            self._writer.write_batch(batch)
        self._batches, self._held = [], 0

    def _declared(self) -> Table:
        with opened(self._path) as file:
            schema = file.schema_arrow
        return Table("touched", "News.", tuple(Column(f.name, f.type, f.name, nullable=True) for f in schema))


def _host_coded(rows: pa.Table) -> pa.Table:
    place = rows.column_names.index("host")
    return rows.set_column(place, "host", rows["host"].cast(_CODE))


@contextmanager
def _in_order(batches: Iterable[pa.RecordBatch], aside: Path, most: int) -> Iterator[_News]:
    """All of a bucket's news, in memory as far as they take no more than so many bytes."""
    news = _News(aside, most)
    try:
        for batch in batches:
            news.add(batch)
        yield news
    finally:
        news.close()
        fs.remove(aside)
