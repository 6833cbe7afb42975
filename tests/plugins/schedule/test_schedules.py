"""Both schedules on batches of rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from nutchpy.conf.layers import Conf, Layer, defaults
from nutchpy.core.errors import ConfigError
from nutchpy.plugins.schedule.adaptive import AdaptiveFetchSchedule
from nutchpy.plugins.schedule.default import DefaultFetchSchedule
from nutchpy.storage.schema import METADATA, TIME

FETCHED = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = 86_400

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


def batch(*rows: dict[str, Any]) -> pa.RecordBatch:
    plain = {"host": "a.test", "fetch_time": FETCHED, "fetch_interval": 10 * DAY, "state": "unknown"}
    return pa.RecordBatch.from_pylist([{**plain, **row} for row in rows], SCHEMA)


def adaptive(**values: Any) -> AdaptiveFetchSchedule:
    names = {f"db.fetch.schedule.adaptive.{name}": value for name, value in values.items()}
    return AdaptiveFetchSchedule.from_conf(defaults().with_values(names))


def one(schedule: Any, **row: Any) -> dict[str, Any]:
    answer = schedule.schedule(batch(row))
    assert answer.schema.names == ["fetch_interval", "due_time", "modified_time"]
    return answer.to_pylist()[0]


def days(due: datetime) -> float:
    return (due - FETCHED) / timedelta(days=1)


@pytest.mark.parametrize("state", ["modified", "notmodified", "unknown"])
def test_default_keeps_the_interval(state: str) -> None:
    row = one(DefaultFetchSchedule.from_conf(defaults()), state=state)
    assert (row["fetch_interval"], days(row["due_time"])) == (10 * DAY, 10)


def test_default_modified_time() -> None:
    schedule = DefaultFetchSchedule.from_conf(defaults())
    before = FETCHED - timedelta(days=3)
    assert one(schedule, state="modified", modified_time=before)["modified_time"] == FETCHED
    assert one(schedule, state="notmodified", modified_time=before)["modified_time"] == before
    assert one(schedule, state="unknown", modified_time=before)["modified_time"] == before
    assert one(schedule, state="unknown")["modified_time"] == FETCHED


@pytest.mark.parametrize("make", [DefaultFetchSchedule, AdaptiveFetchSchedule])
def test_no_interval_means_the_default_one(make: Any) -> None:
    row = one(make.from_conf(defaults().with_values({"db.fetch.interval.default": 7 * DAY})), fetch_interval=0)
    assert (row["fetch_interval"], days(row["due_time"])) == (7 * DAY, 7)


@pytest.mark.parametrize(("state", "interval"), [("modified", 8), ("notmodified", 14), ("unknown", 10)])
def test_adaptive_shrinks_and_grows(state: str, interval: float) -> None:
    row = one(adaptive(sync_delta=False), state=state, modified_time=FETCHED)
    assert (row["fetch_interval"], days(row["due_time"])) == (interval * DAY, interval)


def test_adaptive_bounds() -> None:
    schedule = adaptive(sync_delta=False, min_interval=9.0 * DAY, max_interval=12.0 * DAY)
    assert one(schedule, state="modified")["fetch_interval"] == 9 * DAY
    assert one(schedule, state="notmodified")["fetch_interval"] == 12 * DAY


def test_sync_delta_moves_towards_the_change() -> None:
    # unchanged for 4 days, interval 14 after growth: due 0.3 * 4 days earlier than 14 days from now
    row = one(adaptive(), state="notmodified", modified_time=FETCHED - timedelta(days=4))
    assert (row["fetch_interval"], days(row["due_time"])) == (14 * DAY, pytest.approx(12.8))


def test_sync_delta_raises_the_interval_to_the_time_unchanged() -> None:
    row = one(adaptive(), state="notmodified", modified_time=FETCHED - timedelta(days=20))
    assert (row["fetch_interval"], days(row["due_time"])) == (20 * DAY, pytest.approx(14))


@pytest.mark.parametrize("rate", [0.0, 0.3, 0.5, 0.99])
@pytest.mark.parametrize("unchanged", [0, 1, 30, 400, 4_000])
def test_the_next_fetch_is_never_in_the_past(unchanged: int, rate: float) -> None:
    schedule = adaptive(min_interval=1.0 * DAY, max_interval=7.0 * DAY, sync_delta_rate=rate)
    row = one(schedule, state="notmodified", fetch_interval=2 * DAY, modified_time=FETCHED - timedelta(days=unchanged))
    assert row["due_time"] > FETCHED


@pytest.mark.parametrize(
    ("text", "interval"),
    [("5", 5), (" 86400.0 ", DAY), ("99999999999", None), ("-3", None), ("often", None), ("", None), ("0", None)],
)
def test_fixed_interval_wins_without_bounds(text: str, interval: int | None) -> None:
    row = one(adaptive(), state="notmodified", modified_time=FETCHED, metadata=[("fixedInterval", text)])
    assert row["fetch_interval"] == (14 * DAY if interval is None else interval)
    assert row["due_time"] == FETCHED + timedelta(seconds=row["fetch_interval"])


def test_rows_do_not_mix() -> None:
    rows = [
        {"state": "modified", "host": "b.test"},
        {"state": "notmodified", "metadata": [("fixedInterval", "60")]},
        {},
    ]
    answer = adaptive(sync_delta=False).schedule(batch(*rows))
    assert answer["fetch_interval"].to_pylist() == [8 * DAY, 60, 10 * DAY]


def test_a_host_may_have_bounds_of_its_own() -> None:
    tables = {"b.test": {"db.fetch.schedule.adaptive.max_interval": 11.0 * DAY, "db.fetch.interval.default": 5 * DAY}}
    conf = Conf((*defaults().layers, Layer("site", {}, tables)))
    rows = [{"state": "notmodified", "modified_time": FETCHED, "host": host} for host in ("a.test", "www.b.test")]
    assert AdaptiveFetchSchedule.from_conf(conf).schedule(batch(*rows))["fetch_interval"].to_pylist() == [
        14 * DAY,
        11 * DAY,
    ]
    fresh = [{"fetch_interval": 0, "host": host} for host in ("a.test", "b.test")]
    assert DefaultFetchSchedule.from_conf(conf).schedule(batch(*fresh))["fetch_interval"].to_pylist() == [
        30 * DAY,
        5 * DAY,
    ]


def test_no_rows() -> None:
    empty = pa.RecordBatch.from_pylist([], SCHEMA)
    assert adaptive().schedule(empty).num_rows == 0
    assert DefaultFetchSchedule.from_conf(defaults()).schedule(empty).num_rows == 0


@pytest.mark.parametrize("name", ["dec_rate", "sync_delta_rate"])
def test_a_rate_that_makes_time_run_backwards_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        adaptive(**{name: 1.0})
