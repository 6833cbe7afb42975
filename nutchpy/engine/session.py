"""A SQL session for people: views over files, read-only unless asked otherwise.

Knows DuckDB (engine's room) and nothing of crawls: the caller gives the statements that make the views and the folder
that reads are limited to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from nutchpy.core.errors import DamagedError, EngineError, NutchpyError, UsageError

_READ_ONLY: Final = ("SELECT", "EXPLAIN")
_EXPLAIN: Final = re.compile(r"\s*explain(\s+analyze)?(\s*\([^)]*\))?\s", re.IGNORECASE)
_BATCH_ROWS: Final = 8_192
_FAILURES: Final = (duckdb.Error, OSError, pa.ArrowException, RuntimeError)
"""What a query ends with: DuckDB's own, and what becomes of them on their way through Arrow's reader."""
_OF_THE_QUERY: Final = (duckdb.ConversionException, duckdb.InvalidInputException, duckdb.OutOfRangeException)
_DAMAGE: Final = (
    ".parquet",
    "Parquet",
    "parquet",
    "magic bytes",
    "ZSTD",
    "Snappy",
    "TProtocolException",
    "page header",
)


@dataclass(frozen=True)
class Limits:
    """What a session may use: ``memory`` as DuckDB writes it (``4GB``), ``threads`` (0: all), a folder to spill to."""

    memory: str
    threads: int
    spill: Path


class Session:
    """One connection with a set of views. ``unsafe`` lifts the limits on statements and on what may be read."""

    def __init__(self, views: Sequence[str], readable: Path, limits: Limits, unsafe: bool = False) -> None:
        self._unsafe = unsafe
        config: dict[str, Any] = {
            "memory_limit": limits.memory,
            "temp_directory": str(limits.spill),
            "autoinstall_known_extensions": False,
            "TimeZone": "UTC",
        }
        if limits.threads > 0:
            config["threads"] = limits.threads
        self._connection = duckdb.connect(":memory:", config=config)
        try:
            for view in views:
                self._connection.execute(view)
        except duckdb.Error as error:
            raise DamagedError(f"a table cannot be read: {str(error).strip().splitlines()[0]}") from error
        if not unsafe:
            self._confine(readable)

    def run(self, query: str, params: Mapping[str, Any] | None = None) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Schema and rows of one statement; UsageError when it is not one that only reads."""
        if not self._unsafe:
            require_read_only(query)
        try:
            relation: Any = self._connection.cursor().sql(query, params=dict(params or {}))
            if relation is None:  # a statement without rows, let through by --unsafe
                return pa.schema([]), iter(())
            reader = relation.to_arrow_reader(_BATCH_ROWS)
        except _FAILURES as error:
            raise _explained(error) from error
        return reader.schema, _batches(reader)

    def close(self) -> None:
        """Let go of files."""
        self._connection.close()

    def _confine(self, readable: Path) -> None:
        self._connection.execute("set allowed_directories = $folders", {"folders": [str(readable)]})
        self._connection.execute("set enable_external_access = false")
        self._connection.execute("set lock_configuration = true")


def require_read_only(query: str) -> None:
    """UsageError unless ``query`` is one statement that DuckDB's own parser types as SELECT or EXPLAIN of one."""
    try:
        kinds = [statement.type.name for statement in duckdb.extract_statements(query)]
    except duckdb.Error as error:
        raise _explained(error) from error
    if len(kinds) != 1:
        raise UsageError(f"one statement at a time: this is {len(kinds)}")
    if kinds[0] not in _READ_ONLY:
        raise UsageError(f"only SELECT and EXPLAIN run here, not {kinds[0]}; --unsafe lifts this")
    inner = _EXPLAIN.sub("", query, count=1)
    if kinds[0] == "EXPLAIN" and inner != query:
        require_read_only(inner)
    elif kinds[0] == "EXPLAIN":
        raise UsageError("write EXPLAIN directly before the SELECT it explains")


def _batches(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    try:
        yield from reader
    except _FAILURES as error:
        raise _explained(error) from error


def _explained(error: Exception) -> NutchpyError:
    """What the user wrote is a usage error, with DuckDB's pointer into it; a file that does not read is damage."""
    text = str(error).strip()
    if isinstance(error, (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)):
        return UsageError(text)
    if isinstance(error, duckdb.PermissionException):
        return UsageError(f"{text.splitlines()[0]}; reads are limited to the crawl (--unsafe lifts this)")
    if any(sign in text for sign in _DAMAGE):
        return DamagedError(f"a table cannot be read (nutchpy doctor finds the part): {text.splitlines()[0]}")
    return UsageError(text) if isinstance(error, _OF_THE_QUERY) else EngineError(text)
