"""generate: choose the URLs that are due and write them as new segments.

Best score first, ties by URL; -topN counts per segment. A URL that stands in a segment of this crawl not yet brought
into the crawldb is not listed again, so that generates in a row are disjoint. Prints the path of each new segment;
ends with 1 and the reason when nothing is due.
"""

# Relation stage: SQL finds, ranks and writes; filters and limits per host are a row function between.

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

import nutchpy
from nutchpy.conf.layers import Conf
from nutchpy.core.counters import Counters
from nutchpy.core.errors import ConfigError, NothingDue, UsageError
from nutchpy.engine.base import Files, statement
from nutchpy.extension.chains import URLFilters, URLNormalizers
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.generate.due import UNLIMITED, Due
from nutchpy.stages.generate.lists import Resolve, address_of, assign, queue_ids
from nutchpy.stages.generate.nothing import explain
from nutchpy.stages.generate.pending import pending_segments
from nutchpy.stages.generate.selection import SELECTED, Places, Selection
from nutchpy.stages.options import Options, argument, flag, setting
from nutchpy.stages.routed import routed
from nutchpy.storage import fs
from nutchpy.storage.database import Database, Generation
from nutchpy.storage.schema import TABLES, Column, Table
from nutchpy.storage.segment import creating, next_name, segments_lock

_log = logging.getLogger(__name__)

EXAMPLE: Final = """nutchpy generate crawl/crawldb crawl/segments -topN 50000 -numFetchers 4
nutchpy generate crawl/crawldb crawl/segments -expr "score > 0.1 and depth < 3\""""

_MOST_DAYS: Final = 365_000
_CHOSEN_SQL, _LIST_SQL = statement(__package__, "chosen"), statement(__package__, "list")
_CHOSEN: Final = Table(
    "chosen",
    "Rows of all new fetch lists.",
    (
        *TABLES["crawl_generate"].columns,
        Column("segment", pa.int32(), "Which of the new segments, from 0."),
        Column("turn", pa.int64(), "Place among the URLs of its queue."),
        Column("queue_size", pa.int64(), "How many those are."),
        Column("spread", pa.uint32(), "Hash that places a URL somewhere in its share of the list."),
    ),
)


@dataclass(frozen=True)
class GenerateOptions(Options):
    """What generate is told."""

    crawldb: Path = argument("The crawldb folder.")
    segments_dir: Path = argument("The folder of segments; made when it is not there.")
    top_n: int = setting("generate.topN", "Most URLs in a segment, best first; -1 for all.", "-topN", metavar="N")
    num_fetchers: int = flag("Fetch lists in a segment: so many can be fetched at once.", 1, "-numFetchers")
    expr: str = setting(
        "generate.expr", "List only rows for which this SQL expression is true.", "-expr", metavar="SQL"
    )
    add_days: float = flag("Act as if it were so many days later.", 0.0, "-adddays", "--add-days", metavar="DAYS")
    filter: bool = setting("generate.filter", "Do not filter URLs.", "-noFilter", given=False)
    normalise: bool = setting(
        "generate.normalise", "Do not normalize URLs before their hosts are counted.", "-noNorm", given=False
    )
    max_segments: int = setting(
        "generate.max.num.segments", "Most segments made; what a host has too much goes to the next.", "-maxNumSegments"
    )
    force: bool = flag("No effect: locks end with their owner. Kept for scripts.", False, "-force")


def run(options: GenerateOptions, ctx: Context) -> Outcome:
    """Write the segments; NothingDue, with the reason, when there is no row for them."""
    return generate(options, ctx, address_of)


def generate(options: GenerateOptions, ctx: Context, resolve: Resolve) -> Outcome:
    """The same with a resolver of one's own, for queues by address."""
    mode = _checked(options, ctx.conf)
    database = Database(options.crawldb, "crawldb")
    database.current()
    with (
        segments_lock(options.segments_dir, ctx.wait_lock),
        database.reading() as crawldb,
        _workplace(options.segments_dir) as folder,
    ):
        delay = timedelta(milliseconds=ctx.conf.integer("crawl.gen.delay"))
        pending = list(pending_segments(options.segments_dir, crawldb, ctx.now, delay))
        held = [path for one in pending for path in one.segment.files("crawl_generate")]
        due = Due.of(ctx.conf, ctx.engine, crawldb, held, ctx.now, options.add_days)
        reasons = due.reasons()
        with routed(folder / "selected", SELECTED, 1) as selected:
            selection = _selection(options, ctx.conf, selected)
            first = _first_window(options, selection)
            selection.take(due.ranked(first, folder / "due", selection.counters))
            counters = reasons.counters() + selection.counters + due.scoring.take_errors()
            if not counters["selected"]:
                held_back = due.pending()
                raise NothingDue(
                    explain(options.crawldb, reasons, selection.counters, held_back, pending, options.expr)
                )
            queues, unresolved = queue_ids((host for _, host in selection.counts), mode, resolve)
            lists = assign(selection.counts, queues, options.num_fetchers)
            chosen = _choose(ctx, due, crawldb, selected.files(), lists, folder)
        paths = _write_segments(options, ctx, crawldb, chosen, lists)
    more = {"segments": len(paths), "lists": len(_numbers(lists)), "unresolved": unresolved}
    return _outcome(options, counters + {name: n for name, n in more.items() if n}, paths)


def _checked(options: GenerateOptions, conf: Conf) -> str:
    """The partition mode, when everything asked for can be done."""
    if options.top_n == 0 or options.top_n < -1:
        raise UsageError(f"-topN must be above 0, or -1 for no limit, not {options.top_n}")
    if not abs(options.add_days) <= _MOST_DAYS:  # no number at all is not, either
        raise UsageError(f"-adddays is a number of at most {_MOST_DAYS} days, not {options.add_days:g}")
    for name, value in (("-numFetchers", options.num_fetchers), ("-maxNumSegments", options.max_segments)):
        if value < 1:
            raise UsageError(f"{name} must be above 0, not {value}")
    _one_of(conf, "generate.count.mode", ("host", "domain"))
    mode = _one_of(conf, "partition.url.mode", ("byHost", "byDomain", "byIP"))
    queue_mode = conf.text("fetcher.queue.mode")
    if options.num_fetchers > 1 and mode == "byHost" and queue_mode != mode:
        _log.warning("partition.url.mode is byHost, fetcher.queue.mode %s: one queue may span fetch lists", queue_mode)
    return mode


def _one_of(conf: Conf, setting_name: str, known: tuple[str, ...]) -> str:
    value = conf.text(setting_name)
    if value not in known:
        raise ConfigError(f"{setting_name} must be one of {', '.join(known)}, not {value!r}")
    return value


@contextmanager
def _workplace(segments_dir: Path) -> Iterator[Path]:
    """A folder to work in, under the segments' lock; what a killed generate left goes first."""
    for left in segments_dir.glob("_*"):
        fs.remove(left)
    folder = fs.make_folder(segments_dir / "_generate.tmp")
    try:
        yield folder
    finally:
        fs.remove(folder)


def _selection(options: GenerateOptions, conf: Conf, out: Any) -> Selection:
    max_count = conf.integer("generate.max.count")
    return Selection(
        Places(options.top_n, max_count if max_count > 0 else -1, options.max_segments),
        URLFilters.from_conf(conf) if options.filter else None,
        URLNormalizers.from_conf(conf) if options.normalise and max_count > 0 else None,
        conf.text("generate.count.mode") == "domain",
        out,
    )


def _first_window(options: GenerateOptions, selection: Selection) -> int:
    """How many rows to ask for at first: what is wanted, and some more when some will be refused."""
    if options.top_n < 0:
        return UNLIMITED
    wanted = options.top_n * options.max_segments
    return wanted if selection.filters is None and not selection.places.capped else 2 * wanted + 1_000


def _choose(ctx: Context, due: Due, crawldb: Generation, selected: Files, lists: pa.Table, folder: Path) -> Files:
    """The whole rows of the URLs selected, in one temporary part."""
    inputs = {"selected": selected, "queues": lists, "crawldb": Files(TABLES["crawldb"], crawldb.parts)}
    params = {name: due.params[name] for name in ("now", "far", "max_interval")}
    out = folder / "chosen.parquet"
    ctx.engine.write(_CHOSEN_SQL, inputs, params, out, _CHOSEN)
    return Files(_CHOSEN, [out])


def _write_segments(
    options: GenerateOptions, ctx: Context, crawldb: Generation, chosen: Files, lists: pa.Table
) -> list[Path]:
    """One segment after the other; each appears when it is whole."""
    paths: list[Path] = []
    numbers = _numbers(lists)
    for segment in sorted({segment for segment, _ in numbers}):
        name = next_name(options.segments_dir, ctx.now)
        with creating(options.segments_dir, name, crawldb.meta.uuid, ctx.now) as draft:
            draft.lists = sum(1 for other, _ in numbers if other == segment)
            urls = 0
            for number in range(draft.lists):
                part = draft.part_path(number)
                params = {"segment": segment, "list": number}
                urls += ctx.engine.write(_LIST_SQL, {"chosen": chosen}, params, part, TABLES["crawl_generate"])
                fs.fsync_file(part)
            fs.fsync_folder(part.parent)
            draft.stages["generate"] = _record(options, ctx, urls)
        paths.append(draft.final)
    return paths


def _numbers(lists: pa.Table) -> set[tuple[int, int]]:
    """(segment, list) of every fetch list."""
    return set(zip(lists["segment"].to_pylist(), lists["list"].to_pylist(), strict=True))


def _record(options: GenerateOptions, ctx: Context, urls: int) -> dict[str, Any]:
    return {
        "state": "done",
        "urls": urls,
        "options": options.shown(),
        "version": nutchpy.__version__,
        "start": ctx.now.isoformat(),
    }


def _outcome(options: GenerateOptions, counters: Mapping[str, int], paths: list[Path]) -> Outcome:
    counted = Counters(counters)
    summary = [f"{counted['selected']} of {counted['due']} URLs due listed in {', '.join(str(path) for path in paths)}"]
    if counted["host_overflow"]:
        summary.append(f"{counted['host_overflow']} URLs are for a later run: their hosts had their share")
    data = {"segments": [str(path) for path in paths], "counters": dict(counted)}
    return Outcome(counted, lines=[str(path) for path in paths], data=data, summary=summary)
