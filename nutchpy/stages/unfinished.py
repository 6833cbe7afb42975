"""unfinished: show the segments that a run left before their round was over, and what has to happen next.

One line each, oldest first: the first stage still to be run (fetch, parse, updatedb, invertlinks), a TAB, the segment.
Running that stage and those after it finishes the round; bin/crawl and crawl do so before they generate anything. A
last line "dedup", TAB, crawldb says that the crawldb was updated since duplicates were last looked for. Segments older
than crawl.gen.delay are left alone: their URLs may have been listed anew. A script that runs all stages in any case,
since those a segment is through do nothing, asks for the --segments alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument, flag
from nutchpy.storage.database import Database, Generation
from nutchpy.storage.parts import PartName, covered
from nutchpy.storage.runs import read_runs
from nutchpy.storage.segment import Segment, segments_in

EXAMPLE: Final = """\
nutchpy unfinished crawl
for segment in $(nutchpy unfinished crawl --segments); do nutchpy fetch "$segment" && nutchpy parse "$segment"; done"""

STAGES: Final = ("fetch", "parse", "updatedb", "invertlinks")


@dataclass(frozen=True)
class UnfinishedOptions(Options):
    """See the module."""

    crawl: Path = argument("The crawl folder.")
    segments: bool = flag("Print the paths of the segments and nothing else.", False, "--segments")

    def crawl_dir(self) -> Path:
        """As it is named."""
        return self.crawl


@dataclass(frozen=True)
class Unfinished:
    """A segment, and the first stage that it still has before it."""

    stage: str
    segment: Segment


def run(options: UnfinishedOptions, ctx: Context) -> Outcome:
    """List them; nothing for a crawl that has not begun."""
    delay = timedelta(milliseconds=ctx.conf.integer("crawl.gen.delay"))
    left = [(found.stage, str(found.segment.path)) for found in unfinished_segments(options.crawl, ctx.now, delay)]
    if not options.segments and dedup_is_due(options.crawl):
        left.append(("dedup", str(options.crawl / "crawldb")))
    lines = [path if options.segments else f"{stage}\t{path}" for stage, path in left]
    return Outcome(lines=lines, data=[{"stage": stage, "path": path} for stage, path in left])


def unfinished_segments(crawl: Path, now: datetime, delay: timedelta) -> Iterator[Unfinished]:
    """The segments of a crawl that were generated from its crawldb and are not through their round; oldest first."""
    crawldb = Database(crawl / "crawldb", "crawldb").current_or_none()
    linkdb = Database(crawl / "linkdb", "linkdb").current_or_none()
    for segment in segments_in(crawl / "segments") if crawldb else ():
        meta = segment.meta
        if crawldb is None or meta.crawldb != crawldb.meta.uuid or now - datetime.fromisoformat(meta.created) >= delay:
            continue
        stage = next_stage(segment, crawldb, linkdb)
        if stage is not None:
            yield Unfinished(stage, segment)


def next_stage(segment: Segment, crawldb: Generation, linkdb: Generation | None) -> str | None:
    """The first stage that still has work on a segment; None when its round is over."""
    meta = segment.meta
    if meta.state("fetch") != "done":
        return "fetch"
    fetched = _names(segment, "crawl_fetch")
    if not all(covered(name, _names(segment, "crawl_parse")) for name in fetched):
        return "parse"
    if not _applied(segment, crawldb, meta.uuid, "crawl_fetch", "crawl_parse"):
        return "updatedb"
    if not _applied(segment, linkdb, meta.uuid, "parse_data"):
        return "invertlinks"
    return None


def dedup_is_due(crawl: Path) -> bool:
    """Whether duplicates were not looked for since updatedb changed the crawldb.

    A dedup that finds none leaves the crawldb as it is, and only its line in ``runs.jsonl`` tells of it.
    """
    crawldb = Database(crawl / "crawldb", "crawldb").current_or_none()
    if crawldb is None or crawldb.meta.made_by != "updatedb":
        return False
    ran = (run for run in read_runs(crawl) if run.get("stage") == "dedup" and run.get("exit") == 0)
    return not any(datetime.fromisoformat(run["start"]) >= datetime.fromisoformat(crawldb.meta.made_at) for run in ran)


def _names(segment: Segment, table: str) -> list[PartName]:
    return [name for name, _ in segment.parts(table)]


def _applied(segment: Segment, database: Generation | None, uuid: str, *tables: str) -> bool:
    parts = [(table, name) for table in tables for name in _names(segment, table)]
    return all(database is not None and database.meta.has_applied(uuid, table, name) for table, name in parts)
