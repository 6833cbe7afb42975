"""An update of the crawldb: what segments say of a bucket's URLs, and what becomes of their rows.

SQL adds up the news (updatedb*.sql), ``rewrite`` finds the rows, the state machine in transitions.py decides on them.
May know: those, and the settings that purge or limit; nothing of segments or generations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.core.counters import Counters
from nutchpy.core.status import Status
from nutchpy.engine.base import Files, Input, statement
from nutchpy.engine.rewrite import Bucket, Change, Touched
from nutchpy.stages.context import Context
from nutchpy.stages.touched import JUDGED, LINKED, NEWS, TOUCHED, Details, judged, lightly, mattering
from nutchpy.stages.transitions import Rules, after_attempt, after_news, relinked
from nutchpy.storage.schema import TABLES

_SQL: Final = statement(__package__, "updatedb")
_IN_ORDER: Final = statement(__package__, "updatedb_in_order")
_CROWDED: Final = statement(__package__, "updatedb_crowded")
_PURGED: Final = statement(__package__, "updatedb_purged")
_CRAWLDB: Final = TABLES["crawldb"]
_NO_LIMIT: Final = 2**62


class Update:
    """What segments say of a bucket, and the state machine on it, as ``rewrite`` asks for them: bucket by bucket."""

    def __init__(
        self, ctx: Context, inputs: Mapping[str, Input], counters: Counters, *, again: bool, additions: bool
    ) -> None:
        conf = ctx.conf
        self._again = again
        self._additions = additions
        self._engine = ctx.engine
        self._inputs = inputs
        self._rules = Rules.of(conf, ctx.now)
        self._counters = counters
        limit = conf.integer("db.update.max.inlinks")
        self._max_inlinks = limit if limit >= 0 else _NO_LIMIT
        purges = {Status.DB_GONE: "db.update.purge.404", Status.DB_ORPHAN: "db.update.purge.orphans"}
        self._purged = {status.value for status, name in purges.items() if conf.flag(name)}
        self._details = Details()

    def news(self, bucket: Bucket) -> Iterator[pa.RecordBatch]:
        """One row per URL (see updatedb.sql)."""
        here = {"first": bucket.first, "last": bucket.last}
        self._details = Details(self._engine.read(_IN_ORDER, {"details": self._inputs["details"]}, here))
        params = {**here, "aggregate": self._rules.scoring.inlink_aggregate}
        inputs = {**self._inputs, "purged": self._purged_rows(bucket)}
        for batch in self._engine.read(_SQL, inputs, params):
            crowded = batch.filter(pc.greater(batch["links"], self._max_inlinks))
            yield self._capped(batch, crowded["url"], params) if crowded.num_rows else batch

    def policy(self, touched: Touched) -> Change:
        """What becomes of a row group's."""
        columns = [*JUDGED, "status"] if self._purged else JUDGED
        news = _batch(touched.with_rows(touched.news, columns))
        details = self._details.of(news)
        batch = mattering(judged(news, details, self._again), self._additions, self._purged)
        light = lightly(batch, self._purged)
        change = self._decided(touched, batch.filter(pc.invert(light)), details)
        self._count(batch)
        few = batch.select(LINKED).filter(light)
        return replace(change, patches=pa.table({"nth": few["nth"], **relinked(few, self._rules)}))

    def close(self) -> None:
        """Count what plugins raised on."""
        for chain in (self._rules.schedule, self._rules.scoring):
            for name, count in chain.take_errors().items():
                self._counters.add(name, count)

    def _purged_rows(self, bucket: Bucket) -> pa.Table | Files:
        """Rows that are to go, whatever the segments say."""
        crawldb = Files(_CRAWLDB, bucket.parts if self._purged else [])
        return self._engine.table(
            _PURGED, {"crawldb": crawldb, "statuses": pa.table({"status": pa.array(sorted(self._purged), pa.string())})}
        )

    def _capped(self, batch: pa.RecordBatch, urls: pa.Array, params: Mapping[str, Any]) -> pa.RecordBatch:
        """With the scores of such URLs that have more links than count."""
        inputs = {**self._inputs, "crowded": pa.table({"url": urls})}
        capped = self._engine.table(_CROWDED, inputs, {**params, "max_inlinks": self._max_inlinks})
        at = pc.index_in(batch["url"], value_set=capped["url"].combine_chunks())
        scores = pc.if_else(pc.is_valid(at), capped["inlink_score"].combine_chunks().take(at), batch["inlink_score"])
        return batch.set_column(batch.schema.get_field_index("inlink_score"), "inlink_score", scores)

    def _decided(self, touched: Touched, batch: pa.RecordBatch, details: pa.RecordBatch) -> Change:
        """What becomes of rows that are new, were fetched, or get metadata."""
        attempted = batch.filter(batch["attempted"])
        others = batch.filter(pc.invert(batch["attempted"]))
        decided = [
            after_attempt(_whole(touched, attempted, details, TOUCHED.names), self._rules),
            after_news(_whole(touched, others, details, NEWS), self._rules),
        ]
        rows = pa.concat_tables(decided).append_column("nth", pa.chunked_array([attempted["nth"], others["nth"]]))
        for entry in pc.value_counts(decided[0]["status"]).to_pylist():
            self._counters.add(f"updated:{entry['values']}", entry["counts"])
        if not self._purged:
            return Change(rows)
        goes = pc.is_in(rows["status"], value_set=pa.array(sorted(self._purged)))
        self._counters.add("purged", pc.sum(goes).as_py() or 0)
        return Change(rows.filter(pc.invert(goes)), rows["nth"].filter(goes).combine_chunks())

    def _count(self, batch: pa.RecordBatch) -> None:
        known, attempted = batch["known"], batch["attempted"]
        self._counters.add("added", batch.num_rows - known.true_count)
        self._counters.add("linked", pc.and_(known, pc.invert(attempted)).true_count)


def _whole(touched: Touched, batch: pa.RecordBatch, details: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """The rows with these columns: of the news, of the crawldb, and of their details."""
    rows = _batch(touched.with_rows(pa.table(batch)))
    more = details.select([name for name in names if name not in rows.schema.names]).take(batch["detail"])
    return pa.record_batch({name: (rows if name in rows.schema.names else more)[name] for name in names})


def _batch(rows: pa.Table) -> pa.RecordBatch:
    return pa.record_batch([column.combine_chunks() for column in rows.columns], names=rows.column_names)
