"""Between Arrow and the fetcher's rows: a fetch list as pieces for the feeder, rows as tables for the output."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.fetcher.item import FetchItem, Row
from nutchpy.storage.parts import opened, read_columns
from nutchpy.storage.schema import Table

PIECE_ROWS: Final = 1024
_OPEN_PIECES: Final = 8
QUEUE_COLUMN: Final[Mapping[str, str]] = {"byHost": "host", "byDomain": "domain", "byIP": "queue_id"}
"""Which column of a fetch list names the queue, by ``fetcher.queue.mode``."""

Prepare = Callable[[pa.RecordBatch], pa.RecordBatch]
"""What becomes of the rows of a list before they are queued."""

_COLUMNS: Final = (
    "url",
    "host",
    "domain",
    "status",
    "fetch_time",
    "modified_time",
    "retries",
    "fetch_interval",
    "score",
    "signature",
    "depth",
    "etag",
    "last_modified",
    "metadata",
)


class ListPiece:
    """A run of rows of a fetch list, as columns; as Python rows while it is among the last few that were opened."""

    def __init__(self, batch: pa.RecordBatch, queue_column: str, opened: deque[ListPiece]) -> None:
        self._batch = batch.select(list(_COLUMNS))
        self._opened = opened
        self._rows: list[Row] | None = None
        self._touched = False
        self.queue_ids: list[str] = batch.column(queue_column).to_pylist()

    def items(self, positions: Sequence[int]) -> list[FetchItem]:
        """Those rows as items."""
        rows = self._some(positions)
        ids = self.queue_ids
        return [
            FetchItem(row["url"], row["host"], ids[position], row)
            for row, position in zip(rows, positions, strict=True)
        ]

    def _some(self, positions: Sequence[int]) -> list[Row]:
        """Converting a row alone costs as much as converting fifty at once: the first time, all are."""
        if not self._touched:
            self._open()
        if self._rows is not None:
            return [self._rows[position] for position in positions]
        return to_rows(self._batch.take(pa.array(positions, pa.int32())))

    def _open(self) -> None:
        self._touched = True
        self._rows = to_rows(self._batch)
        self._opened.append(self)
        if len(self._opened) > _OPEN_PIECES:
            self._opened.popleft()._rows = None


def list_pieces(
    path: Path, queue_column: str, done: pa.Array | None, prepare: Prepare | None = None
) -> Iterator[ListPiece]:
    """A fetch list piece by piece, without the URLs in ``done``, and as ``prepare`` leaves it."""
    columns = list(dict.fromkeys((*_COLUMNS, queue_column)))
    mask = None if done is None or len(done) == 0 else _undone(path, done)
    start = 0
    recent: deque[ListPiece] = deque()
    with opened(path) as file:
        for batch in file.iter_batches(PIECE_ROWS, columns=columns):
            rows = batch if mask is None else batch.filter(mask.slice(start, batch.num_rows))
            start += batch.num_rows
            if prepare is not None:
                rows = prepare(rows)
            if rows.num_rows:
                yield ListPiece(rows, queue_column, recent)


def _undone(path: Path, done: pa.Array) -> pa.Array:
    """Which rows of a list are still to be fetched, a bit each."""
    urls = read_columns(path, ["url"]).column("url").combine_chunks()
    return pc.invert(pc.is_in(urls, value_set=done))


def column_texts(paths: Sequence[Path], column: str) -> Iterator[str]:
    """The distinct texts of one column of some parts, part by part."""
    for path in paths:
        yield from pc.unique(read_columns(path, [column]).column(column)).to_pylist()


def column_array(paths: Sequence[Path], column: str) -> pa.Array:
    """One column of some parts, whole."""
    chunks = [read_columns(path, [column]).column(column) for path in paths]
    return pa.chunked_array([c for chunk in chunks for c in chunk.chunks], pa.string()).combine_chunks()


def to_rows(batch: pa.RecordBatch) -> list[Row]:
    """Rows by column name, times as microseconds."""
    columns = [_plain(column) for column in batch.columns]
    names = batch.schema.names
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def to_table(rows: Sequence[Mapping[str, Any]], table: Table) -> pa.Table:
    """Rows as a table's columns; what may be null may be left out."""
    schema = table.schema
    arrays = [pa.array(_values(rows, field), field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _values(rows: Sequence[Mapping[str, Any]], field: pa.Field) -> list[Any]:
    name = field.name
    return [row.get(name) for row in rows] if field.nullable else [row[name] for row in rows]


def _plain(column: pa.Array) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    values: list[Any] = column.to_pylist()
    return values
