"""Rows on their way into a database, put aside as Parquet: one file per bucket, so that each bucket reads its own.

A temporary folder beside what is being built; bounded memory however many rows come. Rows for a database that is new,
whose number of buckets depends on how many come, are put aside by the finest division there is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nutchpy.engine.base import Files
from nutchpy.storage import fs
from nutchpy.storage.parts import bucket_part, conform
from nutchpy.storage.schema import Table
from nutchpy.storage.spread import Spread

_TOGETHER: Final = 131_072


class Routed:
    """Takes rows with a ``bucket_key``; ``files`` are what came of them."""

    def __init__(self, folder: Path, table: Table, buckets: int) -> None:
        self._folder = folder
        self._table = table
        self._buckets = buckets
        self._shift = 32 - (buckets.bit_length() - 1)
        self._spread = Spread(self._open)
        self._files: dict[int, _File] = {}
        self._waiting: list[pa.Table] = []
        self._waits = 0
        self.rows = 0

    def write(self, rows: pa.Table) -> None:
        """Put rows aside, each with its bucket's."""
        self.rows += rows.num_rows
        self._waiting.append(rows)
        self._waits += rows.num_rows
        if self._waits >= _TOGETHER:
            self._divide()

    def _divide(self) -> None:
        """Rows are divided many at a time: each time costs something per bucket."""
        rows = pa.concat_tables(self._waiting).combine_chunks()
        self._waiting, self._waits = [], 0
        if self._shift == 32:
            numbers = pa.repeat(pa.scalar(0, pa.uint32()), rows.num_rows)
        else:
            numbers = pc.shift_right(rows["bucket_key"].combine_chunks(), pa.scalar(self._shift, pa.uint32()))
        self._spread.write(rows, numbers)

    def files(self) -> Files:
        """Everything written, as an input relation; nothing more may be written."""
        return Files(self._table, [path for paths in self.by_bucket(1).values() for path in paths])

    def by_bucket(self, buckets: int) -> dict[int, list[Path]]:
        """The files of each of so many buckets, for those that rows came for; nothing more may be written."""
        if self._waiting:
            self._divide()
        self._spread.end()
        found: dict[int, list[Path]] = {}
        for bucket, file in sorted(self._files.items()):
            file.close()
            found.setdefault(bucket * buckets // self._buckets, []).append(file.path)
        return found

    def discard(self) -> None:
        """Close what is open; the folder goes with its owner."""
        for file in self._files.values():
            with contextlib.suppress(OSError):  # what could not be written cannot be ended either, on a full disk
                file.close()

    def _open(self, bucket: int) -> _File:
        self._files[bucket] = _File(self._folder / bucket_part(bucket), self._table)
        return self._files[bucket]


class _File:
    """A Parquet file for the length of a run: written fast, never forced to disk."""

    def __init__(self, path: Path, table: Table) -> None:
        self.path = path
        self._table = table
        self._writer = pq.ParquetWriter(path, table.schema, compression="lz4")

    def write(self, rows: pa.Table) -> None:
        self._writer.write_table(conform(rows, self._table).cast(self._writer.schema))

    def close(self) -> None:
        self._writer.close()


@contextmanager
def routed(folder: Path, table: Table, buckets: int) -> Iterator[Routed]:
    """A Routed in ``folder``, which is gone when the block ends."""
    rows = Routed(fs.make_folder(folder), table, buckets)
    try:
        with fs.room_in(folder.parent):
            yield rows
    finally:
        rows.discard()
        fs.remove(folder)
