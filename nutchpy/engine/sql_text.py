"""Names, values and types written as SQL text: the few places where a statement has to be built.

Values go into statements as parameters; these are for what cannot (paths in a view, column types).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa

from nutchpy.engine.base import Range

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
