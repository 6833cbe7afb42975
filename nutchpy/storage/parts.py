"""Parts: the Parquet files of a table folder. Names, writing one aside and publishing it, checking one.

A segment part is ``part-<list>-<flush>.parquet``, or ``part-<list>-<first>-<last>.parquet`` once flushes are merged; a
merged part stands for every flush in its range, so the parts it replaces are dead even before they are removed.
A database part is ``part-<bucket>.parquet``, or, of a bucket too big for memory, ``part-<bucket>-<slice>.parquet``.
Whatever else lies in a table folder begins with ``_`` or ``.``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from nutchpy.core.errors import DamagedError
from nutchpy.storage import fs
from nutchpy.storage.schema import SCHEMA_VERSION, Column, Table

_SEGMENT_PART: Final = re.compile(r"part-(\d{5})-(\d{5})(?:-(\d{5}))?\.parquet")
_BATCH_ROWS: Final = 65_536
_VERSION: Final = str(SCHEMA_VERSION).encode()
_DATABASE_PART: Final = re.compile(r"part-(\d{5})(?:-(\d{5}))?\.parquet")


@dataclass(frozen=True, order=True, slots=True)
class PartName:
    """A segment part: fetch list, first and last flush it holds."""

    list: int
    first: int
    last: int

    def __str__(self) -> str:
        tail = "" if self.first == self.last else f"-{self.last:05d}"
        return f"part-{self.list:05d}-{self.first:05d}{tail}.parquet"

    def covers(self, other: PartName) -> bool:
        """Whether this part holds all that ``other`` holds."""
        return self.list == other.list and self.first <= other.first and other.last <= self.last

    @classmethod
    def parse(cls, name: str) -> PartName | None:
        """The name taken apart; None for a file that is no segment part."""
        match = _SEGMENT_PART.fullmatch(name)
        if match is None:
            return None
        number, first, last = match.groups()
        return cls(int(number), int(first), int(last or first))


def bucket_part(bucket: int, number: int | None = None) -> str:
    """File name of a database bucket, or of one of its slices."""
    return f"part-{bucket:05d}.parquet" if number is None else f"part-{bucket:05d}-{number:05d}.parquet"


def bucket_number(path: Path) -> int | None:
    """The bucket that a file of a database generation belongs to; None for a file that is no part."""
    match = _DATABASE_PART.fullmatch(path.name)
    return None if match is None else int(match[1])


def database_parts(folder: Path) -> list[Path]:
    """The files of a database generation, in the order of their buckets and, within one, of its rows."""
    return sorted(path for path in folder.iterdir() if _DATABASE_PART.fullmatch(path.name))


def segment_parts(folder: Path) -> list[tuple[PartName, Path]]:
    """The live parts of a segment table, in order; parts that a merged one stands for are left out."""
    if not folder.is_dir():
        return []
    found = sorted((name, path) for path in folder.iterdir() if (name := PartName.parse(path.name)))
    return [(name, path) for name, path in found if not _replaced(name, (other for other, _ in found))]


def _replaced(name: PartName, others: Iterable[PartName]) -> bool:
    return any(other != name and other.covers(name) for other in others)


def covered(name: PartName, applied: Iterable[PartName]) -> bool:
    """Whether every flush of ``name`` stands in ``applied`` parts."""
    flushes = {n for part in applied if part.list == name.list for n in range(part.first, part.last + 1)}
    return all(n in flushes for n in range(name.first, name.last + 1))


def joined(names: Iterable[PartName]) -> list[PartName]:
    """The same flushes under as few names as possible."""
    found: list[PartName] = []
    for name in sorted(names):
        last = found[-1] if found else None
        if last is not None and last.list == name.list and name.first <= last.last + 1:
            found[-1] = PartName(last.list, last.first, max(last.last, name.last))
        else:
            found.append(name)
    return found


class PartWriter:
    """Writes one part aside, batch by batch; ``publish`` makes it durable and gives it its name."""

    def __init__(self, target: Path, table: Table, key_values: dict[str, str] | None = None) -> None:
        self._target = target
        self._aside = target.with_name(f"_{target.name}.{os.getpid()}.tmp")
        self._table = table
        schema = table.schema.with_metadata({**table.key_values, **(key_values or {})})
        fs.make_folder(target.parent)
        self._writer = pq.ParquetWriter(
            self._aside, schema, compression="zstd", compression_level=3, write_page_checksum=True
        )
        self.rows = 0

    def write(self, batch: pa.RecordBatch | pa.Table, row_group_rows: int | None = None) -> None:
        """Append rows, cast to the declared schema."""
        table = pa.table(batch) if isinstance(batch, pa.RecordBatch) else batch
        self._writer.write_table(
            conform(table, self._table).cast(self._writer.schema), row_group_rows or self._table.row_group_rows
        )
        self.rows += table.num_rows

    def bytes_written(self) -> int:
        """Bytes on disk so far."""
        return self._aside.stat().st_size

    def publish(self) -> Path:
        """Close, force to disk, rename into place."""
        self._writer.close()
        fs.fsync_file(self._aside)
        fs.rename(self._aside, self._target)
        return self._target

    def discard(self) -> None:
        """Close and remove what was written; a disk too full to end it is no news any more."""
        try:
            with suppress(OSError, pa.ArrowException):
                self._writer.close()
        finally:
            fs.remove(self._aside)


@contextmanager
def writing(target: Path, table: Table, key_values: dict[str, str] | None = None) -> Iterator[PartWriter]:
    """A PartWriter published when the block ends well, discarded when it raises."""
    writer = PartWriter(target, table, key_values)
    try:
        yield writer
        writer.publish()
    except BaseException:
        writer.discard()
        raise


def write_part(target: Path, table: Table, rows: pa.Table, row_group_rows: int | None = None) -> Path:
    """Write and publish a whole table as one part."""
    with writing(target, table) as writer:
        writer.write(rows, row_group_rows)
    return target


def conform(rows: pa.Table, table: Table) -> pa.Table:
    """Columns in declared order and type; DamagedError when one is missing."""
    missing = [name for name in table.schema.names if name not in rows.column_names]
    if missing:
        raise DamagedError(f"rows for {table.name} lack the columns {', '.join(missing)}")
    return rows.select(table.schema.names).cast(table.schema.remove_metadata())


def completed(rows: pa.Table, table: Table) -> pa.Table:
    """Rows of a part with the columns that were declared after it was written."""
    for column in table.columns:
        if column.may_be_absent and column.name not in rows.column_names:
            rows = rows.append_column(column.name, pa.repeat(pa.scalar(column.default, column.type), rows.num_rows))
    return rows


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[pq.ParquetFile]:
    """A part to read in a block, page checksums verified; DamagedError naming it when its bytes are not a part's."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True, **options) as file:
            yield file
    except (pa.ArrowException, KeyError) as error:
        raise DamagedError(f"{path} cannot be read as Parquet: {error}") from error
    except OSError as error:
        if error.errno is not None:  # not there, no right, a failing disk: said as it is
            raise
        raise DamagedError(f"{path} cannot be read as Parquet: {error}") from error


def read_columns(path: Path, columns: Sequence[str]) -> pa.Table:
    """Some columns of a part, whole; DamagedError as ``opened``."""
    with opened(path) as file:
        return file.read(columns=list(columns))


def part_batches(path: Path, table: Table, rows: int = _BATCH_ROWS) -> Iterator[pa.Table]:
    """A part's rows in their order, some at a time (fewer of a table whose rows are long), as it is declared now."""
    with opened(path) as file:
        for batch in file.iter_batches(min(rows, table.row_group_rows)):
            yield conform(completed(pa.Table.from_batches([batch]), table), table)


def check_part(path: Path, table: Table) -> int:
    """The row count of a readable part of the declared schema; DamagedError naming the file otherwise."""
    return _footer(path, table)[1]


def absent_columns(path: Path, table: Table) -> tuple[Column, ...]:
    """The declared columns that a part lacks since it is older than they are; DamagedError as ``check_part``."""
    found = _footer(path, table)[0]
    return tuple(column for column in table.columns if column.name not in found)


def _footer(path: Path, table: Table) -> tuple[frozenset[str], int]:
    """Names of a part's columns, and how many rows it has."""
    try:
        with pa.OSFile(str(path)) as source, pq.ParquetFile(source) as file:
            schema, metadata = file.schema_arrow, file.metadata
            rows = int(metadata.num_rows)
    except (OSError, pa.ArrowException) as error:
        raise DamagedError(f"{path} cannot be read as Parquet: {error}") from error
    key_values = metadata.metadata or {}
    if key_values.get(b"nutchpy.schema_version") != _VERSION:
        _check_version(path, key_values)
    names, drift = _compared(schema.remove_metadata(), table)
    if drift:
        raise DamagedError(f"{path} is not a part of {table.name}: {'; '.join(drift)}")
    return names, rows


@lru_cache(maxsize=256)
def _compared(schema: pa.Schema, table: Table) -> tuple[frozenset[str], Sequence[str]]:
    """Column names, and where they are not as declared: of the parts of a crawl nearly all have the same schema."""
    return frozenset(schema.names), _drift(schema, table)


def _check_version(path: Path, key_values: dict[bytes, bytes]) -> None:
    version = int(key_values.get(b"nutchpy.schema_version", b"0"))
    if version > SCHEMA_VERSION:
        raise DamagedError(
            f"{path} has schema version {version}, newer than this nutchpy ({SCHEMA_VERSION}); upgrade it"
        )


def _drift(found: pa.Schema, table: Table) -> Sequence[str]:
    return [
        f"column {column.name} is {_type_of(found, column.name)}, not {column.type}"
        for column in table.columns
        if not (column.may_be_absent and column.name not in found.names)
        and not _same_type(_type_of(found, column.name), column.type)
    ]


def _type_of(schema: pa.Schema, name: str) -> pa.DataType | None:
    index = schema.get_field_index(name)
    return None if index < 0 else schema.field(index).type


def _same_type(found: pa.DataType | None, declared: pa.DataType) -> bool:
    """Equal but for the names that writers give to the inner fields of lists and maps, and their nullability."""
    if found is None:
        return False
    if pa.types.is_dictionary(found):
        found = found.value_type
    if pa.types.is_list(declared):
        return pa.types.is_list(found) and _same_type(found.value_type, declared.value_type)
    if pa.types.is_map(declared):
        return bool(
            pa.types.is_map(found) and found.key_type == declared.key_type and found.item_type == declared.item_type
        )
    if pa.types.is_struct(declared):
        return pa.types.is_struct(found) and [(f.name, f.type) for f in found] == [(f.name, f.type) for f in declared]
    return bool(found == declared)
