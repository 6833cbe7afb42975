"""Names, values and types written as SQL text: the few places where a statement has to be built.

Values go into statements as parameters; these are for what cannot (paths in a view, column types).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa

from nutchpy.engine.base import Range
from nutchpy.storage.parts import absent_columns
from nutchpy.storage.schema import Column, Table

_UNITS: Final = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SQL_TYPES: Final[Mapping[pa.DataType, str]] = {
    pa.string(): "varchar",
    pa.binary(): "blob",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.uint32(): "uinteger",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.timestamp("us", tz="UTC"): "timestamp with time zone",
}


def quoted(name: str) -> str:
    """An identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str | None) -> str:
    """A string, or NULL."""
    return "null" if text is None else "'" + text.replace("'", "''") + "'"


def file_list(paths: Iterable[Path]) -> str:
    """A list of paths, as ``read_parquet`` takes it."""
    return f"[{', '.join(literal(str(path)) for path in paths)}]"


def sql_type(kind: pa.DataType) -> str:
    """The SQL type that holds an Arrow type of our schemas."""
    if pa.types.is_list(kind):
        return f"{sql_type(kind.value_type)}[]"
    if pa.types.is_map(kind):
        return f"map({sql_type(kind.key_type)}, {sql_type(kind.item_type)})"
    if pa.types.is_struct(kind):
        return f"struct({', '.join(f'{quoted(f.name)} {sql_type(f.type)}' for f in kind)})"
    return _SQL_TYPES[kind]


def parquet_rows(table: Table, paths: Iterable[Path], options: str = "") -> str:
    """A SELECT of all rows of some parts, with null or the default in columns that are younger than a part."""
    groups: dict[tuple[Column, ...], list[Path]] = {}
    for path in paths:
        groups.setdefault(absent_columns(path, table), []).append(path)
    selects = [f"select *{_filled(absent)} from read_parquet({file_list(g)}{options})" for absent, g in groups.items()]
    return "\nunion all by name ".join(selects)


def _filled(absent: Iterable[Column]) -> str:
    values = [(None if column.default is None else str(column.default), column) for column in absent]
    return "".join(f", cast({literal(value)} as {sql_type(c.type)}) as {quoted(c.name)}" for value, c in values)


def range_condition(within: Range) -> str:
    """The condition for rows in a range; its bounds on the host alone let row groups be skipped."""
    conditions = ["true"]
    if within.first is not None:
        host, url = map(literal, within.first)
        conditions.append(f"host >= {host} and (host > {host} or url >= {url})")
    if within.end is not None:
        host, url = map(literal, within.end)
        conditions.append(f"host <= {host} and (host < {host} or url < {url})")
    return " and ".join(conditions)


def bytes_of(text: str) -> int:
    """A size as DuckDB shows it: ``5.8 GiB``."""
    number, _, unit = text.partition(" ")
    return int(float(number) * _UNITS[unit])
