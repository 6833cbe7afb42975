"""schema: show the tables, or the columns of one: name, type (``?`` when it may be null), meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nutchpy.core.errors import UsageError
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument
from nutchpy.storage.schema import SCHEMA_VERSION, TABLES, Column, Table

EXAMPLE = """\
nutchpy schema
nutchpy schema crawldb"""


@dataclass(frozen=True)
class SchemaOptions(Options):
    """See the module."""

    table: str | None = argument("A table, such as crawldb.", None)


def run(options: SchemaOptions, ctx: Context) -> Outcome:
    """Print the declarations."""
    if options.table is None:
        lines = (f"{table.name:16} {table.doc}" for table in TABLES.values())
        return Outcome(lines=lines, data=[_described(table) for table in TABLES.values()])
    table = TABLES.get(options.table)
    if table is None:
        raise UsageError(f"no table {options.table!r}; there are {', '.join(TABLES)}")
    return Outcome(lines=_columns(table), data=_described(table))


def _columns(table: Table) -> Iterator[str]:
    yield f"{table.name} (schema version {SCHEMA_VERSION}): {table.doc}"
    name_width = max(len(column.name) for column in table.columns)
    type_width = min(34, max(len(_type(column)) for column in table.columns))
    for column in table.columns:
        yield f"  {column.name:{name_width}}  {_type(column):{type_width}}  {column.doc}"


def _type(column: Column) -> str:
    return f"{column.type}{'?' if column.nullable else ''}"


def _described(table: Table) -> dict[str, Any]:
    columns = [
        {"name": column.name, "type": str(column.type), "nullable": column.nullable, "doc": column.doc}
        for column in table.columns
    ]
    return {"table": table.name, "schema_version": SCHEMA_VERSION, "doc": table.doc, "columns": columns}
