"""inject: add seed URLs to the crawldb.

A seed line is a URL, then TAB-separated key=value pairs; # begins a comment. nutch.score, nutch.fetchInterval and
nutch.fetchInterval.fixed are read, other pairs become metadata of the row. Seeds are files (plain or gzip), folders
whose files are taken, or - for stdin. A URL that the crawldb knows keeps its row, unless -update merges the seed's
metadata, score and interval into it or -overwrite makes it new. Every line refused is counted by its reason.
"""

# Row stage: chains over Arrow batches, then one rewrite of the crawldb.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.core.counters import Counters
from nutchpy.core.errors import DamagedError
from nutchpy.core.registered import registered_domains
from nutchpy.core.status import Status
from nutchpy.core.urls import CRAWLABLE_SCHEMES, bucket_keys, hosts_of
from nutchpy.engine.base import Files, statement
from nutchpy.engine.buckets import FINEST, fitted
from nutchpy.engine.rewrite import Bucket, Change, Rewrite, Touched, rewrite
from nutchpy.extension.chains import ScoringFilters, URLFilters, URLNormalizers
from nutchpy.stages import seeds
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument, flag, setting
from nutchpy.stages.refilter import purges, refilter
from nutchpy.stages.routed import Routed, routed
from nutchpy.stages.seed_facts import SeedFacts, read_facts
from nutchpy.stages.seeds import Rejects, SeedBatch
from nutchpy.storage.database import Database, Draft
from nutchpy.storage.schema import METADATA, TABLES, TIME, Column, Table

EXAMPLE: Final = """nutchpy inject crawl/crawldb seeds/ --rejects refused.tsv
zcat list.gz | nutchpy inject crawl/crawldb - -update"""

_SQL: Final = statement(__package__, "inject")
_CRAWLDB: Final = TABLES["crawldb"]
_SEEDS: Final = Table(
    "seeds",
    "Seeds accepted, in the order they came.",
    (
        *_CRAWLDB.columns[:3],
        Column("bucket_key", pa.uint32(), "Of the host."),
        Column("seq", pa.int64(), "Place in the input: the last seed of a URL wins."),
        Column("score", pa.float32(), "Score of a new row."),
        Column("fetch_interval", pa.int32(), "Interval of a new row, in seconds."),
        Column("metadata", METADATA, "Its pairs.", nullable=True),
    ),
)

_OF_FETCHES: Final = (
    *("fetch_time", "modified_time", "signature", "http_status", "protocol_status", "etag", "last_modified"),
)
"""Columns that say what came of fetching: null in a row that is made new."""


@dataclass(frozen=True)
class InjectOptions(Options):
    """What inject is told."""

    crawldb: Path = argument("The crawldb folder; made when it is not there.")
    seeds: tuple[Path, ...] = argument("Seed files, folders of seed files, or - for stdin.")
    overwrite: bool = setting("db.injector.overwrite", "A seed replaces the row there is.", "-overwrite", given=True)
    update: bool = setting(
        "db.injector.update", "A seed's metadata, score and interval go into the row there is.", "-update", given=True
    )
    no_filter: bool = flag("Do not filter the seeds.", False, "-noFilter")
    no_normalize: bool = flag("Do not normalize the seeds.", False, "-noNormalize")
    filter_normalize_all: bool = flag("Filter and normalize the rows of the crawldb too.", False, "-filterNormalizeAll")
    rejects: Path | None = flag(
        "Write the lines refused there: reason, file:line, URL.", None, "--rejects", metavar="FILE"
    )
    encoding: str = flag("Encoding of the seed files.", "utf-8", "--encoding", metavar="NAME")


def run(options: InjectOptions, ctx: Context) -> Outcome:
    """Merge the seeds into the crawldb."""
    files = seeds.find(options.seeds)
    database = Database(options.crawldb, "crawldb")
    intake = _Intake.of(options, ctx)
    counters = Counters()
    with database.locked(ctx.wait_lock), Rejects(options.rejects) as rejects:
        if options.filter_normalize_all or purges(ctx):
            chains = (intake.normalizers, intake.filters) if options.filter_normalize_all else (None, None)
            counters += refilter(ctx, database, *chains)
        before = database.current_or_none()
        grace, keep_old = ctx.conf.number("db.generations.grace"), ctx.conf.flag("db.preserve.backup")
        with (
            database.replacing("inject", ctx.now, grace, keep_old) as draft,
            routed(draft.path / "_seeds", _SEEDS, FINEST) as accepted,
        ):
            counters += _take(seeds.read(files, options.encoding, rejects), intake, accepted, rejects)
            with fitted(ctx.engine, before, draft, accepted.rows) as present:
                changed, injected = _merge(options, ctx, present, draft, accepted)
            draft.abandoned = before is not None and not changed
    return _outcome(counters + injected + rejects.counters, options)


@dataclass
class _Intake:
    """What every seed goes through."""

    normalizers: URLNormalizers | None
    filters: URLFilters | None
    scoring: ScoringFilters
    score: float
    interval: int
    seq: int = 0
    scored: dict[float, float] = field(default_factory=dict)
    """Scores of new rows without metadata, which depend on nothing else."""

    @classmethod
    def of(cls, options: InjectOptions, ctx: Context) -> _Intake:
        return cls(
            None if options.no_normalize else URLNormalizers.from_conf(ctx.conf),
            None if options.no_filter else URLFilters.from_conf(ctx.conf),
            ScoringFilters.from_conf(ctx.conf),
            ctx.conf.number("db.score.injected"),
            ctx.conf.integer("db.fetch.interval.default"),
        )

    def errors(self) -> Counters:
        """What plugins raised on."""
        chains = [chain for chain in (self.normalizers, self.filters, self.scoring) if chain is not None]
        return sum((chain.take_errors() for chain in chains), Counters())

    def injected_score(self, score: float, metadata: Mapping[str, str]) -> float:
        """Score of a new row, as the scoring filters see it."""
        if metadata:
            return self.scoring.injected_score(score, metadata)
        if score not in self.scored:
            self.scored[score] = self.scoring.injected_score(score, {})
        return self.scored[score]


def _take(batches: Iterator[SeedBatch], intake: _Intake, accepted: Routed, rejects: Rejects) -> Counters:
    """Put every acceptable seed into ``accepted``; DamagedError when there was nothing to read but rubbish."""
    counters = Counters()
    for batch in batches:
        counters.add("lines", len(batch.urls))
        rows = _rows(batch, intake, rejects)
        if rows.num_rows:
            accepted.write(rows)
    unreadable = rejects.counters.family("rejected")
    if counters["lines"] == 0 and unreadable:
        raise DamagedError("no line of the seed files can be read as text; nothing was injected")
    return counters + intake.errors()


def _rows(batch: SeedBatch, intake: _Intake, rejects: Rejects) -> pa.Table:
    """The acceptable seeds of a batch as rows of the feed."""
    normal = intake.normalizers.normalize_all(batch.urls, "inject") if intake.normalizers else batch.urls
    places = [place for place, url in enumerate(normal) if url]
    urls = [url for url in normal if url]
    if len(places) < len(normal):
        for place, url in enumerate(normal):
            if not url:
                rejects.add("malformed", batch.source, batch.lines[place], batch.urls[place])
    reasons = intake.filters.reject_all(urls) if intake.filters else [None] * len(urls)
    hosts = hosts_of(urls)
    kept = []
    for row, (url, host, reason) in enumerate(zip(urls, hosts, reasons, strict=True)):
        if reason is None and host is not None and (url.startswith("http") or _scheme(url) in CRAWLABLE_SCHEMES):
            kept.append(row)
            continue
        why = "malformed" if host is None else "rejected:scheme" if reason is None else f"filtered:{reason}"
        rejects.add(why, batch.source, batch.lines[places[row]], batch.urls[places[row]])
    if len(kept) < len(urls):
        places, urls, hosts = ([column[row] for row in kept] for column in (places, urls, hosts))  # type: ignore[assignment]
    return _columns(batch, places, urls, [host or "" for host in hosts], intake, rejects)


def _scheme(url: str) -> str:
    return url.partition(":")[0].lower()


def _columns(
    batch: SeedBatch, places: Sequence[int], urls: list[str], hosts: list[str], intake: _Intake, rejects: Rejects
) -> pa.Table:
    count = len(urls)
    facts: dict[int, SeedFacts] = {}
    if batch.metadata:
        for row, place in enumerate(places):
            if place in batch.metadata:
                facts[row] = read_facts(batch.metadata[place])
                for pair in facts[row].ignored:
                    rejects.add("skipped:metadata", batch.source, batch.lines[place], pair)
    seq = intake.seq
    intake.seq += count
    columns = {
        "url": pa.array(urls, pa.string()),
        **_from_hosts(hosts),
        "seq": pa.array(range(seq, seq + count), pa.int64()),
        **_from_facts(facts, count, intake),
    }
    return pa.table(columns)


def _from_hosts(hosts: list[str]) -> dict[str, pa.Array]:
    """The columns that follow from the host, worked out once for each distinct one."""
    column = pa.array(hosts, pa.string())
    encoded = column.dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    domains = pa.array(registered_domains(distinct), pa.string())
    keys = pa.array(bucket_keys(distinct), pa.uint32())
    return {"host": column, "domain": domains.take(encoded.indices), "bucket_key": keys.take(encoded.indices)}


def _from_facts(facts: Mapping[int, SeedFacts], count: int, intake: _Intake) -> dict[str, pa.Array]:
    """Score, interval and metadata columns; only rows with facts of their own cost anything."""
    scores = [intake.injected_score(intake.score, {})] * count
    intervals = [intake.interval] * count
    if not facts:
        return _filled(scores, intervals, pa.nulls(count, METADATA))
    metadata: list[list[tuple[str, str]] | None] = [None] * count
    for row, fact in facts.items():
        scores[row] = intake.injected_score(intake.score if fact.score is None else fact.score, fact.metadata)
        intervals[row] = intake.interval if fact.interval is None else fact.interval
        metadata[row] = list(fact.metadata.items()) or None
    return _filled(scores, intervals, pa.array(metadata, METADATA))


def _filled(scores: list[float], intervals: list[int], metadata: pa.Array) -> dict[str, pa.Array]:
    return {
        "score": pa.array(scores, pa.float32()),
        "fetch_interval": pa.array(intervals, pa.int32()),
        "metadata": metadata,
    }


def _merge(options: InjectOptions, ctx: Context, before: Any, draft: Draft, accepted: Routed) -> tuple[bool, Counters]:
    """Fill the draft; whether any row changed, and how many seeds were new, known, or said twice."""
    by_bucket = accepted.by_bucket(draft.meta.buckets)
    counters = Counters({"injected": 0, "merged": 0})

    def touched(bucket: Bucket) -> Iterator[pa.RecordBatch]:
        files = by_bucket.get(bucket.number, [])
        return ctx.engine.read(_SQL, {"seeds": Files(_SEEDS, files)}) if files else iter(())

    def policy(found: Touched) -> Change:
        known = pc.sum(found.news["known"]).as_py()
        counters.add("merged", known)
        counters.add("injected", found.news.num_rows - known)
        return _seeded(found, options, ctx)

    changed = rewrite(ctx.engine, before, draft, Rewrite(touched, policy))
    twice = accepted.rows - counters["merged"] - counters["injected"]
    return changed, counters + Counters({"skipped:duplicate": twice})


def _seeded(touched: Touched, options: InjectOptions, ctx: Context) -> Change:
    """What seeds make of rows: of most that there are, a seed that changes anything changes but the depth."""
    judged = touched.with_rows(touched.news, ["depth"])
    made = pc.or_(pc.invert(judged["known"]), options.overwrite)
    whole = pc.or_(made, options.update)
    nearer = judged.filter(pc.and_(pc.invert(whole), pc.fill_null(pc.greater(judged["depth"], 0), False)))
    patches = pa.table({"nth": nearer["nth"], "depth": pa.repeat(0, nearer.num_rows)})
    return Change(_made(touched.with_rows(touched.news.filter(whole)), options, ctx), patches=patches)


def _made(rows: pa.Table, options: InjectOptions, ctx: Context) -> pa.Table:
    """Rows that are new, made as new, or updated."""
    made = pc.or_(pc.invert(rows["known"]), options.overwrite)
    now = pa.scalar(ctx.now, TIME)
    usual = pa.scalar(ctx.conf.number("db.score.injected"), pa.float32())
    interval = ctx.conf.integer("db.fetch.interval.default")
    told = pc.or_(made, pc.and_(options.update, pc.not_equal(rows["seed_interval"], interval)))
    scored = pc.or_(made, pc.and_(options.update, pc.not_equal(rows["seed_score"], usual)))
    columns = {
        "domain": pc.coalesce(rows["domain"], rows["seed_domain"]),
        "status": pc.if_else(made, Status.DB_UNFETCHED.value, rows["status"]),
        "due_time": pc.if_else(made, now, rows["due_time"]),
        "retries": pc.if_else(made, pa.scalar(0, pa.int32()), rows["retries"]),
        "fetch_interval": pc.if_else(told, rows["seed_interval"], rows["fetch_interval"]),
        "score": pc.if_else(scored, rows["seed_score"], rows["score"]),
        "depth": pa.repeat(pa.scalar(0, pa.int32()), rows.num_rows),
        "first_seen": pc.coalesce(rows["first_seen"], now),
        "metadata": _seeded_metadata(rows, made, options.update),
        **{name: pc.if_else(made, None, rows[name]) for name in _OF_FETCHES},
    }
    return pa.table({**{name: rows[name] for name in ("url", "host", "nth")}, **columns})


def _seeded_metadata(rows: pa.Table, made: pa.ChunkedArray, update: bool) -> pa.ChunkedArray:
    """The seed's pairs of a row that is made; laid over those of the row there is, when it is updated."""
    old, new = rows["metadata"].cast(METADATA), rows["seed_metadata"].cast(METADATA)
    if not update or new.null_count == len(new):
        return pc.if_else(made, new, old)
    pairs = [
        said if is_made or before is None else before if said is None else list({**dict(before), **dict(said)}.items())
        for is_made, before, said in zip(made.to_pylist(), old.to_pylist(), new.to_pylist(), strict=True)
    ]
    return pa.chunked_array([pa.array(pairs, METADATA)])


def _outcome(counters: Counters, options: InjectOptions) -> Outcome:
    refused = [
        f"{name} {n}" for name, n in counters.items() if name.partition(":")[0] in ("rejected", "filtered", "malformed")
    ]
    new, known, again = counters["injected"], counters["merged"], counters["skipped:duplicate"]
    summary = [f"{counters['lines']} seeds: {new} new, {known} known already, {again} said twice"]
    if refused:
        hint = f"see {options.rejects}" if options.rejects else "--rejects FILE lists them"
        summary.append(f"refused: {', '.join(refused)} ({hint})")
    return Outcome(counters, summary=summary)
