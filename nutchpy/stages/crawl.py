"""crawl: crawl from seeds to a depth, all stages in one process.

Each round lists the URLs that are due, fetches and parses them, and brings what was found into the crawldb and the
linkdb. -depth N runs at most N rounds and lists only pages fewer than N links from a seed: run again, it refreshes
those and goes no deeper. --rounds N alone runs N rounds, each a level deeper if it is given the time. The crawl stays
on the domains of its seeds unless --follow-external, and takes at most 1,000 URLs of a host in a round. A run that was
killed is picked up where it was. For cron: --cron logs to logs/ in the crawl folder.
"""

# The other stages in rounds; nothing here knows how they do what they do.

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from nutchpy.conf.layers import Conf, Value
from nutchpy.core.counters import Counters
from nutchpy.core.errors import Interrupted, LockedError, NothingDue, NutchpyError, UsageError
from nutchpy.engine.base import Files, statement
from nutchpy.fetcher.settings import agent_name
from nutchpy.stages import seeds
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.dedup import DedupOptions
from nutchpy.stages.fetch import FetchOptions
from nutchpy.stages.generate import GenerateOptions
from nutchpy.stages.inject import InjectOptions
from nutchpy.stages.invertlinks import InvertlinksOptions
from nutchpy.stages.options import Options, argument, flag, setting
from nutchpy.stages.parse import ParseOptions
from nutchpy.stages.runner import described, run_stage
from nutchpy.stages.unfinished import Unfinished, dedup_is_due, unfinished_segments
from nutchpy.stages.updatedb import UpdatedbOptions
from nutchpy.storage import lock
from nutchpy.storage.database import Database
from nutchpy.storage.schema import TABLES

_log = logging.getLogger(__name__)

EXAMPLE: Final = """nutchpy crawl seeds.txt -dir crawl -depth 4 -threads 10 -topN 2000
30 3 * * *  nutchpy crawl /srv/seeds.txt -dir /srv/crawl -depth 3 --cron --skip-if-locked"""

DEPTH: Final = 5
"""Rounds, and links from a seed, when neither is asked for."""
_DOMAINS: Final = statement(__package__, "domains")
_URLS_PER_HOST: Final = 1_000
_WINDOW_SECONDS: Final = 7_200
_NAMED_DOMAINS: Final = 5
_PATIENCE: Final = 30.0
"""Seconds to wait for a lock within the crawl: workers of a run just killed may still be on their way out."""


@dataclass(frozen=True)
class CrawlOptions(Options):
    """What crawl is told."""

    seeds: tuple[Path, ...] = argument("Seed files, folders of them, or -; none to go on with the crawl there is.", ())
    dir: Path = flag("The crawl folder; made when it is not there.", Path("crawl"), "-dir", metavar="CRAWL")
    depth: int | None = flag(
        f"Levels: 1 is the seeds alone; {DEPTH} when nothing is said.", None, "-depth", metavar="N"
    )
    rounds: int | None = flag("Rounds; -1 until nothing is due. Without -depth, pages of any depth are listed.", None)
    threads: int = setting("fetcher.threads.fetch", "Requests in flight, per fetch list.", "-threads", metavar="N")
    top_n: int = setting("generate.topN", "Most URLs of a round, best first; -1 for all.", "-topN", metavar="N")
    num_fetchers: int = flag("Fetch lists of a round, each fetched by a process of its own.", 1, "-numFetchers")
    follow_external: bool = flag("Leave the domains of the seeds.", False, "--follow-external")
    cron: bool = flag("Log to logs/ in the crawl folder; say only warnings and one line here.", False, "--cron")
    skip_if_locked: bool = flag("Do nothing, and end with 0, when another crawl is at work there.", False)

    def crawl_dir(self) -> Path:
        """As it is named."""
        return self.dir


def run(options: CrawlOptions, ctx: Context) -> Outcome:
    """Crawl; LockedError when another run is at it."""
    options = _checked(options, ctx.conf)
    held = False
    try:
        with lock.exclusive(options.dir / ".lock", str(options.dir), ctx.wait_lock):
            held = True
            return _Crawl(options, ctx).run()
    except LockedError as error:
        if held or not options.skip_if_locked:
            raise
        _log.info("skipped: %s", error)
        return Outcome(summary=[f"skipped: {options.dir} is being crawled already"])


def _checked(options: CrawlOptions, conf: Conf) -> CrawlOptions:
    """The options with rounds and depth decided; what cannot work is said before anything is done."""
    agent_name(conf)
    for name, value in (("-depth", options.depth), ("--rounds", options.rounds)):
        if value is not None and value < 1 and (name, value) != ("--rounds", -1):
            raise UsageError(f"{name} must be above 0, not {value}")
    if options.seeds:
        seeds.find(options.seeds)
    elif not Database(options.dir / "crawldb", "crawldb").exists:
        raise UsageError(f"there is no crawl in {options.dir} to go on with: give it seeds")
    if options.depth is None and options.rounds is None:
        return replace(options, depth=DEPTH, rounds=DEPTH)
    return options if options.rounds is not None else replace(options, rounds=options.depth)


@dataclass
class _Crawl:
    """One run: the stages with this crawl's folders and settings, and what they counted."""

    options: CrawlOptions
    ctx: Context
    counters: Counters = field(default_factory=Counters)
    rounds: int = 0
    resumed: int = 0
    start: float = 0.0
    label: str = ""
    """What a stage's line in the log begins with."""

    def run(self) -> Outcome:
        """Finish what a killed run left, add the seeds, then go round until all is done or nothing is due."""
        self.start = self.ctx.monotonic()
        plain = self.ctx
        self._settle(plain)
        self._resume()
        if self.options.seeds:
            self._stage("inject", InjectOptions(crawldb=self._crawldb, seeds=self.options.seeds), plain)
            self._settle(plain)
        self._announce()
        nothing = self._go_round()
        return self._outcome(nothing)

    # -- private, in calling order

    @property
    def _crawldb(self) -> Path:
        return self.options.dir / "crawldb"

    def _settle(self, plain: Context) -> None:
        """Lay the crawl's own settings over the user's, where he said nothing himself."""
        domains = [] if self.options.follow_external else _seed_domains(plain, self._crawldb)
        self.ctx = replace(plain, conf=settled(plain.conf, self.options, domains))

    def _resume(self) -> None:
        """Take the segments of a killed run through their round."""
        duplicates = dedup_is_due(self.options.dir)
        delay = timedelta(milliseconds=self.ctx.conf.integer("crawl.gen.delay"))
        left = list(unfinished_segments(self.options.dir, self._now().now, delay))
        self.resumed = len(left)
        for one in left:
            _log.info("%s was left unfinished: going on with %s", one.segment.path, one.stage)
            self._gather(one)
        if left:
            self._bring_in([one.segment.path for one in left])
        elif duplicates:
            self._stage("dedup", DedupOptions(crawldb=self._crawldb))

    def _announce(self) -> None:
        """Say what this crawl will and will not do."""
        options, conf = self.options, self.ctx.conf
        said = [
            "rounds until nothing is due" if options.rounds == -1 else f"at most {_many(options.rounds or 0, 'round')}",
            f"pages fewer than {options.depth} links from a seed" if options.depth else "pages of any depth",
        ]
        if conf.integer("generate.max.count") > 0:
            most, each = conf.integer("generate.max.count"), conf.text("generate.count.mode")
            said.append(f"at most {most} URLs of a {each} in a round")
        _log.info("crawl: %s; %s", "; ".join(said), described(conf))
        if "domain" in conf.words("urlfilter.order"):
            domains = conf.rules("urlfilter.domain.file", "urlfilter.domain.rules").text.split()
            named = ", ".join(domains[:_NAMED_DOMAINS]) + (", …" if len(domains) > _NAMED_DOMAINS else "")
            _log.info("crawl: stays on %s (%s); --follow-external leaves them", _many(len(domains), "domain"), named)

    def _go_round(self) -> str | None:
        """The rounds; why they ended, when it was for want of work."""
        while self.rounds != self.options.rounds:
            self.label = f"round {self.rounds + 1}, "
            try:
                listed = self._stage("generate", self._generate_options())
            except NothingDue as reason:
                return str(reason)
            segments = [Path(path) for path in listed.data["segments"]]
            for path in segments:
                self._fetch_and_parse(path)
            self._bring_in(segments)
            self.rounds += 1
        return None

    def _generate_options(self) -> GenerateOptions:
        return GenerateOptions(
            crawldb=self._crawldb,
            segments_dir=self.options.dir / "segments",
            num_fetchers=self.options.num_fetchers,
        )

    def _gather(self, left: Unfinished) -> None:
        if left.stage == "fetch":
            self._fetch_and_parse(left.segment.path)
        elif left.stage == "parse":
            self._stage("parse", ParseOptions(segment=left.segment.path))

    def _fetch_and_parse(self, segment: Path) -> None:
        self._stage("fetch", FetchOptions(segment=segment))
        self._stage("parse", ParseOptions(segment=segment))

    def _bring_in(self, segments: Sequence[Path]) -> None:
        """Segments into the databases; what is in them already changes nothing."""
        paths = tuple(segments)
        self._stage("updatedb", UpdatedbOptions(crawldb=self._crawldb, segments=paths))
        linkdb = self.options.dir / "linkdb"
        self._stage("invertlinks", InvertlinksOptions(linkdb=linkdb, segments=paths, normalize=False, filter=False))
        self._stage("dedup", DedupOptions(crawldb=self._crawldb))

    def _stage(self, name: str, options: Options, ctx: Context | None = None) -> Outcome:
        """Run one stage, told in one line; the crawl ends where one does not end well, or a signal came.

        What else there is to know of it stands in runs.jsonl.
        """
        begin = self.ctx.monotonic()
        outcome = run_stage(name, options, self._now(ctx), logging.DEBUG)
        self.counters += outcome.counters
        said = "; ".join(outcome.summary) or "done"
        _log.info("%s%s: %s (%.1f s)", self.label, name, said, self.ctx.monotonic() - begin)
        if self.ctx.stop.is_set() or outcome.exit_code == Interrupted.exit_code:
            raise Interrupted(f"stopped by {self.ctx.stop.reason or 'a signal'} after {name}; what was done is kept")
        if outcome.exit_code:
            raise NutchpyError(f"{name} ended with {outcome.exit_code}")
        return outcome

    def _now(self, ctx: Context | None = None) -> Context:
        """The context at this moment: the run's one instant, and the time since."""
        ctx = ctx or self.ctx
        return replace(
            ctx,
            now=ctx.now + timedelta(seconds=ctx.monotonic() - self.start),
            crawl_dir=self.options.dir,
            wait_lock=max(ctx.wait_lock, _PATIENCE),
        )

    def _outcome(self, nothing: str | None) -> Outcome:
        attempts = self.counters.family("fetched")
        fetched = self.counters["fetched:success"]
        said = f"{_many(self.rounds, 'round')}, {_many(attempts, 'URL')} attempted, {_many(fetched, 'page')} fetched"
        before = f"{_many(self.resumed, 'unfinished segment')} finished, " if self.resumed else ""
        return Outcome(self.counters, summary=[f"{before}{said}; {nothing or 'all rounds done'}"])


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _seed_domains(ctx: Context, crawldb: Path) -> list[str]:
    """The registered domains of all seeds so far."""
    database = Database(crawldb, "crawldb")
    if not database.exists:
        return []
    with database.reading() as generation:
        found = ctx.engine.table(_DOMAINS, {"crawldb": Files(TABLES["crawldb"], generation.parts)})
    domains: list[str] = found["domain"].to_pylist()
    return domains


def settled(conf: Conf, options: CrawlOptions, domains: Sequence[str]) -> Conf:
    """The settings of a crawl: its limits where the user set none, its depth, its domains."""
    own: dict[str, Value] = {"generate.max.count": _URLS_PER_HOST, "generate.due.window": _WINDOW_SECONDS}
    values = {name: value for name, value in own.items() if len(conf.origin(name)) == 1}
    if options.depth is not None:
        expr = conf.text("generate.expr").strip()
        values["generate.expr"] = f"depth < {options.depth}" + (f" and (\n{expr}\n)" if expr else "")
    order = conf.words("urlfilter.order")
    if domains and "domain" not in order:
        values["urlfilter.order"] = [*order, "domain"]
        values["urlfilter.domain.rules"] = "\n".join(domains)
    return conf.with_values(values, "crawl")
