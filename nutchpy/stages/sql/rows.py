"""Rows of any query written for people and programs: an aligned table, CSV, JSON lines, Parquet."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from nutchpy.core.errors import UsageError

_WIDEST: Final = 80
_ALIGNED: Final = 1_000
"""Rows that column widths are taken from; later ones are cut to them, so that a table streams."""
_ENDINGS: Final = {".csv": "csv", ".json": "json", ".jsonl": "json", ".parquet": "parquet", ".txt": "table"}


def form_of(path: Path) -> str:
    """The format that a file's ending asks for; UsageError when it asks for none we have."""
    try:
        return _ENDINGS[path.suffix.lower()]
    except KeyError:
        raise UsageError(f"{path}: say --format table, csv, json or parquet") from None


def lines(form: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    """The rows as text lines."""
    names, rows = schema.names, _rows(batches)
    if form == "csv":
        yield _csv(names)
        yield from (_csv(["" if value is None else _text(value) for value in row]) for row in rows)
    elif form == "json":
        yield from (_json(dict(zip(names, row, strict=True))) for row in rows)
    else:
        yield from _table(names, rows)


def objects(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """One JSON-ready object per row."""
    for batch in batches:
        names = batch.schema.names
        for row in _rows([batch]):
            yield {name: _plain(value) for name, value in zip(names, row, strict=True)}


def write(path: Path, form: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    """Write the rows to a file, aside and then in place; their number."""
    aside = path.with_name(f"_{path.name}.tmp")
    counted = _Counted(batches)
    try:
        if form == "parquet":
            with pq.ParquetWriter(aside, schema, compression="zstd") as out:
                for batch in counted:
                    out.write_batch(batch)
        else:
            with aside.open("w", encoding="utf-8", errors="surrogateescape") as text:
                text.writelines(f"{line}\n" for line in lines(form, schema, counted))
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    return counted.rows


class _Counted:
    """Batches passed on, their rows counted."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = batches
        self.rows = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            self.rows += batch.num_rows
            yield batch


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    """Rows by position: two columns of one name stay two."""
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _table(names: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> Iterator[str]:
    first = [[_cell(value) for value in row] for row in islice(rows, _ALIGNED)]
    widths = [max(map(_width, column)) for column in zip(names, *first, strict=True)]
    yield _aligned(list(names), widths)
    yield "  ".join("-" * width for width in widths)
    yield from (_aligned(row, widths) for row in first)
    for row in rows:
        yield _aligned([_cell(value) for value in row], widths)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _width(text: str) -> int:
    """Columns on a terminal: wide East Asian characters take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _cell(value: Any) -> str:
    text = "" if value is None else _text(value)
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _text(value: Any) -> str:
    plain = _plain(value)
    return plain if isinstance(plain, str) else _json(plain)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, bytes):
        return value.hex() if len(value) <= 32 else value.decode("utf-8", "replace")
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list) and value and all(isinstance(item, tuple) for item in value):
        return {str(key): _plain(item) for key, item in value}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _json(value: Any) -> str:
    if isinstance(value, dict):
        value = {key: _plain(item) for key, item in value.items()}
    return json.dumps(value, ensure_ascii=False)


def _csv(fields: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()
