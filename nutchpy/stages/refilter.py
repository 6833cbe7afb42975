"""Normalize and filter the rows a crawldb holds already, and purge those the settings give up.

A row whose URL is refused goes; one whose URL has another normal form moves there, unless that URL has a row of its
own. Relation with a row function in front: chains over URL columns, SQL for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.core.counters import Counters
from nutchpy.core.urls import bucket_key, host_of, registered_domain
from nutchpy.engine.base import Files, statement
from nutchpy.engine.rewrite import Bucket, Change, Rewrite, Touched, rewrite
from nutchpy.extension.chains import URLFilters, URLNormalizers
from nutchpy.stages.context import Context
from nutchpy.stages.routed import routed
from nutchpy.storage.database import Database, Draft, Generation
from nutchpy.storage.schema import TABLES, Column, Table

_SQL: Final = statement(__package__, "refilter")
_CRAWLDB: Final = TABLES["crawldb"]
_MOVED: Final = Table(
    "moved",
    "Rows whose URL changes: the row under its new URL, or with none when it is refused.",
    (
        Column("url", pa.string(), "New URL.", nullable=True),
        *_CRAWLDB.columns[1:],
        Column("old_url", pa.string(), "URL it has now."),
        Column("bucket_key", pa.uint32(), "Of the new host."),
    ),
)


def purges(ctx: Context) -> bool:
    """Whether the settings ask to drop rows by their status."""
    return ctx.conf.flag("db.update.purge.404") or ctx.conf.flag("db.update.purge.orphans")


def refilter(
    ctx: Context,
    database: Database,
    normalizers: URLNormalizers | None,
    filters: URLFilters | None,
    made_by: str = "inject",
    scope: str = "inject",
) -> Counters:
    """Publish the database without what must go; counted. The caller holds its lock."""
    before = database.current_or_none()
    if before is None:
        return Counters()
    grace, keep_old = ctx.conf.number("db.generations.grace"), ctx.conf.flag("db.preserve.backup")
    with database.replacing(made_by, ctx.now, grace, keep_old) as draft:
        return _refilter(ctx, before, draft, normalizers, filters, scope)


def _refilter(
    ctx: Context,
    before: Generation,
    draft: Draft,
    normalizers: URLNormalizers | None,
    filters: URLFilters | None,
    scope: str,
) -> Counters:
    counters = Counters()
    with routed(draft.path / "_moved", _MOVED, draft.meta.buckets) as moved:
        if normalizers or filters:
            for rows in _moves(ctx, before, normalizers, filters, scope, counters):
                moved.write(rows)

        def touched(bucket: Bucket) -> Iterator[pa.RecordBatch]:
            params = {
                "first": bucket.first,
                "last": bucket.last,
                "purge_gone": ctx.conf.flag("db.update.purge.404"),
                "purge_orphans": ctx.conf.flag("db.update.purge.orphans"),
            }
            return ctx.engine.read(_SQL, {"moved": files, "crawldb": Files(_CRAWLDB, bucket.parts)}, params)

        def policy(touched: Touched) -> Change:
            leaving = touched.news["nth"].filter(touched.news["leaves"])
            counters.add("purged", len(leaving))
            return Change(_arrived(touched.news), leaving.combine_chunks())

        files = moved.files()
        draft.abandoned = not rewrite(ctx.engine, before, draft, Rewrite(touched, policy))
    return counters


def _arrived(rows: pa.Table) -> pa.Table:
    """Rows that come under a URL that has none, and had none before either."""
    rows = rows.filter(pc.invert(rows["known"]))
    columns = {name: rows[f"new_{name}"] for name in _CRAWLDB.schema.names[2:]}
    return pa.table({**{name: rows[name] for name in ("url", "host", "nth")}, **columns})


def _moves(
    ctx: Context,
    before: Generation,
    normalizers: URLNormalizers | None,
    filters: URLFilters | None,
    scope: str,
    counters: Counters,
) -> Iterator[pa.Table]:
    for batch in ctx.engine.read("select * from crawldb", {"crawldb": Files(_CRAWLDB, before.parts)}):
        old = batch.column("url").to_pylist()
        new = [verdict(url, normalizers, filters, scope, counters) for url in old]
        changed = [row for row, url in enumerate(new) if url != old[row]]
        if changed:
            yield _moved(batch.take(pa.array(changed, pa.int64())), [new[row] for row in changed])


def verdict(
    url: str, normalizers: URLNormalizers | None, filters: URLFilters | None, scope: str, counters: Counters
) -> str | None:
    """The URL's new form; None, counted, when it may not stay."""
    normal = normalizers.normalize(url, scope) if normalizers else url
    if normal is None or host_of(normal) is None:
        counters.add("malformed")
        return None
    reason = filters.reject(normal) if filters else None
    if reason is not None:
        counters.add(f"filtered:{reason}")
    return normal if reason is None else None


def _moved(rows: pa.RecordBatch, urls: list[str | None]) -> pa.Table:
    table = pa.table(rows)
    hosts = [host_of(url) or "" if url else host for url, host in zip(urls, table["host"].to_pylist(), strict=True)]
    columns = {name: table[name] for name in table.column_names}
    columns["old_url"] = table["url"]
    columns["url"] = pa.array(urls, pa.string())
    columns["host"] = pa.array(hosts)
    columns["domain"] = pa.array([registered_domain(host) for host in hosts])
    columns["bucket_key"] = pa.array([bucket_key(host) for host in hosts], pa.uint32())
    return pa.table(columns)
