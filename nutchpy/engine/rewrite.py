"""``rewrite``: change a database bucket by bucket. Shared by updatedb, inject and dedup.

For each bucket: *touched* SQL finds the rows concerned, a policy (a Python function over one Arrow table) makes their
new rows, and the rest is copied; a bucket with no touched row is kept as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from nutchpy.core.urls import bucket_range
from nutchpy.engine.base import Engine, Files, Input, Params, statement
from nutchpy.storage.database import Draft, Generation

_MERGE: Final = statement(__package__, "rewrite")


@dataclass(frozen=True)
class Rewrite:
    """What to do with each bucket.

    ``touched_sql`` reads ``crawldb`` (the bucket) and ``feeds`` and answers one row per touched URL, its first column
    ``url``; it may use ``$first`` and ``$last`` (the bucket's key range, inclusive) and ``params``. ``policy`` turns
    that table into crawldb rows; a touched URL it leaves out is dropped from the database.
    """

    touched_sql: str
    feeds: Mapping[str, Input]
    params: Params
    policy: Callable[[pa.Table], pa.Table]


def rewrite(engine: Engine, before: Generation | None, draft: Draft, plan: Rewrite) -> bool:
    """Fill ``draft`` from ``before`` by ``plan``; whether any bucket changed."""
    changed = False
    for bucket in range(draft.meta.buckets):
        present = before.bucket(bucket) if before else []
        crawldb = Files(draft.table, present)
        touched = engine.table(plan.touched_sql, {**plan.feeds, "crawldb": crawldb}, _params(plan, draft, bucket))
        if touched.num_rows == 0:
            for part in present:
                draft.keep(part)
            continue
        rows = plan.policy(touched)
        changed = True
        inputs: dict[str, Input] = {"crawldb": crawldb, "touched": touched.select(["url"]), "rows": rows}
        engine.write(_MERGE, inputs, {}, draft.part_path(bucket), draft.table)
    return changed


def _params(plan: Rewrite, draft: Draft, bucket: int) -> dict[str, Any]:
    first, last = bucket_range(bucket, draft.meta.buckets)
    ranges = {"first": first, "last": last}
    return {**plan.params, **{name: value for name, value in ranges.items() if f"${name}" in plan.touched_sql}}
