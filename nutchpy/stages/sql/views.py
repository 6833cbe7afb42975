"""The views of a crawl as SQL statements: one per table, and the composed ones of ``views/*.sql`` on top.

The same text serves ``nutchpy sql``, ``open_crawl`` and ``--init FILE`` for a DuckDB shell of the user's own. Paths are
those of one generation and of the parts that are live now.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Final

from nutchpy.engine.sql_text import file_list, literal, parquet_rows, sql_type
from nutchpy.storage.database import Database, Generation
from nutchpy.storage.runs import RUNS_FILES
from nutchpy.storage.schema import SEGMENT_TABLES, TABLES, Table
from nutchpy.storage.segment import Segment

COMPOSED: Final = ("outlinks", "inlinks", "segments", "pages", "history", "runs")
DATABASES: Final = ("crawldb", "linkdb")

_WORD: Final = re.compile(r"[a-z_]+")
_RUN_COLUMNS: Final = {
    "stage": "varchar",
    "start": "timestamp with time zone",
    "end": "timestamp with time zone",
    "seconds": "double",
    "exit": "integer",
    "counters": "json",
    "options": "json",
    "version": "varchar",
}


def generation_of(crawl: Path, table: str) -> Generation | None:
    """The present generation of one of a crawl's databases, or None."""
    return Database(crawl / table, table).current_or_none()


def statements(
    crawl: Path, databases: dict[str, Generation | None], segments: Sequence[Segment], query: str | None = None
) -> list[str]:
    """CREATE VIEW statements, in order, for one state of a crawl.

    Given the one ``query`` that is going to be asked, segment tables that it cannot touch are left empty: each part of
    the others has to be looked at, which takes longer than most answers when there are thousands.
    """
    wanted = None if query is None else _touched(query)
    views = [_database_view(TABLES[name], generation) for name, generation in databases.items()]
    views += [
        _segment_view(TABLES[name], segments if wanted is None or name in wanted else ()) for name in SEGMENT_TABLES
    ]
    views += [_segment_states(segments), _run_lines([crawl / name for name in RUNS_FILES])]
    return views + [_composed(name) for name in COMPOSED]


def _touched(query: str) -> frozenset[str]:
    """The words of a query, tables among them, and those of the views whose names are among its words."""
    words = frozenset(_WORD.findall(query.lower()))
    return words.union(*(_WORD.findall(_composed(name)) for name in COMPOSED if name in words))


def _composed(name: str) -> str:
    return resources.files(__package__).joinpath("views", f"{name}.sql").read_text(encoding="utf-8")


def _database_view(table: Table, generation: Generation | None) -> str:
    paths = generation.parts if generation else []
    source = parquet_rows(table, paths) if paths else _empty(_columns(table))
    return f"create view {table.name} as {source}"


def _segment_view(table: Table, segments: Sequence[Segment]) -> str:
    paths = [path for segment in segments for path in segment.files(table.name)]
    if not paths:
        return f"create view {table.name} as {_empty({'segment': 'varchar', **_columns(table)})}"
    return (
        f"create view {table.name} as select string_split(filename, '/')[-3] as segment, * exclude (filename) "
        f"from ({parquet_rows(table, paths, ', filename = true')})"
    )


def _segment_states(segments: Sequence[Segment]) -> str:
    columns = {
        "segment": "varchar",
        "uuid": "varchar",
        "created": "timestamp with time zone",
        "lists": "integer",
        "fetch_state": "varchar",
        "parse_state": "varchar",
    }
    if not segments:
        return f"create view segment_states as {_empty(columns)}"
    rows = ", ".join(_state_row(segment) for segment in segments)
    casts = ", ".join(f"cast({name} as {kind}) as {name}" for name, kind in columns.items())
    return f"create view segment_states as select {casts} from (values {rows}) as t({', '.join(columns)})"


def _state_row(segment: Segment) -> str:
    meta = segment.meta
    texts = [segment.name, meta.uuid, meta.created, str(meta.lists), meta.state("fetch"), meta.state("parse")]
    return f"({', '.join(literal(text) for text in texts)})"


def _run_lines(files: Sequence[Path]) -> str:
    paths = [path for path in files if path.exists()]
    if not paths:
        return f"create view run_lines as {_empty(_RUN_COLUMNS)}"
    columns = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in _RUN_COLUMNS.items())
    return (
        f"create view run_lines as select * from read_json({file_list(paths)}, "
        f"format = 'newline_delimited', ignore_errors = true, columns = {{{columns}}})"
    )


def _columns(table: Table) -> dict[str, str]:
    return {column.name: sql_type(column.type) for column in table.columns}


def _empty(columns: dict[str, str]) -> str:
    return "select " + ", ".join(f'cast(null as {kind}) as "{name}"' for name, kind in columns.items()) + " where false"
