"""A fetch schedule written for one row at a time."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest

from nutchpy.extension.per_row import FetchedRow, RowFetchSchedule, Verdict
from nutchpy.storage.schema import METADATA, TIME
from nutchpy.testing.crawls import NOW

SCHEMA = pa.schema(
    {
        "host": pa.string(),
        "fetch_time": TIME,
        "fetch_interval": pa.int32(),
        "modified_time": TIME,
        "state": pa.string(),
        "metadata": METADATA,
    }
)
ROW = {"host": "a.test", "fetch_time": NOW, "fetch_interval": 60, "state": "unknown"}


class Hourly(RowFetchSchedule):
    """Each hour, or as often as the metadata says."""

    def row(self, fetched: FetchedRow) -> Verdict:
        seconds = int(fetched.metadata.get("every", 3_600))
        return Verdict(seconds, fetched.fetch_time + timedelta(seconds=seconds), fetched.modified_time)


def test_rows_one_by_one() -> None:
    rows = [ROW, {**ROW, "metadata": [("every", "60")], "modified_time": NOW}]
    answer = Hourly().schedule(pa.RecordBatch.from_pylist(rows, SCHEMA)).to_pylist()
    assert [row["fetch_interval"] for row in answer] == [3_600, 60]
    assert [row["due_time"] - NOW for row in answer] == [timedelta(hours=1), timedelta(minutes=1)]
    assert [row["modified_time"] for row in answer] == [None, NOW]


def test_a_schedule_that_says_nothing() -> None:
    with pytest.raises(TypeError, match="RowFetchSchedule does not say"):
        RowFetchSchedule().schedule(pa.RecordBatch.from_pylist([ROW], SCHEMA))
