"""The guard around the fetch schedule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from nutchpy.conf.layers import defaults
from nutchpy.extension.chains.fetch_schedule import Schedule
from nutchpy.storage.schema import METADATA, TIME

FETCHED = datetime(2026, 3, 1, 12, tzinfo=UTC)
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


def batch(count: int) -> pa.RecordBatch:
    row = {"host": "a.test", "fetch_time": FETCHED, "state": "unknown"}
    return pa.RecordBatch.from_pylist([{**row, "fetch_interval": 60 * n} for n in range(1, count + 1)], SCHEMA)


class _Plugin:
    """Doubles intervals; raises when one of the batch's is ``bad``."""

    def __init__(self, bad: int) -> None:
        self.bad = bad

    def schedule(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        if self.bad in rows["fetch_interval"].to_pylist():
            raise ValueError("cannot")
        return pa.record_batch(
            {
                "fetch_interval": pc.multiply(rows["fetch_interval"], 2),
                "due_time": rows["fetch_time"],
                "modified_time": rows["fetch_time"],
            }
        )


def guarded(plugin: Any) -> Schedule:
    schedule = Schedule(defaults())
    schedule._plugin = plugin
    return schedule


def test_a_row_that_raises_costs_that_row_alone() -> None:
    schedule = guarded(_Plugin(bad=180))
    answer = schedule.schedule(batch(7))
    assert answer["fetch_interval"].to_pylist() == [120, 240, 180, 480, 600, 720, 840]
    assert answer["due_time"][2].as_py() == FETCHED + timedelta(seconds=180)
    assert dict(schedule.errors) == {"plugin_errors:default": 1}


@pytest.mark.parametrize("column", ["fetch_interval", "due_time"])
def test_an_answer_with_holes_is_an_error(column: str) -> None:
    class Holes(_Plugin):
        def schedule(self, rows: pa.RecordBatch) -> pa.RecordBatch:
            answer = super().schedule(rows)
            return answer.set_column(
                answer.schema.get_field_index(column), column, pa.nulls(len(rows), answer[column].type)
            )

    schedule = guarded(Holes(bad=0))
    assert schedule.schedule(batch(2))["fetch_interval"].to_pylist() == [60, 120]
    assert schedule.errors["plugin_errors:default"] == 2


def test_an_answer_of_another_length_is_an_error() -> None:
    class Short(_Plugin):
        def schedule(self, rows: pa.RecordBatch) -> pa.RecordBatch:
            return super().schedule(rows).slice(1)

    assert guarded(Short(bad=0)).schedule(batch(3)).num_rows == 3


def test_no_rows_no_question() -> None:
    assert guarded(None).schedule(batch(0)).num_rows == 0


def test_the_plugin_is_the_one_of_the_settings() -> None:
    schedule = Schedule(
        defaults().with_values({"db.fetch.schedule.class": "org.apache.nutch.crawl.AdaptiveFetchSchedule"})
    )
    assert type(schedule._plugin).__name__ == "AdaptiveFetchSchedule"
