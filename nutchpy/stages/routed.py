"""Rows on their way into a database, put aside as Parquet: one file per bucket, so that each bucket reads its own.

A temporary folder beside what is being built; bounded memory however many rows come.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.core.errors import StorageError
from nutchpy.engine.base import Files
from nutchpy.storage import fs
from nutchpy.storage.parts import PartWriter, bucket_part
from nutchpy.storage.schema import Table

_FLUSH_ROWS: Final = 65_536


class Routed:
    """Takes rows with a ``bucket_key``; ``files`` are what came of them."""

    def __init__(self, folder: Path, table: Table, buckets: int) -> None:
        self._folder = folder
        self._table = table
        self._shift = 32 - (buckets.bit_length() - 1)
        self._waiting: dict[int, list[pa.Table]] = {}
        self._writers: dict[int, PartWriter] = {}
        self.rows = 0

    def write(self, rows: pa.Table) -> None:
        """Put rows aside, each with its bucket's."""
        self.rows += rows.num_rows
        for bucket, mine in self._split(rows):
            waiting = self._waiting.setdefault(bucket, [])
            waiting.append(mine)
            if sum(table.num_rows for table in waiting) >= _FLUSH_ROWS:
                self._flush(bucket)

    def files(self) -> Files:
        """Everything written, as an input relation; nothing more may be written."""
        return Files(self._table, list(self.by_bucket().values()))

    def by_bucket(self) -> dict[int, Path]:
        """The file of each bucket that rows came for; nothing more may be written."""
        for bucket in list(self._waiting):
            self._flush(bucket)
        paths = {bucket: writer.publish() for bucket, writer in sorted(self._writers.items())}
        self._writers.clear()
        return paths

    def discard(self) -> None:
        """Close what is open; the folder goes with its owner."""
        for writer in self._writers.values():
            with contextlib.suppress(OSError):  # what could not be written cannot be ended either, on a full disk
                writer.discard()

    def _split(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        if self._shift == 32:
            yield 0, rows
            return
        numbers = pc.shift_right(rows["bucket_key"].combine_chunks(), pa.scalar(self._shift, pa.uint32()))
        for bucket in pc.unique(numbers).to_pylist():
            yield bucket, rows.filter(pc.equal(numbers, bucket))

    def _flush(self, bucket: int) -> None:
        rows = pa.concat_tables(self._waiting.pop(bucket))
        if bucket not in self._writers:
            self._writers[bucket] = PartWriter(self._folder / bucket_part(bucket), self._table)
        self._writers[bucket].write(rows.combine_chunks())


@contextmanager
def routed(folder: Path, table: Table, buckets: int) -> Iterator[Routed]:
    """A Routed in ``folder``, which is gone when the block ends."""
    rows = Routed(fs.make_folder(folder), table, buckets)
    try:
        yield rows
    except OSError as error:
        if error.filename is not None:
            raise
        raise StorageError(f"{folder.parent} cannot be written: {error}") from error  # pyarrow does not say where
    finally:
        rows.discard()
        fs.remove(folder)
