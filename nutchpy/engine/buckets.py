"""How many buckets a database has, and how it gets more (or fewer) of them.

Buckets are cut by the top bits of the host's hash, so that one of 16 falls apart into whole ones of 64. May know: the
engine for sorting, generations; not what a stage does with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import pyarrow as pa

from nutchpy.core.urls import bucket_keys, bucket_of
from nutchpy.engine.base import Engine, Files
from nutchpy.engine.slices import BYTES_PER_ROW, write_sliced
from nutchpy.storage import fs
from nutchpy.storage.database import BUCKET_COUNTS, Draft, Generation
from nutchpy.storage.parts import PartWriter, bucket_part, part_batches
from nutchpy.storage.schema import Table
from nutchpy.storage.spread import Spread

FINEST: Final = BUCKET_COUNTS[-1]
_MOST_ROWS: Final = {1: 1_000_000, 16: 64_000_000}
_SORTED: Final = "select * from db order by host, url"


def buckets_for(rows: int, memory: int) -> int:
    """Buckets of a database with so many rows: one while it is small, more so that each fits into memory."""
    for count in BUCKET_COUNTS:
        if rows <= _MOST_ROWS.get(count, rows) and rows * BYTES_PER_ROW <= count * memory:
            return count
    return FINEST


@contextmanager
def fitted(
    engine: Engine, before: Generation | None, draft: Draft, added: int = 0, buckets: int | None = None
) -> Iterator[Generation | None]:
    """The present generation with as many buckets as its rows and ``added`` ones need; ``draft`` is told the number.

    Usually that is the present generation itself: a database never gets fewer buckets of its own accord. ``buckets``
    asks for a number. What was made for the block is gone after it.
    """
    present = before.meta.rows if before else 0
    least = before.meta.buckets if before else 1
    count = buckets or max(least, buckets_for(present + added, engine.memory))
    draft.meta = replace(draft.meta, buckets=count)
    if before is None or count == before.meta.buckets:
        yield before
        return
    folder = fs.make_folder(draft.path / "_rebucketed")
    try:
        _divide(before, folder, count, draft.table) if count > before.meta.buckets else _join(
            engine, before, folder, count, draft.table
        )
        yield Generation(folder, replace(before.meta, buckets=count))
    finally:
        fs.remove(folder)


def _divide(before: Generation, folder: Path, count: int, table: Table) -> None:
    """Each bucket into several. Rows stay in their order, so that nothing has to be sorted."""
    for bucket in range(before.meta.buckets):
        writers: dict[int, PartWriter] = {}

        def open_writer(number: int, writers: dict[int, PartWriter] = writers) -> PartWriter:
            writers[number] = PartWriter(folder / bucket_part(number), table)
            return writers[number]

        spread = Spread(open_writer, table.row_group_rows)
        try:
            for part in before.bucket(bucket):
                for rows in part_batches(part, table):
                    spread.write(rows, _numbers(rows["host"].combine_chunks(), count))
            spread.end()
        except BaseException:
            for writer in writers.values():
                writer.discard()
            raise
        for writer in writers.values():
            writer.publish()


def _numbers(hosts: pa.Array, count: int) -> pa.Array:
    encoded = hosts if pa.types.is_dictionary(hosts.type) else hosts.dictionary_encode()
    keys = bucket_keys(encoded.dictionary.to_pylist())
    return pa.array([bucket_of(key, count) for key in keys], pa.uint32()).take(encoded.indices)


def _join(engine: Engine, before: Generation, folder: Path, count: int, table: Table) -> None:
    """Several buckets into one each."""
    width = before.meta.buckets // count
    for bucket in range(count):
        parts = [part for old in range(bucket * width, (bucket + 1) * width) for part in before.bucket(old)]
        if parts:

            def part_path(number: int | None, bucket: int = bucket) -> Path:
                return folder / bucket_part(bucket, number)

            write_sliced(engine, _SORTED, {"db": Files(table, parts)}, {}, part_path, table, ["db"])
