"""invertlinks: bring the links of segments into the linkdb, by the page they lead to.

Reads parse_data of the segments, each part once: what this linkdb holds already is passed over (-force reads it again,
which changes nothing). Links within a host are left out unless linkdb.ignore.internal.links says otherwise. A link
stays in the linkdb when its page loses it or goes away, as in Nutch.
"""

# Relation stage: SQL merges bucket by bucket; hosts, normalizers and filters are a row function in front.

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.conf.layers import Conf
from nutchpy.core.counters import Counters
from nutchpy.core.errors import ConfigError
from nutchpy.core.urls import bucket_keys, hosts_of
from nutchpy.engine.base import Files, statement
from nutchpy.engine.buckets import FINEST, fitted
from nutchpy.engine.slices import write_sliced
from nutchpy.extension.chains import URLFilters, URLNormalizers
from nutchpy.stages.asked import asked_segments
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument, flag, setting
from nutchpy.stages.routed import Routed, routed
from nutchpy.storage.database import Database, DatabaseMeta, Draft, Generation
from nutchpy.storage.parts import PartName, covered
from nutchpy.storage.schema import TABLES, Column, Table
from nutchpy.storage.segment import Segment

_log = logging.getLogger(__name__)

EXAMPLE: Final = """nutchpy invertlinks crawl/linkdb -dir crawl/segments
nutchpy invertlinks crawl/linkdb crawl/segments/20260301120000 -noNormalize -noFilter"""

_SQL, _OUTLINKS = statement(__package__, "invertlinks"), statement(__package__, "outlinks")
_LINKDB: Final = TABLES["linkdb"]
_LINKS: Final = Table(
    "links",
    "New links on their way to the bucket of their target.",
    (
        *_LINKDB.columns[:2],
        Column("bucket_key", pa.uint32(), "Of the target's host."),
        Column("from_url", pa.string(), "The page that links."),
        Column("anchor", pa.string(), "With which words."),
    ),
)


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
    rules = _Rules.of(options, ctx.conf)
    segments = asked_segments("invertlinks", options.segments, options.dir)
    database = Database(options.linkdb, "linkdb")
    counters = Counters()
    with database.locked(ctx.wait_lock):
        before = database.current_or_none()
        grace, keep_old = ctx.conf.number("db.generations.grace"), ctx.conf.flag("db.preserve.backup")
        with (
            database.replacing("invertlinks", ctx.now, grace, keep_old) as draft,
            routed(draft.path / "_links", _LINKS, FINEST) as links,
        ):
            parts = _new_parts(segments, draft.meta, options.force, counters)
            if not parts:
                draft.abandoned = True
                return Outcome(counters, summary=["no new links: the linkdb is as it was"])
            for rows in _links(ctx, [part.path for part in parts], rules, counters):
                links.write(rows)
            with fitted(ctx.engine, before, draft, added=0 if before else links.rows) as present:
                _merge(ctx, present, draft, links)
            for part in parts:
                draft.meta = draft.meta.with_applied(part.segment, "parse_data", [str(part.name)])
    counters.add("links", links.rows)
    counters.add("targets", draft.meta.rows)
    counters += rules.errors()
    return Outcome(counters, summary=[f"{links.rows} links; {counters['targets']} URLs in the linkdb"])


@dataclass(frozen=True)
class _Part:
    """A part of parse_data to be read."""

    segment: str
    name: PartName
    path: Path


def _new_parts(segments: Sequence[Segment], meta: DatabaseMeta, force: bool, counters: Counters) -> list[_Part]:
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
        uuid = segment.meta.uuid
        found += [
            _Part(uuid, name, path) for name, path in parts if force or not meta.has_applied(uuid, "parse_data", name)
        ]
    return found


@dataclass
class _Rules:
    """Which links count, and in which form."""

    internal: bool
    external: bool
    max_anchor: int
    normalizers: URLNormalizers | None
    filters: URLFilters | None

    @classmethod
    def of(cls, options: InvertlinksOptions, conf: Conf) -> _Rules:
        internal = not conf.flag("linkdb.ignore.internal.links")
        external = not conf.flag("linkdb.ignore.external.links")
        if not internal and not external:
            raise ConfigError(
                "linkdb.ignore.internal.links and linkdb.ignore.external.links are both true: no link is left"
            )
        return cls(
            internal,
            external,
            conf.integer("linkdb.max.anchor.length"),
            URLNormalizers.from_conf(conf) if options.normalize else None,
            URLFilters.from_conf(conf) if options.filter else None,
        )

    def errors(self) -> Counters:
        """What plugins raised on."""
        chains = [chain for chain in (self.normalizers, self.filters) if chain is not None]
        return sum((chain.take_errors() for chain in chains), Counters())

    def judge(self, urls: list[str]) -> tuple[list[str | None], list[str | None]]:
        """New forms of distinct URLs, None for those refused; and the reasons of the refused."""
        normal = self.normalizers.normalize_all(urls, "linkdb") if self.normalizers else list(urls)
        present = [url or "" for url in normal]
        reasons = self.filters.reject_all(present) if self.filters else [None] * len(urls)
        why = [f"filtered:{reason}" if reason else None for reason in reasons]
        why = [reason if url else "malformed" for url, reason in zip(normal, why, strict=True)]
        return [url if reason is None else None for url, reason in zip(normal, why, strict=True)], why


def _links(ctx: Context, parts: list[Path], rules: _Rules, counters: Counters) -> Iterator[pa.Table]:
    """The links of these parts as rows for the linkdb, some ten thousand at a time."""
    for batch in ctx.engine.read(_OUTLINKS, {"parse_data": Files(TABLES["parse_data"], parts)}):
        kept = _of_interest(batch, rules, counters)
        rows = _judged(kept, rules, counters)
        if rows.num_rows:
            yield rows


def _of_interest(batch: pa.RecordBatch, rules: _Rules, counters: Counters) -> pa.RecordBatch:
    """Without the links within a host, or those between hosts, as the settings say."""
    if rules.internal and rules.external:
        return batch
    same = pc.fill_null(pc.equal(_hosts(batch.column("from_url")), _hosts(batch.column("url"))), rules.external)
    wanted = same if rules.internal else pc.invert(same)
    dropped = batch.num_rows - (pc.sum(wanted).as_py() or 0)
    if dropped:
        counters.add("outlinks_dropped:internal" if rules.external else "outlinks_dropped:external", dropped)
    return batch.filter(wanted)


def _hosts(urls: pa.Array) -> pa.Array:
    """Hosts of a column, worked out once for each distinct URL; null where there is none."""
    encoded = urls.dictionary_encode()
    hosts = [host or None for host in hosts_of(encoded.dictionary.to_pylist())]
    return pa.array(hosts, pa.string()).take(encoded.indices)


def _judged(batch: pa.RecordBatch, rules: _Rules, counters: Counters) -> pa.Table:
    """Both ends normalized and filtered, anchors cut."""
    sources, _ = _forms(batch.column("from_url"), rules)
    targets, why = _forms(batch.column("url"), rules)
    for entry in pc.value_counts(why.drop_null()).to_pylist():
        counters.add(entry["values"], entry["counts"])
    hosts = _hosts(targets)
    table = pa.table(
        {
            "url": targets,
            "host": hosts,
            "bucket_key": _keys(hosts),
            "from_url": sources,
            "anchor": pc.utf8_slice_codeunits(batch.column("anchor"), 0, rules.max_anchor),
        }
    )
    return table.filter(pc.and_(pc.is_valid(sources), pc.is_valid(hosts)))


def _forms(urls: pa.Array, rules: _Rules) -> tuple[pa.Array, pa.Array]:
    """``judge`` over a column, each distinct URL once."""
    encoded = urls.dictionary_encode()
    forms, why = rules.judge(encoded.dictionary.to_pylist())
    indices = encoded.indices
    return pa.array(forms, pa.string()).take(indices), pa.array(why, pa.string()).take(indices)


def _keys(hosts: pa.Array) -> pa.Array:
    encoded = hosts.dictionary_encode()
    return pa.array(bucket_keys(encoded.dictionary.to_pylist()), pa.uint32()).take(encoded.indices)


def _merge(ctx: Context, before: Generation | None, draft: Draft, links: Routed) -> None:
    """Write every bucket that links came for; take over the others."""
    found = links.by_bucket(draft.meta.buckets)
    limit = ctx.conf.integer("linkdb.max.inlinks")
    params = {"max_inlinks": limit if limit >= 0 else 2**62}
    for bucket in range(draft.meta.buckets):
        present = before.bucket(bucket) if before else []
        if bucket not in found:
            for part in present:
                draft.keep(part)
            continue
        inputs = {"linkdb": Files(_LINKDB, present), "links": Files(_LINKS, found[bucket])}
        part_path = partial(draft.part_path, bucket)
        write_sliced(ctx.engine, _SQL, inputs, params, part_path, _LINKDB, ["linkdb", "links"])
