"""``rewrite``: change a database bucket by bucket. Shared by updatedb, inject and dedup.

For each bucket: *touched* SQL finds the rows concerned, a policy (a Python function over Arrow tables) makes their new
rows, and the rest is copied; a bucket with no touched row is kept as it is. Memory is bounded however many rows are
touched: they come in batches, and new rows beyond a few batches wait in a file; a bucket that does not fit into memory
(one host with very many URLs) is written in slices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nutchpy.core.urls import bucket_range
from nutchpy.engine.base import Engine, Files, Input, Params, statement
from nutchpy.engine.slices import write_sliced
from nutchpy.storage import fs
from nutchpy.storage.database import Draft, Generation
from nutchpy.storage.parts import conform
from nutchpy.storage.schema import Table

_MERGE: Final = statement(__package__, "rewrite")
_ROWS_IN_MEMORY: Final = 100_000


@dataclass(frozen=True)
class Rewrite:
    """What to do with each bucket.

    ``touched_sql`` reads ``crawldb`` (the bucket) and ``feeds`` and answers one row per touched URL, its first column
    ``url``; it may use ``$first`` and ``$last`` (the bucket's key range, inclusive) and ``params``. ``policy`` turns
    some of these rows (it is called for each batch) into crawldb rows; a touched URL it leaves out is dropped from the
    database, a URL it adds takes the place of that URL's row.
    """

    touched_sql: str
    feeds: Mapping[str, Input | Callable[[int], Input]]
    """Relations; or, of those that lie apart by bucket, a function that gives a bucket's."""
    params: Params
    policy: Callable[[pa.Table], pa.Table]


def rewrite(engine: Engine, before: Generation | None, draft: Draft, plan: Rewrite) -> bool:
    """Fill ``draft`` from ``before`` by ``plan``; whether any bucket changed."""
    changed = False
    for bucket in range(draft.meta.buckets):
        present = before.bucket(bucket) if before else []
        with _waiting(draft.path / f"_rows-{bucket:05d}.parquet", draft.table) as rows:
            _apply(engine, plan, draft, bucket, present, rows)
            if rows.touched:
                changed = True
                inputs = {"crawldb": Files(draft.table, present), "rows": rows.input(), "dropped": rows.dropped()}
                place = partial(draft.part_path, bucket)
                write_sliced(engine, _MERGE, inputs, {}, place, draft.table, ["crawldb", "rows"])
            else:
                for part in present:
                    draft.keep(part)
    return changed


def _apply(engine: Engine, plan: Rewrite, draft: Draft, bucket: int, present: list[Path], rows: _Waiting) -> None:
    """Run the policy over the bucket's touched rows."""
    inputs = {name: feed(bucket) if callable(feed) else feed for name, feed in plan.feeds.items()}
    inputs["crawldb"] = Files(draft.table, present)
    for batch in engine.read(plan.touched_sql, inputs, _params(plan, draft, bucket)):
        if batch.num_rows:
            touched = pa.table(batch)
            rows.add(touched["url"], plan.policy(touched))


def _params(plan: Rewrite, draft: Draft, bucket: int) -> dict[str, Any]:
    first, last = bucket_range(bucket, draft.meta.buckets)
    ranges = {"first": first, "last": last}
    return {**plan.params, **{name: value for name, value in ranges.items() if f"${name}" in plan.touched_sql}}


class _Waiting:
    """New rows of one bucket until they are merged: in memory while few, then in a file."""

    def __init__(self, path: Path, table: Table) -> None:
        self._path = path
        self._table = table
        self._schema = table.schema.remove_metadata()
        self._tables: list[pa.Table] = []
        self._dropped: list[pa.Table] = []
        self._writer: pq.ParquetWriter | None = None
        self.touched = 0

    def add(self, touched: pa.ChunkedArray, rows: pa.Table) -> None:
        """Take what the policy made of some touched URLs."""
        self.touched += len(touched)
        if not rows["url"].equals(touched):  # as a rule the same, and compared at once
            left_out = touched.filter(pc.invert(pc.is_in(touched, value_set=rows["url"])))
            self._dropped.append(pa.table({"url": left_out}))
        self._tables.append(conform(rows, self._table))
        if sum(table.num_rows for table in self._tables) > _ROWS_IN_MEMORY:
            self._spill()

    def input(self) -> Input:
        """The new rows as a relation; nothing more may be added."""
        if self._writer is None:
            return pa.concat_tables([self._schema.empty_table(), *self._tables])
        self._spill()
        self.close()
        return Files(self._table, [self._path])

    def dropped(self) -> pa.Table:
        """The URLs that were touched and have no row any more."""
        return pa.concat_tables([pa.schema({"url": pa.string()}).empty_table(), *self._dropped])

    def close(self) -> None:
        """End the file."""
        if self._writer is not None:
            self._writer.close()

    def _spill(self) -> None:
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, self._schema, compression="lz4")
        for table in self._tables:
            self._writer.write_table(table)
        self._tables = []


@contextmanager
def _waiting(path: Path, table: Table) -> Iterator[_Waiting]:
    rows = _Waiting(path, table)
    try:
        yield rows
    finally:
        rows.close()
        fs.remove(path)
