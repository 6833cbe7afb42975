"""updatedb: bring what segments found into the crawldb.

Reads crawl_fetch (what came of each attempt) and crawl_parse (signatures, links, metadata) of the segments, each part
once: parts that this crawldb has consumed already are passed over, so the command may be repeated, and given before a
segment is parsed or wholly fetched. Newly linked URLs become rows, due at once. -force applies all parts again.
"""

# Relation stage: what is fresh in which segment, and a generation with it; what it does to rows is in update.py.

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from nutchpy.core.counters import Counters
from nutchpy.core.errors import DamagedError
from nutchpy.core.urls import bucket_key, hosts_of
from nutchpy.engine.base import Files, Input, statement
from nutchpy.engine.buckets import fitted
from nutchpy.engine.rewrite import Rewrite, rewrite
from nutchpy.extension.chains import URLFilters, URLNormalizers
from nutchpy.stages import feeds
from nutchpy.stages.asked import asked_segments
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.feed_urls import Judge, cleaned
from nutchpy.stages.feeds import Feed
from nutchpy.stages.options import Options, argument, flag, setting
from nutchpy.stages.refilter import refilter
from nutchpy.stages.touched import DETAILS
from nutchpy.stages.update import Update
from nutchpy.storage import fs
from nutchpy.storage.database import Database, Draft, Generation
from nutchpy.storage.parts import covered
from nutchpy.storage.schema import TABLES
from nutchpy.storage.segment import Segment

EXAMPLE: Final = """nutchpy updatedb crawl/crawldb crawl/segments/20260301120000
nutchpy updatedb crawl/crawldb -dir crawl/segments"""

_log = logging.getLogger(__name__)
_DETAILS: Final = statement(__package__, "updatedb_details")
_REDIRECTS: Final = statement(__package__, "updatedb_redirects")
_CRAWLDB: Final = TABLES["crawldb"]
_ATTEMPTS: Final = 3


@dataclass(frozen=True)
class UpdatedbOptions(Options):
    """What updatedb is told."""

    crawldb: Path = argument("The crawldb folder; made when it is not there.")
    segments: tuple[Path, ...] = argument("The segments.", ())
    dir: Path | None = flag("A folder whose segments are all taken.", None, "-dir")
    force: bool = flag("Apply parts that were applied before once more.", False, "-force")
    normalize: bool = setting("crawldb.url.normalizers", "Normalize all URLs, old and new.", "-normalize", given=True)
    filter: bool = setting("crawldb.url.filters", "Filter all URLs, old and new.", "-filter", given=True)
    additions: bool = setting("db.update.additions.allowed", "Add no newly found URLs.", "-noAdditions", given=False)


def run(options: UpdatedbOptions, ctx: Context) -> Outcome:
    """Apply the segments' new parts."""
    database = Database(options.crawldb, "crawldb")
    with database.locked(ctx.wait_lock):
        segments, counters = _usable(asked_segments("updatedb", options.segments, options.dir))
        judge = _judge(options, ctx)
        if judge is not None:
            counters += refilter(ctx, database, judge.normalizers, judge.filters, "updatedb", "crawldb")
            counters += judge.errors()
        applied = _apply_fresh(options, ctx, database, segments, judge)
        if applied is None:
            return Outcome(counters, summary=[_nothing_new(segments)])
        counters += applied
        counters.add("total", database.current().meta.rows)
    return Outcome(counters, summary=_summary(counters))


# -- private, in calling order


def _judge(options: UpdatedbOptions, ctx: Context) -> Judge | None:
    if not (options.normalize or options.filter):
        return None
    normalizers = URLNormalizers.from_conf(ctx.conf) if options.normalize else None
    return Judge(normalizers, URLFilters.from_conf(ctx.conf) if options.filter else None)


def _usable(segments: Sequence[Segment]) -> tuple[list[Segment], Counters]:
    """Those never fetched left out; says of what is left out or not yet parsed."""
    usable = [segment for segment in segments if segment.parts("crawl_fetch")]
    for segment in segments:
        if segment not in usable:
            _log.warning("%s is passed over: nothing was fetched yet", segment.path)
    for segment in usable:
        parsed = [name for name, _ in segment.parts("crawl_parse")]
        bodies = [name for name, _ in segment.parts("content")]
        unparsed = sum(not covered(name, parsed) for name in bodies)
        if unparsed:
            what = "not parsed yet" if unparsed == len(bodies) else f"not wholly parsed ({unparsed} parts are not)"
            _log.info("%s is %s: those pages are entered as fetched, without their links", segment.path, what)
    counters = Counters({"segments": len(usable)})
    if len(usable) < len(segments):
        counters.add("skipped:not_fetched", len(segments) - len(usable))
    return usable, counters


def _nothing_new(segments: Sequence[Segment]) -> str:
    if not segments:
        return "nothing to apply: no segment was fetched yet; the crawldb is as it was"
    what = segments[0].path if len(segments) == 1 else f"{len(segments)} segments"
    return f"nothing to apply: everything in {what} was applied before; the crawldb is as it was (-force applies again)"


def _apply_fresh(
    options: UpdatedbOptions, ctx: Context, database: Database, segments: Sequence[Segment], judge: Judge | None
) -> Counters | None:
    """Publish a generation with the fresh parts in it; None when there are none.

    A fetch that runs meanwhile may merge parts while they are being read; then we start over.
    """
    for attempts_left in reversed(range(_ATTEMPTS)):
        before = database.current_or_none()
        found = feeds.feeds(before.meta if before else None, segments, options.force)
        if not any(feed.fresh for feed in found):
            return None
        try:
            return _publish(options, ctx, database, before, found, judge)
        except (DamagedError, FileNotFoundError):
            if attempts_left == 0 or all(feed.path.exists() for feed in found):
                raise
            _log.info("parts were merged while they were read: starting over")
    return None


def _publish(
    options: UpdatedbOptions,
    ctx: Context,
    database: Database,
    before: Generation | None,
    found: Sequence[Feed],
    judge: Judge | None,
) -> Counters:
    counters = Counters()
    grace, keep_old = ctx.conf.number("db.generations.grace"), ctx.conf.flag("db.preserve.backup")
    with database.replacing("updatedb", ctx.now, grace, keep_old) as draft:
        if judge is not None:
            found = cleaned(found, judge, fs.make_folder(draft.path / "_feeds"))
            counters += judge.take_counters()
        with fitted(ctx.engine, before, draft) as present:
            _apply(options, ctx, present, draft, found, counters)
        fs.remove(draft.path / "_feeds")
    return counters


def _apply(
    options: UpdatedbOptions,
    ctx: Context,
    before: Generation | None,
    draft: Draft,
    found: Sequence[Feed],
    counters: Counters,
) -> None:
    with _inputs(options, ctx, before, draft, found, counters) as inputs:
        update = Update(ctx, inputs, counters, again=options.force, additions=options.additions)
        rewrite(ctx.engine, before, draft, Rewrite(update.news, update.policy))
    draft.meta = feeds.consumed(draft.meta, found)
    counters.add("parts", sum(feed.fresh for feed in found))
    update.close()


@contextmanager
def _inputs(
    options: UpdatedbOptions,
    ctx: Context,
    before: Generation | None,
    draft: Draft,
    found: Sequence[Feed],
    counters: Counters,
) -> Iterator[dict[str, Input]]:
    """What the segments say; details are joined first, once for all buckets, and put aside."""
    inputs: dict[str, Input] = {table: feeds.files(found, table) for table in feeds.FEED_TABLES}
    inputs["parts"] = feeds.parts_relation(found)
    inputs["redirects"] = _redirects(ctx, inputs, before, {"again": options.force}, counters)
    aside = draft.path / "_details.parquet"
    any_found = ctx.engine.write(_DETAILS, inputs, {}, aside, DETAILS)
    fresh = [feed.path for feed in found if feed.fresh and feed.table == "crawl_parse"]
    try:
        yield {
            "details": Files(DETAILS, [aside] if any_found else []),
            "crawl_parse": Files(TABLES["crawl_parse"], fresh),
            "redirects": inputs["redirects"],
        }
    finally:
        fs.remove(aside)


def _redirects(
    ctx: Context, inputs: Mapping[str, Input], before: Generation | None, params: Mapping[str, Any], counters: Counters
) -> pa.Table:
    """Redirects as links: their targets may lie in another bucket than their sources."""
    crawldb = Files(_CRAWLDB, before.parts if before else [])
    rows = ctx.engine.table(_REDIRECTS, {**inputs, "crawldb": crawldb}, params)
    hosts = hosts_of(rows["url"].to_pylist())
    usable = [host is not None for host in hosts]
    if not all(usable):
        counters.add("malformed", usable.count(False))
    keys = [bucket_key(host) for host in hosts if host is not None]
    rows = rows.filter(pa.array(usable, pa.bool_()))
    rows = rows.append_column("host", pa.array([host for host in hosts if host is not None], pa.string()))
    return rows.append_column("bucket_key", pa.array(keys, pa.uint32()))


def _summary(counters: Counters) -> list[str]:
    updated = ", ".join(f"{n} {name.partition(':')[2]}" for name, n in counters.items() if name.startswith("updated:"))
    return [f"{counters['parts']} parts applied: {updated or 'no fetched rows'}; {counters['added']} rows added"]
