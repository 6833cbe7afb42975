"""DefaultFetchSchedule: a page is due again after its own interval, whether it changed or not."""

from __future__ import annotations

from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.conf.layers import Conf
from nutchpy.extension import columns
from nutchpy.extension.hosts import HostSettings
from nutchpy.plugins.schedule.answer import answer


class DefaultFetchSchedule:
    """See extension/points.py, FetchSchedule."""

    def __init__(self, settings: HostSettings) -> None:
        self._settings = settings

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """Built from ``db.fetch.interval.default``, which may differ per host."""
        return cls(HostSettings(conf))

    def schedule(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Due one interval after the fetch; modified when it was, or when that was never known."""
        interval = columns.whole(columns.interval_or_default(batch["fetch_interval"], batch["host"], self._settings))
        changed = pc.equal(batch["state"], "modified")
        return answer(
            interval,
            columns.after(batch["fetch_time"], interval),
            pc.if_else(changed, batch["fetch_time"], pc.coalesce(batch["modified_time"], batch["fetch_time"])),
        )
