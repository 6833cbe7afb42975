from __future__ import annotations

from typing import Any

import pytest

from nutchpy.core.content import ProtocolOutput
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.core.status import Status
from nutchpy.fetcher.item import FetchItem, Redirect, Row
from nutchpy.fetcher.pipeline import Finish, Unrecorded
from nutchpy.fetcher.queue import QueueLimits
from nutchpy.fetcher.queues import FetchItemQueues
from nutchpy.fetcher.sink import FAILURES, Deferral, Sink, target_row, validators

SOURCE: Row = {
    "domain": "h.test",
    "fetch_time": 5_000_000,
    "modified_time": 3,
    "retries": 1,
    "fetch_interval": 60,
    "score": 2.5,
    "signature": b"s" * 16,
    "depth": 2,
    "etag": '"old"',
    "last_modified": "then",
    "metadata": [("k", "v")],
}


class Bench:
    def __init__(self, wall: int = 9_000_000) -> None:
        self.rows: list[Row] = []
        self.contents: list[Row | None] = []
        self.full = False
        limits = QueueLimits(delay=5.0, max_exceptions=2, exception_delay=1.0)
        self.queues = FetchItemQueues(lambda _: limits)
        self.sink = Sink(self.queues, self, Deferral(300.0, 3), lambda: wall, lambda host: host)

    def put(self, fetch: Row, content: Row | None, parse: Any) -> None:
        self.rows.append(fetch)
        self.contents.append(content)

    def keep(self, content: Row) -> None:
        self.contents.append(content)

    def taken(self, url: str = "http://h.test/a", **fields: Any) -> FetchItem:
        item = FetchItem(url, "h.test", "h.test", SOURCE)
        for name, value in fields.items():
            setattr(item, name, value)
        self.queues.add(item, 0.0)
        taken = self.queues.take(2e9)
        assert taken is item
        return item


def output(status: ProtocolStatus, code: int | None = None, **fields: Any) -> ProtocolOutput:
    return ProtocolOutput("http://h.test/a", status, code, **fields)


def test_a_row_has_the_prior_and_what_came_of_the_attempt() -> None:
    bench = Bench()
    answer = output(
        ProtocolStatus.SUCCESS, 200, wire_bytes=7, elapsed_ms=3, ip="192.0.2.1", headers=[("ETag", '"new"')]
    )
    bench.sink.settle(bench.taken(output=answer), Finish(ProtocolStatus.SUCCESS), 1e9)
    (row,) = bench.rows
    assert {name: row[name] for name in ("retries", "score", "depth", "signature", "modified_time", "metadata")} == {
        name: SOURCE[name] for name in ("retries", "score", "depth", "signature", "modified_time", "metadata")
    }
    assert (row["status"], row["http_status"], row["ip"], row["bytes"]) == ("fetch_success", 200, "192.0.2.1", 7)
    assert (row["etag"], row["last_modified"]) == ('"new"', None)
    assert row["fetch_time"] == 9_000_000


def test_fetch_times_grow_even_when_the_clock_steps_back() -> None:
    bench = Bench(wall=1)
    bench.sink.settle(bench.taken(), Finish(ProtocolStatus.ROBOTS_DENIED), 1e9)
    assert bench.rows[0]["fetch_time"] == 5_000_001


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (Status.FETCH_SUCCESS, [("ETag", "e"), ("Last-Modified", "m")], ("e", "m")),
        (Status.FETCH_SUCCESS, [], (None, None)),
        (Status.FETCH_NOTMODIFIED, [], ('"old"', "then")),
        (Status.FETCH_NOTMODIFIED, [("ETag", "e")], ("e", "then")),
        (Status.FETCH_RETRY, [("ETag", "e")], ('"old"', "then")),
        (Status.FETCH_GONE, [("ETag", "e")], (None, None)),
        (Status.FETCH_REDIR_PERM, [("ETag", "e")], (None, None)),
    ],
)
def test_validators_are_those_of_the_body_we_hold(
    status: Status, headers: list[tuple[str, str]], expected: tuple[str | None, str | None]
) -> None:
    assert validators(status, SOURCE, headers) == expected


def test_a_request_makes_the_queue_rest_and_a_denial_does_not() -> None:
    bench = Bench()
    bench.sink.settle(bench.taken(requested=True, pause=5.0), Finish(ProtocolStatus.NOTFOUND), 100.0)
    assert bench.queues.queue("h.test").next_fetch_time == 105.0
    bench = Bench()
    bench.sink.settle(bench.taken(pause=5.0), Finish(ProtocolStatus.ROBOTS_DENIED), 100.0)
    assert bench.queues.queue("h.test").next_fetch_time == 0.0


def test_the_slot_is_freed_once_when_the_request_ends_before_the_item() -> None:
    bench = Bench()
    item = bench.taken(requested=True, pause=5.0, output=output(ProtocolStatus.SUCCESS, 200))
    bench.sink.ended(item, 100.0)
    assert bench.queues.in_progress == 0
    bench.sink.settle(item, Finish(ProtocolStatus.SUCCESS), 200.0)
    assert bench.queues.in_progress == 0
    assert bench.queues.queue("h.test").next_fetch_time == 105.0


def test_failures_give_the_queue_up_and_later_items_are_dropped() -> None:
    bench = Bench()
    for n in range(2):
        bench.sink.settle(bench.taken(f"http://h.test/{n}"), Finish(ProtocolStatus.TIMEOUT), 1e9)
    assert bench.queues.blocked == {"h.test": "exceptions"}
    moved = FetchItem("http://x.test/", "x.test", "x.test", SOURCE)
    bench.queues.add(moved, 0.0)
    assert bench.queues.take(2e9) is moved
    moved.queue_id = "h.test"
    bench.sink.settle(moved, Finish(Unrecorded.MOVED), 2e9)
    assert bench.sink.counters["dropped:exceptions"] == 1
    assert bench.sink.dropped_queues == {"h.test": 1}
    assert bench.queues.in_progress == 0
    assert len(bench.rows) == 2


@pytest.mark.parametrize("status", [s for s in ProtocolStatus if s not in FAILURES])
def test_other_outcomes_do_not_count_against_the_queue(status: ProtocolStatus) -> None:
    bench = Bench()
    bench.sink.settle(bench.taken(), Finish(status), 1e9)
    assert bench.queues.queue("h.test").exceptions == 0


def test_an_item_given_up_is_counted_and_not_recorded() -> None:
    bench = Bench()
    bench.sink.settle(bench.taken(requested=True), Finish(Unrecorded.INTERRUPTED), 1e9)
    assert bench.rows == []
    assert bench.sink.counters["dropped:interrupted"] == 1
    assert bench.queues.in_progress == 0


def test_a_followed_redirect_is_recorded_and_its_target_queued() -> None:
    bench = Bench()
    redirect = Redirect("http://t.test/b", "followed", "http://h.test/a", follow=True)
    item = bench.taken(output=output(ProtocolStatus.MOVED, 301), redirect=redirect, hops=1)
    bench.sink.settle(item, Finish(ProtocolStatus.MOVED), 1e9)
    assert bench.rows[0]["redirect_to"] == "http://t.test/b"
    assert bench.rows[0]["repr_url"] == "http://h.test/a"
    target = bench.queues.take(1e9)
    assert target is not None
    assert (target.url, target.queue_id, target.hops, target.repr_url) == (
        "http://t.test/b",
        "t.test",
        2,
        "http://h.test/a",
    )


def test_a_target_starts_without_its_source_s_history() -> None:
    row = target_row(SOURCE, "http://t.test/b", "t.test")
    assert (row["retries"], row["signature"], row["etag"], row["score"]) == (0, None, None, SOURCE["score"])
    assert (row["depth"], row["fetch_interval"], row["metadata"]) == (2, 60, [("k", "v")])
