"""The DuckDB engine: the only module that knows DuckDB.

One database in memory per engine; a cursor per call, since an unfinished result blocks its connection. Relations are
temporary views of that cursor, so that calls do not see each other's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from nutchpy.core.errors import EngineError, StorageError, UsageError
from nutchpy.engine.base import Files, Input, Inputs, Params
from nutchpy.engine.damage import find_damage
from nutchpy.engine.sql_text import bytes_of, literal, parquet_rows, quoted, range_condition, sql_type
from nutchpy.storage.schema import Table

_BATCH_ROWS: Final = 65_536
_PREFIX: Final = "select "
_NOT_DAMAGE: Final = (
    duckdb.ConversionException,
    duckdb.InterruptException,
    duckdb.OutOfMemoryException,
    duckdb.OutOfRangeException,
    duckdb.ParserException,
)
_CODEC: Final = "format parquet, compression zstd, compression_level 3"


class DuckDBEngine:
    """Engine over one in-memory DuckDB; spills to ``temp_directory`` beyond ``memory_limit``."""

    def __init__(self, memory_limit: str, threads: int, temp_directory: Path) -> None:
        config: dict[str, Any] = {
            "memory_limit": memory_limit,
            "temp_directory": str(temp_directory),
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "TimeZone": "UTC",
        }
        if threads > 0:
            config["threads"] = threads
        self._database = duckdb.connect(":memory:", config=config)
        self._memory = bytes_of(_one(self._database, "select current_setting('memory_limit')", {}))

    @property
    def memory(self) -> int:
        """See Engine.memory."""
        return self._memory

    def read(self, sql: str, inputs: Inputs, params: Params | None = None) -> Iterator[pa.RecordBatch]:
        """See Engine.read."""
        with self._bound(inputs) as cursor, _explained(inputs):
            reader: Iterator[pa.RecordBatch] = cursor.sql(sql, params=dict(params or {})).to_arrow_reader(_BATCH_ROWS)
            yield from reader

    def table(self, sql: str, inputs: Inputs, params: Params | None = None) -> pa.Table:
        """See Engine.table."""
        with self._bound(inputs) as cursor, _explained(inputs):
            return cursor.sql(sql, params=dict(params or {})).to_arrow_table()

    def write(self, sql: str, inputs: Inputs, params: Params | None, out: Path, table: Table) -> int:
        """See Engine.write."""
        columns = ", ".join(f"cast({quoted(c.name)} as {sql_type(c.type)}) as {quoted(c.name)}" for c in table.columns)
        pairs = ", ".join(f"{literal(k)}: {literal(v)}" for k, v in table.key_values.items())
        copy = (
            f"copy (select {columns} from (\n{sql}\n)) to {literal(str(out))} "
            f"({_CODEC}, row_group_size {table.row_group_rows}, kv_metadata {{{pairs}}})"
        )
        with self._bound(inputs) as cursor, _explained(inputs):
            rows = int(cursor.execute(copy, dict(params or {})).fetchall()[0][0])
        if rows == 0:
            out.unlink()
        return rows

    def expression(self, text: str, table: Table) -> str:
        """See Engine.expression."""
        cursor = self._database.cursor()
        try:
            tree = json.loads(_one(cursor, "select json_serialize_sql($q)", {"q": _PREFIX + text}))
            _require_expression(text, tree)
            with self._bound({table.name: table.schema.empty_table()}) as bound:
                bound.execute(f"select 1 from {quoted(table.name)} where (\n{text}\n)")
                kind = bound.sql(f"select (\n{text}\n) from {quoted(table.name)}").types[0]
        except duckdb.Error as error:
            raise UsageError(f"the expression {text!r} cannot be used: {_first_line(error)}") from error
        finally:
            cursor.close()
        if str(kind) != "BOOLEAN":
            raise UsageError(f"the expression {text!r} is no condition: it gives {kind}, not true or false")
        return f"(\n{text}\n)"

    def regex(self, text: str) -> str:
        """See Engine.regex."""
        with self._bound({}) as cursor:
            try:
                _one(cursor, "select regexp_full_match('', $pattern)", {"pattern": text})
            except duckdb.Error as error:
                raise UsageError(f"{text!r} is not a regular expression: {_first_line(error)}") from error
        return text

    @contextmanager
    def _bound(self, inputs: Mapping[str, Input]) -> Iterator[duckdb.DuckDBPyConnection]:
        cursor = self._database.cursor()
        try:
            for name, relation in inputs.items():
                _bind(cursor, name, relation)
            yield cursor
        finally:
            cursor.close()


def _bind(cursor: duckdb.DuckDBPyConnection, name: str, relation: Input) -> None:
    if isinstance(relation, Files) and relation.paths:
        options = ", filename = 'path'" if relation.with_path else ""
        where = f" where {range_condition(relation.within)}" if relation.within else ""
        rows = parquet_rows(relation.table, relation.paths, options)
        with _explained({name: relation}):
            cursor.execute(f"create temp view {quoted(name)} as select * from ({rows}){where}")
    else:
        cursor.register(name, _no_rows(relation) if isinstance(relation, Files) else relation)


def _no_rows(files: Files) -> pa.Table:
    schema = files.table.schema.remove_metadata()
    return (schema.append(pa.field("path", pa.string())) if files.with_path else schema).empty_table()


@contextmanager
def _explained(inputs: Inputs) -> Iterator[None]:
    """DuckDB's errors as ours: damaged files by their names, full disks and the rest."""
    try:
        yield
    except duckdb.Error as error:
        if not isinstance(error, _NOT_DAMAGE):
            find_damage(inputs)
        if isinstance(error, duckdb.OutOfMemoryException):
            raise EngineError(f"{_first_line(error)} (db.memory.limit sets it)") from error
        if isinstance(error, duckdb.IOException):
            raise StorageError(f"reading or writing a table failed: {_first_line(error)}") from error
        raise EngineError(_first_line(error)) from error
    except (OSError, pa.ArrowException) as error:  # what goes wrong while a result is streamed comes as Arrow's
        if isinstance(error, OSError) and error.errno is not None:
            raise
        if "Out of Memory" in str(error):
            raise EngineError(f"{_first_line(error)} (db.memory.limit sets it)") from error
        find_damage(inputs)
        raise EngineError(_first_line(error)) from error


def _require_expression(text: str, tree: Mapping[str, Any]) -> None:
    if tree["error"]:
        at = max(int(tree.get("position") or len(_PREFIX)) - len(_PREFIX), 0)
        raise UsageError(f"the expression {text!r} is not valid at character {at + 1}: {tree['error_message']}")
    nodes = list(_nodes(tree["statements"]))
    if len(tree["statements"]) != 1 or len(tree["statements"][0]["node"].get("select_list", [])) != 1:
        raise UsageError(f"the expression {text!r} is not one expression")
    if tree["statements"][0]["node"].get("from_table", {}).get("type") != "EMPTY":
        raise UsageError(f"the expression {text!r} is not one expression: it has a FROM")
    for node in nodes:
        if node.get("class") in ("SUBQUERY", "STAR", "WINDOW", "PARAMETER"):
            at = max(int(node.get("query_location") or len(_PREFIX)) - len(_PREFIX), 0)
            kind = str(node["class"]).lower()
            raise UsageError(f"the expression {text!r} may not hold a {kind} (at character {at + 1})")


def _nodes(tree: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        for child in tree.values():
            yield from _nodes(child)
    elif isinstance(tree, list):
        for child in tree:
            yield from _nodes(child)


def _one(cursor: duckdb.DuckDBPyConnection, sql: str, params: Params) -> Any:
    return cursor.execute(sql, dict(params)).fetchall()[0][0]


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
