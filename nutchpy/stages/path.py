"""path: show the folder in which the present Parquet files of a database lie.

A database changes by writing a new folder and pointing ``current`` at it. A reader that opens ``current/*.parquet``
while that happens may get files of both; this folder never changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nutchpy.core.errors import MissingError
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument

EXAMPLE = """\
duckdb -c "SELECT status, count(*) FROM '$(nutchpy path crawl/crawldb)/*.parquet' GROUP BY 1\""""


@dataclass(frozen=True)
class PathOptions(Options):
    """See the module."""

    db: Path = argument("A database folder, such as crawl/crawldb.", metavar="DB")


def run(options: PathOptions, ctx: Context) -> Outcome:
    """Resolve ``current`` once; whatever kind of database it is."""
    current = options.db / "current"
    if not current.is_dir():
        raise MissingError(f"{options.db} holds no database: there is no {current}")
    folder = current.resolve()
    return Outcome(lines=[str(folder)], data={"path": str(folder)})
