"""Rows of a database part in their order: read a row group at a time, written as a bucket's file or files.

Columns of few distinct values stay coded (as dictionaries) on their way from one part to the next, which halves what
copying costs. May know: parts and their schema; not what changes on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from nutchpy.storage.parts import check_part, completed, opened
from nutchpy.storage.schema import Table

_CODE: Final = pa.dictionary(pa.int32(), pa.string())

Place = Callable[[int | None], Path]
"""Where slice 0, 1, … of a bucket goes, and, for None, the whole of it."""


def coded_schema(table: Table) -> pa.Schema:
    """The table's schema with its coded columns as dictionaries."""
    fields = [pa.field(c.name, _CODE if c.name in table.coded else c.type, nullable=c.nullable) for c in table.columns]
    return pa.schema(fields)


def coded(rows: pa.Table, table: Table) -> pa.Table:
    """Rows with all the table's columns, coded, in one piece; ValueError for a null where none may be."""
    schema = coded_schema(table)
    columns = [_as(rows[field.name], field.type) for field in schema]
    return pa.table(columns, names=schema.names).cast(schema).combine_chunks()


def _as(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(column.type):
        return column.cast(pa.string()).dictionary_encode()
    return column if column.type == kind else column.cast(kind)


def decoded(rows: pa.Table) -> pa.Table:
    """Rows as those expect them who know nothing of dictionaries."""
    for place, field in enumerate(rows.schema):
        if pa.types.is_dictionary(field.type):
            rows = rows.set_column(place, field.name, rows[field.name].cast(field.type.value_type))
    return rows


def together(tables: list[pa.Table]) -> pa.Table:
    """Coded rows one after the other, with one dictionary for each column."""
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries()


def row_groups(path: Path, table: Table) -> Iterator[pa.Table]:
    """A part's rows, coded, as many at a time as it was written with; DamagedError as ``check_part`` and ``opened``."""
    check_part(path, table)
    with opened(path, read_dictionary=list(table.coded)) as file:
        for number in range(file.num_row_groups):
            yield coded(completed(file.read_row_group(number, use_threads=False), table), table)


class BucketWriter:
    """Writes coded rows in full row groups: into one file, or into slices of so many rows each."""

    def __init__(self, place: Place, table: Table, slice_rows: int | None) -> None:
        self._place = place
        self._table = table
        self._slice_rows = slice_rows
        self._group_rows = min(table.row_group_rows, slice_rows or table.row_group_rows)
        self._waiting: list[pa.Table] = []
        self._waits = 0
        self._writer: pq.ParquetWriter | None = None
        self._path = place(None)
        self._slices = 0
        self._in_slice = 0

    def write(self, rows: pa.Table) -> None:
        """Append rows."""
        if rows.num_rows:
            self._waiting.append(rows)
            self._waits += rows.num_rows
        while self._waits >= self._group_rows:
            self._flush()

    def end(self) -> None:
        """Write what still waits."""
        if self._waits:
            self._flush()
        self.close()

    def close(self) -> None:
        """End the file that is open."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _flush(self) -> None:
        rows = together(self._waiting)
        self._write(rows.slice(0, self._group_rows))
        rest = rows.slice(self._group_rows)
        self._waiting, self._waits = [rest] if rest.num_rows else [], rest.num_rows

    def _write(self, rows: pa.Table) -> None:
        if self._writer is None:
            self._writer = self._open()
        self._writer.write_table(rows, self._group_rows)
        self._in_slice += rows.num_rows
        if self._slice_rows is not None and self._in_slice >= self._slice_rows:
            self.close()

    def _open(self) -> pq.ParquetWriter:
        self._path = self._place(None if self._slice_rows is None else self._slices)
        self._slices += 1
        self._in_slice = 0
        schema = coded_schema(self._table)
        writer = pq.ParquetWriter(
            self._path,
            schema,
            compression="zstd",
            compression_level=3,
            use_dictionary=list(_with_dictionary(self._table)),
            write_statistics=["url", *(c.name for c in self._table.columns if not c.varied)],
            store_schema=False,  # it would make every reader's columns dictionaries
        )
        writer.add_key_value_metadata(self._table.key_values)
        return writer


def _with_dictionary(table: Table) -> Iterator[str]:
    """The columns, as Parquet names them, that are written with a dictionary."""
    for column in table.columns:
        if pa.types.is_map(column.type):
            yield from (f"{column.name}.key_value.{part}" for part in ("key", "value"))
        elif not column.varied:
            yield column.name


@contextmanager
def bucket_writer(place: Place, table: Table, slice_rows: int | None = None) -> Iterator[BucketWriter]:
    """A BucketWriter whose files are whole when the block ends well."""
    writer = BucketWriter(place, table, slice_rows)
    try:
        yield writer
        writer.end()
    finally:
        writer.close()
