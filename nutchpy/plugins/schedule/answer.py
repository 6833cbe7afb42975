"""What a schedule answers: three columns, in the tables' types."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

_TIME: Final = pa.timestamp("us", tz="UTC")


def answer(interval: pa.Array, due_time: pa.Array, modified_time: pa.Array) -> pa.RecordBatch:
    """What FetchSchedule.schedule returns."""
    return pa.record_batch(
        {"fetch_interval": interval, "due_time": due_time.cast(_TIME), "modified_time": modified_time.cast(_TIME)}
    )
