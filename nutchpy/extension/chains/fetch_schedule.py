"""Schedule: the one fetch schedule in use, guarded like a chain. Imported by those alone who have Arrow batches."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.conf.layers import Conf
from nutchpy.extension.chains.guard import Chain, build
from nutchpy.extension.columns import after, interval_or_default, whole
from nutchpy.extension.hosts import HostSettings
from nutchpy.extension.points import FetchSchedule

_ANSWER: Final = ("fetch_interval", "due_time", "modified_time")


class Schedule(Chain):
    """The schedule that ``db.fetch.schedule.class`` names. A row it raises on keeps its interval."""

    def __init__(self, conf: Conf) -> None:
        super().__init__(conf)
        plugin: FetchSchedule
        ((self._name, plugin),) = build("schedule", [conf.text("db.fetch.schedule.class")], conf)
        self._plugin = plugin
        self._settings = HostSettings(conf)

    def schedule(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Interval, due time and modified time of fetched rows (see FetchSchedule)."""
        if batch.num_rows == 0:
            return self._plain(batch)
        try:
            answer = self._plugin.schedule(batch)
            return _checked(answer, batch)
        except Exception as error:  # noqa: BLE001  a plugin's fault costs the rows it raises on their schedule, no more
            if batch.num_rows > 1:
                return self._halves(batch)
            self.failed(self._name, "a fetched row", error)
            return self._plain(batch)

    def _halves(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        half = batch.num_rows // 2
        both = [self.schedule(batch.slice(0, half)), self.schedule(batch.slice(half))]
        return pa.Table.from_batches(both).combine_chunks().to_batches()[0]

    def _plain(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """As it was, due after its interval."""
        interval = whole(interval_or_default(batch["fetch_interval"], batch["host"], self._settings))
        due = after(batch["fetch_time"], interval)
        modified = pc.coalesce(batch["modified_time"], batch["fetch_time"])
        return pa.record_batch({"fetch_interval": interval, "due_time": due, "modified_time": modified})


def _checked(answer: pa.RecordBatch, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The three columns with the types of the question's; ValueError for an answer that cannot be used."""
    if answer.num_rows != batch.num_rows:
        raise ValueError(f"{answer.num_rows} rows for {batch.num_rows}")
    time = batch["fetch_time"].type
    columns = [answer[name].cast(kind) for name, kind in zip(_ANSWER, (pa.int32(), time, time), strict=True)]
    if columns[0].null_count or columns[1].null_count:
        raise ValueError("a row without interval or due time")
    return pa.record_batch(columns, names=list(_ANSWER))
