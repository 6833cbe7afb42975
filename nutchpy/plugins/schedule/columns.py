"""Column arithmetic that the schedules share: seconds, times, and the shape of their answer."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.extension.hosts import HostSettings

_MOST: Final = float(2**31 - 1)
_TIME: Final = pa.timestamp("us", tz="UTC")


def interval_or_default(batch: pa.RecordBatch, settings: HostSettings) -> pa.Array:
    """Each row's interval in seconds (float64); where it has none, ``db.fetch.interval.default``."""
    interval = batch["fetch_interval"].cast(pa.float64())
    default = settings.numbers("db.fetch.interval.default", batch["host"])
    return pc.if_else(pc.greater(interval, 0.0), interval, default)


def whole(seconds: pa.Array) -> pa.Array:
    """Seconds rounded into what a table's interval column holds."""
    bounded = pc.min_element_wise(pc.max_element_wise(seconds, 1.0), _MOST)
    return pc.round(bounded).cast(pa.int32())


def after(times: pa.Array, seconds: pa.Array) -> pa.Array:
    """The times that many seconds later; seconds may be negative and broken."""
    micros = pc.round(pc.multiply(seconds.cast(pa.float64()), 1e6)).cast(pa.int64())
    return pc.add(times.cast(pa.int64()), micros).cast(_TIME)


def seconds_between(earlier: pa.Array, later: pa.Array) -> pa.Array:
    """Seconds (float64) from one time to the other; null where one is."""
    micros = pc.subtract(later.cast(pa.int64()), earlier.cast(pa.int64()))
    return pc.divide(micros.cast(pa.float64()), 1e6)


def answer(interval: pa.Array, due_time: Any, modified_time: Any) -> pa.RecordBatch:
    """What FetchSchedule.schedule returns."""
    return pa.record_batch(
        {"fetch_interval": interval, "due_time": due_time.cast(_TIME), "modified_time": modified_time.cast(_TIME)}
    )
