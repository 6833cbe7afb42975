"""AdaptiveFetchSchedule: pages that change are fetched more often, pages that do not less often.

The interval shrinks by ``dec_rate`` when the page had changed and grows by ``inc_rate`` when it had not, between
``min_interval`` and ``max_interval`` (each may differ per host). With ``sync_delta`` the next fetch moves towards the
time at which the page seems to change. A row whose metadata has ``fixedInterval`` is fetched at that interval, always.
"""

from __future__ import annotations

from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.conf.layers import Conf
from nutchpy.core.errors import ConfigError
from nutchpy.extension import columns
from nutchpy.extension.hosts import HostSettings
from nutchpy.plugins.schedule.answer import answer

_FAMILY: Final = "db.fetch.schedule.adaptive"
_NUMBER: Final = r"^\s*\d{1,10}(\.\d*)?\s*$"


class AdaptiveFetchSchedule:
    """See extension/points.py, FetchSchedule."""

    def __init__(self, settings: HostSettings, sync_delta: bool) -> None:
        self._settings = settings
        self._sync_delta = sync_delta

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """Built from ``db.fetch.schedule.adaptive.*``; ConfigError when a rate makes intervals negative."""
        for name in ("dec_rate", "sync_delta_rate"):
            if not 0 <= conf.number(f"{_FAMILY}.{name}") < 1:
                raise ConfigError(f"{_FAMILY}.{name} must be at least 0 and less than 1")
        return cls(HostSettings(conf), conf.flag(f"{_FAMILY}.sync_delta"))

    def schedule(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The interval adapted, the due time it leads to, and when the page was last seen changed."""
        fetched = batch["fetch_time"]
        changed = pc.equal(batch["state"], "modified")
        modified = pc.if_else(changed, fetched, pc.coalesce(batch["modified_time"], fetched))
        unchanged_for = columns.seconds_between(modified, fetched)
        interval = self._bounded(batch, self._adapted(batch, unchanged_for))
        offset = self._offset(batch, unchanged_for, interval)
        fixed = _fixed(batch["metadata"])
        interval = columns.whole(pc.coalesce(fixed, interval))
        ahead = pc.subtract(interval.cast(pa.float64()), pc.if_else(pc.is_valid(fixed), 0.0, offset))
        return answer(interval, columns.after(fetched, ahead), modified)

    def _adapted(self, batch: pa.RecordBatch, unchanged_for: pa.Array) -> pa.Array:
        interval = columns.interval_or_default(batch["fetch_interval"], batch["host"], self._settings)
        longer = pc.multiply(interval, pc.add(1.0, self._number("inc_rate", batch)))
        shorter = pc.multiply(interval, pc.subtract(1.0, self._number("dec_rate", batch)))
        adapted = pc.case_when(
            pc.make_struct(pc.equal(batch["state"], "modified"), pc.equal(batch["state"], "notmodified")),
            shorter,
            longer,
            interval,
        )
        return pc.max_element_wise(adapted, unchanged_for) if self._sync_delta else adapted

    def _bounded(self, batch: pa.RecordBatch, interval: pa.Array) -> pa.Array:
        least, most = self._number("min_interval", batch), self._number("max_interval", batch)
        return pc.max_element_wise(pc.min_element_wise(interval, most), least)

    def _offset(self, batch: pa.RecordBatch, unchanged_for: pa.Array, interval: pa.Array) -> Any:
        """Seconds by which the next fetch comes early. Never a whole interval, or it would lie in the past."""
        if not self._sync_delta:
            return 0.0
        return pc.multiply(pc.min_element_wise(unchanged_for, interval), self._number("sync_delta_rate", batch))

    def _number(self, name: str, batch: pa.RecordBatch) -> Any:
        return self._settings.numbers(f"{_FAMILY}.{name}", batch["host"])


def _fixed(metadata: pa.Array) -> pa.Array:
    """Seconds that the rows' metadata fix (``fixedInterval``); null where it does not, or is no number."""
    text = pc.map_lookup(metadata, pa.scalar("fixedInterval"), "last")
    number = pc.if_else(pc.match_substring_regex(text, _NUMBER), pc.utf8_trim_whitespace(text), None)
    seconds = number.cast(pa.float64())
    return pc.if_else(pc.greater(seconds, 0.0), seconds, None)
