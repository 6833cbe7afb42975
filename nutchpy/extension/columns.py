"""Arithmetic of seconds and times on Arrow columns, for schedules and for those who call them."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.extension.hosts import HostSettings

_MOST: Final = float(2**31 - 1)
_TIME: Final = pa.timestamp("us", tz="UTC")


def interval_or_default(intervals: pa.Array, hosts: pa.Array, settings: HostSettings) -> pa.Array:
    """Intervals in seconds (float64); where there is none, ``db.fetch.interval.default``."""
    seconds = intervals.cast(pa.float64())
    return pc.if_else(pc.greater(seconds, 0.0), seconds, settings.numbers("db.fetch.interval.default", hosts))


def whole(seconds: Any) -> Any:
    """Seconds rounded into what a table's interval column holds."""
    bounded = pc.min_element_wise(pc.max_element_wise(seconds, 1.0), _MOST)
    return pc.round(bounded, round_mode="half_up").cast(pa.int32())


def after(times: pa.Array, seconds: Any) -> pa.Array:
    """The times that many seconds later; seconds may be negative and broken."""
    micros = pc.round(pc.multiply(seconds.cast(pa.float64()), 1e6)).cast(pa.int64())
    return pc.add(times.cast(pa.int64()), micros).cast(_TIME)


def seconds_between(earlier: pa.Array, later: pa.Array) -> pa.Array:
    """Seconds (float64) from one time to the other; null where one is."""
    micros = pc.subtract(later.cast(pa.int64()), earlier.cast(pa.int64()))
    return pc.divide(micros.cast(pa.float64()), 1e6)
