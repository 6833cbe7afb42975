"""invertlinks: bring the links of segments into the linkdb, by the page they lead to.

Reads parse_data of the segments, each part once: what this linkdb holds already is passed over (-force reads it again,
which changes nothing). Links within a host are left out unless linkdb.ignore.internal.links says otherwise. A link
stays in the linkdb when its page loses it or goes away, as in Nutch. Of more than linkdb.max.inlinks links to one URL
those from pages of the highest score stay, among equals from different domains first.
"""

# Relation stage: SQL joins and sorts, by buckets; hosts, normalizers and filters are a row function in front.

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

import pyarrow as pa

from nutchpy.core.counters import Counters
from nutchpy.core.errors import DamagedError
from nutchpy.engine.base import Files, statement
from nutchpy.engine.buckets import FINEST, fitted
from nutchpy.stages.asked import asked_segments
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.invertlinks.links import LINKS, Rules, links
from nutchpy.stages.invertlinks.merge import write_bucket
from nutchpy.stages.options import Options, argument, flag, setting
from nutchpy.stages.routed import Routed, routed
from nutchpy.storage.database import Database, DatabaseMeta, Draft, Generation
from nutchpy.storage.parts import PartName, covered
from nutchpy.storage.schema import TABLES
from nutchpy.storage.segment import Segment

_log = logging.getLogger(__name__)

EXAMPLE: Final = """nutchpy invertlinks crawl/linkdb -dir crawl/segments
nutchpy invertlinks crawl/linkdb crawl/segments/20260301120000 -noNormalize -noFilter"""

_OUTLINKS: Final = statement(__package__, "outlinks")
_ATTEMPTS: Final = 3
_NO_LIMIT: Final = 2**31


@dataclass(frozen=True)
class InvertlinksOptions(Options):
    """What invertlinks is told."""

    linkdb: Path = argument("The linkdb folder; made when it is not there.")
    segments: tuple[Path, ...] = argument("The segments.", ())
    dir: Path | None = flag("A folder whose segments are all taken.", None, "-dir", metavar="FOLDER")
    force: bool = flag("Read parts that were read before once more.", False, "-force")
    normalize: bool = setting("linkdb.url.normalizer", "Do not normalize URLs.", "-noNormalize", given=False)
    filter: bool = setting("linkdb.url.filters", "Do not filter URLs.", "-noFilter", given=False)


def run(options: InvertlinksOptions, ctx: Context) -> Outcome:
    """Merge the links of the segments' new parts."""
    rules = Rules.of(ctx.conf, options.normalize, options.filter)
    segments = asked_segments("invertlinks", options.segments, options.dir)
    database = Database(options.linkdb, "linkdb")
    with database.locked(ctx.wait_lock):
        counters = _publish_new(options, ctx, database, segments, rules)
    if not counters["parts"]:
        return Outcome(counters, summary=["no new links: the linkdb is as it was"])
    return Outcome(counters, summary=[f"{counters['links']} links; {counters['targets']} URLs in the linkdb"])


# -- private, in calling order


def _publish_new(
    options: InvertlinksOptions, ctx: Context, database: Database, segments: Sequence[Segment], rules: Rules
) -> Counters:
    """Publish a generation with the links of new parts in it, if there are such parts.

    A parse that runs meanwhile may merge parts while they are being read; then we start over.
    """
    for attempts_left in reversed(range(_ATTEMPTS)):
        counters = Counters()
        before = database.current_or_none()
        parts = _new_parts(segments, before.meta if before else None, options.force, counters)
        if parts:
            try:
                counters += _publish(ctx, database, before, parts, rules)
            except (DamagedError, FileNotFoundError):
                if attempts_left == 0 or all(part.path.exists() for part in parts):
                    raise
                _log.info("parts were merged while they were read: starting over")
                continue
        return counters
    return Counters()


@dataclass(frozen=True)
class _Part:
    """A part of parse_data to be read."""

    segment: Segment
    name: PartName
    path: Path


def _new_parts(segments: Sequence[Segment], meta: DatabaseMeta | None, force: bool, counters: Counters) -> list[_Part]:
    """What was parsed (its crawl_parse part is there) and is not in the linkdb; segments not parsed are named."""
    found: list[_Part] = []
    for segment in segments:
        parsed = [name for name, _ in segment.parts("crawl_parse")]
        parts = [(name, path) for name, path in segment.parts("parse_data") if covered(name, parsed)]
        if not parts:
            _log.warning("%s is passed over: it has no parsed pages", segment.path)
            counters.add("skipped:not_parsed")
            continue
        counters.add("segments")
        known = None if force else meta
        uuid = segment.meta.uuid
        fresh = [part for part in parts if known is None or not known.has_applied(uuid, "parse_data", part[0])]
        found += [_Part(segment, name, path) for name, path in fresh]
    return found


def _publish(
    ctx: Context, database: Database, before: Generation | None, parts: Sequence[_Part], rules: Rules
) -> Counters:
    counters = Counters()
    grace, keep_old = ctx.conf.number("db.generations.grace"), ctx.conf.flag("db.preserve.backup")
    with (
        database.replacing("invertlinks", ctx.now, grace, keep_old) as draft,
        routed(draft.path / "_links", LINKS, FINEST) as new,
    ):
        for rows in links(_outlinks(ctx, parts), rules, counters):
            new.write(rows)
        with fitted(ctx.engine, before, draft, added=new.rows) as present:
            _merge(ctx, present, draft, new)
        for part in parts:
            draft.meta = draft.meta.with_applied(part.segment.meta.uuid, "parse_data", [str(part.name)])
    counters.add("parts", len(parts))
    counters.add("links", new.rows)
    counters.add("targets", draft.meta.rows)
    return counters + rules.errors()


def _outlinks(ctx: Context, parts: Sequence[_Part]) -> Iterator[pa.RecordBatch]:
    """The links of the parts, segment by segment: a page has the score that it was fetched with in that one."""
    for path, mine in groupby(parts, key=lambda part: part.segment.path):
        paths = [part.path for part in mine]
        fetched = Files(TABLES["crawl_fetch"], Segment(path).files("crawl_fetch"))
        yield from ctx.engine.read(
            _OUTLINKS, {"parse_data": Files(TABLES["parse_data"], paths), "crawl_fetch": fetched}
        )


def _merge(ctx: Context, before: Generation | None, draft: Draft, new: Routed) -> None:
    """Write every bucket that links came for; take over the others."""
    found = new.by_bucket(draft.meta.buckets)
    limit = ctx.conf.integer("linkdb.max.inlinks")
    for bucket in range(draft.meta.buckets):
        present = before.bucket(bucket) if before else []
        if bucket in found:
            most = limit if limit >= 0 else _NO_LIMIT
            write_bucket(ctx.engine, present, found[bucket], draft.part_path(bucket), most)
            continue
        for part in present:
            draft.keep(part)
