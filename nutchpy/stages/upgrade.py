"""upgrade: write a crawl's older parts anew, with the columns that were declared since.

Not needed to go on with a crawl: every command reads older parts, with null (or a column's default) where a column is
younger than they are. But a bare DuckDB shell sees the files as they are. Repeating it does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nutchpy.core.counters import Counters
from nutchpy.core.errors import LockedError
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument
from nutchpy.stages.sql.crawl import require_crawl
from nutchpy.storage.database import Database
from nutchpy.storage.parts import absent_columns, part_batches, writing
from nutchpy.storage.schema import SEGMENT_TABLES, TABLES, Table
from nutchpy.storage.segment import Segment, segments_in, segments_lock, segments_unread

EXAMPLE: Final = "nutchpy upgrade crawl"


@dataclass(frozen=True)
class UpgradeOptions(Options):
    """See the module."""

    crawl: Path = argument("The crawl folder.")

    def crawl_dir(self) -> Path:
        """As it is named."""
        return self.crawl


def run(options: UpgradeOptions, ctx: Context) -> Outcome:
    """Databases first, then segments, each list under its lock."""
    crawl = require_crawl(options.crawl)
    counters = Counters()
    for folder in sorted(path.parent for path in crawl.glob("*/current")):
        counters.add("parts", _upgrade_database(Database.at(folder), ctx))
    if (crawl / "segments").is_dir():
        counters.add("parts", _upgrade_segments(crawl / "segments", ctx))
    told = f"{counters['parts']} parts written anew" if counters["parts"] else "every part has all columns already"
    return Outcome(counters, summary=[f"{crawl}: {told}"])


def _upgrade_database(database: Database, ctx: Context) -> int:
    with database.locked(ctx.wait_lock):
        present = database.current()
        older = {part for part in present.parts if absent_columns(part, database.table)}
        if not older:
            return 0
        grace, keep_old = ctx.conf.number("db.generations.grace"), ctx.conf.flag("db.preserve.backup")
        with database.replacing(present.meta.made_by, ctx.now, grace, keep_old) as draft:
            for part in present.parts:
                if part in older:
                    _copy(part, draft.path / part.name, database.table)
                else:
                    draft.keep(part)
    return len(older)


def _upgrade_segments(folder: Path, ctx: Context) -> int:
    segments = [segment for segment in segments_in(folder) if any(_older(segment))]
    if not segments:
        return 0
    with segments_lock(folder, ctx.wait_lock), segments_unread(folder) as unread:
        if not unread:
            raise LockedError(f"{folder} is being read (sql, snapshot, a notebook); try again when that has ended")
        return sum(_upgrade_segment(segment, ctx) for segment in segments)


def _upgrade_segment(segment: Segment, ctx: Context) -> int:
    count = 0
    for number in sorted({number for _, _, number in _older(segment)}):
        with segment.locked_list(number, ctx.wait_lock):
            for part, table, of in _older(segment):
                if of == number:
                    _copy(part, part, table)
                    count += 1
    return count


def _older(segment: Segment) -> Iterator[tuple[Path, Table, int]]:
    for table in (TABLES[name] for name in SEGMENT_TABLES):
        for name, path in segment.parts(table.name):
            if absent_columns(path, table):
                yield path, table, name.list


def _copy(source: Path, target: Path, table: Table) -> None:
    with writing(target, table) as out:
        for rows in part_batches(source, table, table.row_group_rows):
            out.write(rows)
