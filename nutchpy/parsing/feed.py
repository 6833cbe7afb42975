"""Writing a crawl_parse part: sorted by bucket key, row groups cut at the boundaries of 64 buckets, in bounded memory.

updatedb reads a bucket of it by a range of keys, and so reads whole row groups and no others. Small neighbouring
buckets share a row group. What does not fit into memory goes into sorted runs aside, which are merged bucket by bucket.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nutchpy.storage import fs
from nutchpy.storage.parts import PartWriter
from nutchpy.storage.schema import TABLES

BUCKETS: Final = 64
SMALL_GROUP: Final = 8_192
RUN_ROWS: Final = 1_000_000
_SHIFT: Final = 32 - (BUCKETS.bit_length() - 1)
_TABLE: Final = TABLES["crawl_parse"]


class FeedWriter:
    """Takes rows in any order; ``publish`` writes the part. ``discard`` leaves nothing behind."""

    def __init__(self, target: Path, run_rows: int = RUN_ROWS) -> None:
        self._target = target
        self._run_rows = run_rows
        self._rows: list[pa.Table] = []
        self._count = 0
        self._runs: list[Path] = []

    def write(self, rows: pa.Table) -> None:
        """Take some rows."""
        self._rows.append(rows)
        self._count += rows.num_rows
        if self._count >= self._run_rows:
            self._runs.append(self._run())

    def publish(self) -> Path:
        """Make it durable and give it its name."""
        writer = PartWriter(self._target, _TABLE)
        try:
            for group in _groups(self._sorted_buckets()):
                writer.write(group)
            writer.publish()
        except BaseException:
            writer.discard()
            raise
        finally:
            self.discard()
        return self._target

    def discard(self) -> None:
        """Remove what was written aside."""
        for run in self._runs:
            fs.remove(run)
        self._runs, self._rows, self._count = [], [], 0

    def _run(self) -> Path:
        """Put what is in memory into a sorted file aside, a row group per bucket."""
        path = fs.make_folder(self._target.parent) / f"_{self._target.name}.run-{len(self._runs):05d}.tmp"
        with pq.ParquetWriter(path, _TABLE.schema, compression="lz4") as writer:
            for bucket in _cut(self._take()):
                writer.write_table(bucket, max(bucket.num_rows, 1))
        return path

    def _take(self) -> pa.Table:
        """The rows in memory, sorted (stable: what came first stays first)."""
        rows = pa.concat_tables(self._rows) if self._rows else _TABLE.schema.empty_table()
        self._rows, self._count = [], 0
        return rows.take(pc.sort_indices(rows, [("bucket_key", "ascending")])) if rows.num_rows else rows

    def _sorted_buckets(self) -> Iterator[pa.Table]:
        """The rows of each bucket, sorted, in the order of buckets."""
        last = list(_cut(self._take()))
        if not self._runs:
            yield from last
            return
        files = [pq.ParquetFile(path) for path in self._runs]
        try:
            for bucket, rows in enumerate(last):
                pieces = [file.read_row_group(bucket) for file in files]
                together = pa.concat_tables([*pieces, rows.replace_schema_metadata(pieces[0].schema.metadata)])
                yield together.take(pc.sort_indices(together, [("bucket_key", "ascending")]))
        finally:
            for file in files:
                file.close()


def _cut(rows: pa.Table) -> Iterator[pa.Table]:
    """Sorted rows as one table per bucket, empty ones included."""
    counts = dict.fromkeys(range(BUCKETS), 0)
    for found in pc.value_counts(pc.shift_right(rows.column("bucket_key"), pa.scalar(_SHIFT, pa.uint32()))).to_pylist():
        counts[found["values"]] = found["counts"]
    start = 0
    for count in counts.values():
        yield rows.slice(start, count)
        start += count


def _groups(buckets: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Buckets as row groups: neighbours together until the group is worth having."""
    waiting: list[pa.Table] = []
    count = 0
    for rows in buckets:
        waiting.append(rows)
        count += rows.num_rows
        if count >= SMALL_GROUP:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting, count = [], 0
    if count:
        yield pa.concat_tables(waiting).combine_chunks()
