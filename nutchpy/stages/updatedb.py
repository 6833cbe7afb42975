"""updatedb: bring what segments found into the crawldb.

Reads crawl_fetch (what came of each attempt) and crawl_parse (signatures, links, metadata) of the segments, each part
once: parts that this crawldb has consumed already are passed over, so the command may be repeated, and given before a
segment is parsed or wholly fetched. Newly linked URLs become rows, due at once. -force applies all parts again.
"""

# Relation stage: SQL adds up what segments say of each URL (updatedb*.sql), rewrite finds the rows, and the state
# machine in transitions.py decides on them.

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.core.counters import Counters
from nutchpy.core.errors import DamagedError
from nutchpy.core.status import Status
from nutchpy.core.urls import bucket_key, hosts_of
from nutchpy.engine.base import Files, Input, statement
from nutchpy.engine.buckets import fitted
from nutchpy.engine.rewrite import Bucket, Change, Rewrite, Touched, rewrite
from nutchpy.extension.chains import URLFilters, URLNormalizers
from nutchpy.stages import feeds
from nutchpy.stages.asked import asked_segments
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.feed_urls import Judge, cleaned
from nutchpy.stages.feeds import Feed
from nutchpy.stages.options import Options, argument, flag, setting
from nutchpy.stages.refilter import refilter
from nutchpy.stages.touched import FETCHED, JUDGED, LINKED, TOUCHED, lightly, mattering, with_attempted
from nutchpy.stages.transitions import Rules, relinked, transition
from nutchpy.storage import fs
from nutchpy.storage.database import Database, Draft, Generation
from nutchpy.storage.parts import covered
from nutchpy.storage.schema import TABLES
from nutchpy.storage.segment import Segment

EXAMPLE: Final = """nutchpy updatedb crawl/crawldb crawl/segments/20260301120000
nutchpy updatedb crawl/crawldb -dir crawl/segments"""

_log = logging.getLogger(__name__)
_SQL: Final = statement(__package__, "updatedb")
_FETCHED: Final = statement(__package__, "updatedb_fetched")
_CROWDED: Final = statement(__package__, "updatedb_crowded")
_REDIRECTS: Final = statement(__package__, "updatedb_redirects")
_CRAWLDB: Final = TABLES["crawldb"]
_ATTEMPTS: Final = 3
_NO_LIMIT: Final = 2**62


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
    with _news(options, ctx, before, draft, found, counters) as news:
        policy = _Policy(options, ctx, news.rules, counters)
        rewrite(ctx.engine, before, draft, Rewrite(news.of, policy))
    draft.meta = feeds.consumed(draft.meta, found)
    counters.add("parts", sum(feed.fresh for feed in found))
    policy.close()


@contextmanager
def _news(
    options: UpdatedbOptions,
    ctx: Context,
    before: Generation | None,
    draft: Draft,
    found: Sequence[Feed],
    counters: Counters,
) -> Iterator[_News]:
    """What the segments say; what came of fetches is joined first, once for all buckets, and put aside."""
    inputs: dict[str, Input] = {table: feeds.files(found, table) for table in feeds.FEED_TABLES}
    inputs["parts"] = feeds.parts_relation(found)
    inputs["redirects"] = _redirects(ctx, inputs, before, {"again": options.force}, counters)
    rules = Rules.of(ctx.conf, ctx.now)
    limit = ctx.conf.integer("db.update.max.inlinks")
    aside = draft.path / "_fetched.parquet"
    attempted = ctx.engine.write(_FETCHED, inputs, {}, aside, FETCHED)
    inputs["fetched"] = Files(FETCHED, [aside] if attempted else [])
    try:
        yield _News(ctx, inputs, rules, limit if limit >= 0 else _NO_LIMIT)
    finally:
        fs.remove(aside)


@dataclass(frozen=True)
class _News:
    """What the segments say of the URLs of a bucket."""

    ctx: Context
    inputs: Mapping[str, Input]
    rules: Rules
    max_inlinks: int

    def of(self, bucket: Bucket) -> Iterator[pa.RecordBatch]:
        """One row per URL (see updatedb.sql)."""
        conf = self.ctx.conf
        params = {
            **self._params(bucket),
            "purge_gone": conf.flag("db.update.purge.404"),
            "purge_orphans": conf.flag("db.update.purge.orphans"),
        }
        inputs = {**self.inputs, "crawldb": Files(_CRAWLDB, bucket.parts)}
        for batch in self.ctx.engine.read(_SQL, inputs, params):
            crowded = batch.filter(pc.greater(batch["links"], self.max_inlinks))
            yield self._capped(bucket, batch, crowded["url"]) if crowded.num_rows else batch

    def _capped(self, bucket: Bucket, batch: pa.RecordBatch, urls: pa.Array) -> pa.RecordBatch:
        """With the scores of such URLs that have more links than count."""
        params = {**self._params(bucket), "max_inlinks": self.max_inlinks}
        capped = self.ctx.engine.table(_CROWDED, {**self.inputs, "crowded": pa.table({"url": urls})}, params)
        at = pc.index_in(batch["url"], value_set=capped["url"].combine_chunks())
        scores = pc.if_else(pc.is_valid(at), capped["inlink_score"].combine_chunks().take(at), batch["inlink_score"])
        return batch.set_column(batch.schema.get_field_index("inlink_score"), "inlink_score", scores)

    def _params(self, bucket: Bucket) -> dict[str, Any]:
        return {"first": bucket.first, "last": bucket.last, "aggregate": self.rules.scoring.inlink_aggregate}


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


@dataclass
class _Policy:
    """The state machine as ``rewrite`` calls it, with what is purged taken out, and everything counted."""

    options: UpdatedbOptions
    ctx: Context
    rules: Rules
    counters: Counters
    purged: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        conf = self.ctx.conf
        self.purged |= {Status.DB_GONE.value} if conf.flag("db.update.purge.404") else set()
        self.purged |= {Status.DB_ORPHAN.value} if conf.flag("db.update.purge.orphans") else set()

    def __call__(self, touched: Touched) -> Change:
        columns = [*JUDGED, "status"] if self.purged else JUDGED
        judged = with_attempted(_batch(touched.with_rows(touched.news, columns)), self.options.force)
        batch = mattering(judged, self.options.additions, self.purged)
        light = lightly(batch, self.purged)
        change = self._decided(touched, batch.filter(pc.invert(light)))
        self._count(batch)
        few = batch.select(LINKED).filter(light)
        return replace(change, patches=pa.table({"nth": few["nth"], **relinked(few, self.rules)}))

    def _decided(self, touched: Touched, batch: pa.RecordBatch) -> Change:
        """What becomes of rows that are new, were fetched, or get metadata."""
        rows = transition(_batch(touched.with_rows(pa.table(batch))).select(TOUCHED.names), self.rules)
        attempted = batch["attempted"]
        in_order = [batch["nth"].filter(attempted), batch["nth"].filter(pc.invert(attempted))]  # of transition's answer
        rows = rows.append_column("nth", pa.chunked_array(in_order))
        for entry in pc.value_counts(rows["status"].slice(0, len(in_order[0]))).to_pylist():
            self.counters.add(f"updated:{entry['values']}", entry["counts"])
        if not self.purged:
            return Change(rows)
        goes = pc.is_in(rows["status"], value_set=pa.array(sorted(self.purged)))
        self.counters.add("purged", pc.sum(goes).as_py() or 0)
        return Change(rows.filter(pc.invert(goes)), rows["nth"].filter(goes).combine_chunks())

    def _count(self, batch: pa.RecordBatch) -> None:
        known, attempted = batch["known"], batch["attempted"]
        self.counters.add("added", batch.num_rows - known.true_count)
        self.counters.add("linked", pc.and_(known, pc.invert(attempted)).true_count)

    def close(self) -> None:
        """Count what plugins raised on."""
        for chain in (self.rules.schedule, self.rules.scoring):
            for name, count in chain.take_errors().items():
                self.counters.add(name, count)


def _batch(rows: pa.Table) -> pa.RecordBatch:
    return pa.record_batch([column.combine_chunks() for column in rows.columns], names=rows.column_names)


def _summary(counters: Counters) -> list[str]:
    updated = ", ".join(f"{n} {name.partition(':')[2]}" for name, n in counters.items() if name.startswith("updated:"))
    return [f"{counters['parts']} parts applied: {updated or 'no fetched rows'}; {counters['added']} rows added"]
