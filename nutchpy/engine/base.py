"""The Engine protocol: how a stage runs SQL over Parquet, whoever executes it.

Relations are bound by name (Nutch's folder names, ``crawl_fetch`` and never ``fetch``); values are parameters, written
``$name`` in the statement. Statements use portable words only; see docs/adr/0002-two-verbs-and-sql-files.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from nutchpy.storage.schema import Table

Key: TypeAlias = tuple[str, str]
"""Host and URL: what the rows of a database's bucket are sorted by."""


@dataclass(frozen=True)
class Range:
    """A stretch of a bucket: from a key on, up to another (exclusive); None is no bound."""

    first: Key | None = None
    end: Key | None = None


@dataclass(frozen=True)
class Files:
    """Parquet files of one table as an input relation; no files is an empty relation of that table."""

    table: Table
    paths: Sequence[Path]
    with_path: bool = False
    """Give the relation one more column, ``path``: the file that a row comes from, as it stands in ``paths``."""
    within: Range | None = None
    """Only the rows of this range."""


Input: TypeAlias = Files | pa.Table
Inputs: TypeAlias = Mapping[str, Input]
Params: TypeAlias = Mapping[str, Any]


class Engine(Protocol):
    """Reads and writes relations with SQL. A part that cannot be read is a DamagedError that names it."""

    @property
    def memory(self) -> int:
        """Bytes that it may hold before it spills (``db.memory.limit``)."""
        ...

    def read(self, sql: str, inputs: Inputs, params: Params | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of one SELECT, batch by batch."""
        ...

    def table(self, sql: str, inputs: Inputs, params: Params | None = None) -> pa.Table:
        """The rows of one SELECT, whole."""
        ...

    def write(self, sql: str, inputs: Inputs, params: Params | None, out: Path, table: Table) -> int:
        """One SELECT into one part of ``table`` at ``out``, cast to its schema; the row count. No rows, no file.

        The caller owns ``out``'s folder (a draft): it is written in place and made durable when the draft is published.
        """
        ...

    def expression(self, text: str, table: Table) -> str:
        """``text`` checked to be one scalar expression over ``table``'s columns, fit to stand in a WHERE clause.

        Raises UsageError, with the position, for anything else: a second statement, a subquery, a table function.
        """
        ...

    def regex(self, text: str) -> str:
        """``text`` when it is a regular expression this engine takes; UsageError, saying why, when it is not."""
        ...


def statement(package: str, name: str) -> str:
    """The text of ``<name>.sql`` beside a stage's module; ``package`` is the module's ``__package__``."""
    return resources.files(package).joinpath(f"{name}.sql").read_text(encoding="utf-8")
