"""rebucket: divide a database into another number of files.

A database is divided by host into 1, 16 or 64 buckets, so that a stage has one of them in memory at a time. Stages that
rewrite a database divide it further by themselves when it has grown beyond what db.memory.limit lets them hold; this
command does it when you say, and is the only way back to fewer. Without N it takes what the database's size asks for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from nutchpy.core.counters import Counters
from nutchpy.core.errors import UsageError
from nutchpy.engine.buckets import buckets_for, fitted
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument
from nutchpy.storage.database import BUCKET_COUNTS, Database

EXAMPLE: Final = "nutchpy rebucket crawl/crawldb 16"


@dataclass(frozen=True)
class RebucketOptions(Options):
    """See the module."""

    db: Path = argument("A database folder, such as crawl/crawldb.", metavar="DB")
    buckets: int | None = argument("How many buckets.", None, metavar="N")

    def crawl_dir(self) -> Path:
        """The folder that the database lies in."""
        return self.db.parent


def run(options: RebucketOptions, ctx: Context) -> Outcome:
    """Publish the same rows in other files."""
    if options.buckets is not None and options.buckets not in BUCKET_COUNTS:
        raise UsageError(f"the number of buckets is one of {', '.join(map(str, BUCKET_COUNTS))}, not {options.buckets}")
    database = Database.at(options.db)
    with database.locked(ctx.wait_lock):
        before = database.current()
        count = options.buckets or buckets_for(before.meta.rows, ctx.engine.memory)
        if count == before.meta.buckets:
            return Outcome(Counters({"total": before.meta.rows}), summary=[f"{options.db} has {count} buckets already"])
        grace, keep_old = ctx.conf.number("db.generations.grace"), ctx.conf.flag("db.preserve.backup")
        with (
            database.replacing(before.meta.made_by, ctx.now, grace, keep_old) as draft,
            fitted(ctx.engine, before, draft, buckets=count) as present,
        ):
            draft.meta = replace(draft.meta, made_at=before.meta.made_at)  # no stage has changed a row
            for part in present.parts if present else ():
                draft.keep(part)
    summary = f"{options.db}: {before.meta.rows} rows in {count} buckets, which were {before.meta.buckets}"
    return Outcome(Counters({"total": before.meta.rows}), summary=[summary])
