"""dedup: mark pages whose content another page has too.

Of the fetched rows with one signature the best stays as it is, the others become db_duplicate, until their next fetch.
-compareOrder says what is better: a higher score, a later fetchTime, a smaller urlLength, httpsOverHttp (the https
form of an address wins over its http form); what it leaves undecided, the URL decides. -group host or domain looks
for duplicates only there.
"""

# Relation stage: one pass finds the duplicates (dedup.sql), then each bucket marks its own.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from nutchpy.core.counters import Counters
from nutchpy.core.errors import UsageError
from nutchpy.core.status import Status
from nutchpy.engine.base import Files, statement
from nutchpy.engine.buckets import fitted
from nutchpy.engine.rewrite import Bucket, Change, Rewrite, Touched, rewrite
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument, setting
from nutchpy.storage import fs
from nutchpy.storage.database import Database, Draft, Generation
from nutchpy.storage.schema import TABLES, Column, Table

EXAMPLE: Final = """nutchpy dedup crawl/crawldb
nutchpy dedup crawl/crawldb -group host -compareOrder httpsOverHttp,score,fetchTime,urlLength"""

_FIND: Final = statement(__package__, "dedup")
_MARK: Final = statement(__package__, "dedup_mark")
_GROUPS: Final = ("none", "host", "domain")
_HTTPS: Final = "httpsOverHttp"
_KEYS: Final = ("score", "fetchTime", "urlLength", _HTTPS)
_DUPLICATES: Final = Table(
    "duplicates",
    "URLs to mark.",
    (
        *TABLES["crawldb"].columns[:2],
        Column("path", pa.string(), "Part in which its row is."),
    ),
)


@dataclass(frozen=True)
class DedupOptions(Options):
    """What dedup is told."""

    crawldb: Path = argument("The crawldb folder.")
    group: str = setting("deduplication.group.mode", "Where duplicates are sought: none, host or domain.", "-group")
    compare_order: str = setting(
        "deduplication.compare.order", "What is compared, in order, separated by commas.", "-compareOrder"
    )


def run(options: DedupOptions, ctx: Context) -> Outcome:
    """Mark the duplicates."""
    params = {"group": _group(options.group), **_keys(options.compare_order)}
    database = Database(options.crawldb, "crawldb")
    counters = Counters()
    if not options.crawldb.is_dir():
        database.current()  # raises; to lock it would make the folder
    with database.locked(ctx.wait_lock):
        before = database.current()
        grace, keep_old = ctx.conf.number("db.generations.grace"), ctx.conf.flag("db.preserve.backup")
        with database.replacing("dedup", ctx.now, grace, keep_old) as draft:
            with fitted(ctx.engine, before, draft) as present:
                found = _find(ctx, present.parts, draft, params) if present else 0
                if found:
                    _mark(ctx, present, draft)
            draft.abandoned = found == 0
        counters.add("duplicates", found)
        counters.add("total", before.meta.rows)
    return Outcome(counters, summary=[_summary(found)])


def _group(text: str) -> str:
    if text not in _GROUPS:
        raise UsageError(f"-group is one of {', '.join(_GROUPS)}, not {text!r}")
    return text


def _keys(text: str) -> dict[str, Any]:
    """The parameters of the statement for a compare order; UsageError for one that makes no sense."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [word for word in words if word not in _KEYS]
    if unknown or not words or len(set(words)) < len(words):
        what = f"{unknown[0]!r} is none of them" if unknown else f"each once, not {text!r}"
        raise UsageError(f"-compareOrder is made of {', '.join(_KEYS)}: {what}")
    keys: Sequence[str] = [*words, *[""] * (len(_KEYS) - len(words))]
    places = {f"k{number}": word for number, word in enumerate(keys, 1)}
    return {**places, "https_at": keys.index(_HTTPS) + 1 if _HTTPS in keys else 0}


def _waiting(draft: Draft) -> Path:
    return draft.path / "_duplicates.parquet"


def _find(ctx: Context, parts: Sequence[Path], draft: Draft, params: dict[str, Any]) -> int:
    """Put the duplicates of the whole crawldb aside; how many there are."""
    crawldb = Files(TABLES["crawldb"], parts, with_path=True)
    return ctx.engine.write(_FIND, {"crawldb": crawldb}, params, _waiting(draft), _DUPLICATES)


def _mark(ctx: Context, before: Generation | None, draft: Draft) -> None:
    duplicates = Files(_DUPLICATES, [_waiting(draft)])

    def touched(bucket: Bucket) -> Iterator[pa.RecordBatch]:
        parts = pa.table({"path": pa.array([str(part) for part in bucket.parts], pa.string())})
        return ctx.engine.read(_MARK, {"duplicates": duplicates, "parts": parts})

    rewrite(ctx.engine, before, draft, Rewrite(touched, _marked))
    fs.remove(_waiting(draft))


def _marked(touched: Touched) -> Change:
    rows = touched.with_rows(touched.news)
    status = pa.repeat(Status.DB_DUPLICATE.value, rows.num_rows)
    return Change(rows.set_column(rows.column_names.index("status"), "status", status))


def _summary(found: int) -> str:
    return f"{found} rows marked as duplicates" if found else "no duplicates; the crawldb is as it was"
