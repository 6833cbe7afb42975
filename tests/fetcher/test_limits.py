from __future__ import annotations

from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.fetcher.item import FetchItem, Request, Timeouts
from nutchpy.fetcher.limits import Hung, Reporter, Throughput, TimeLimit
from nutchpy.fetcher.pipeline import PAUSE, Answer, Finish, Pipeline
from nutchpy.fetcher.status import FetchStatus, StatusLine
from nutchpy.fetcher.traffic import Traffic
from nutchpy.testing.simulated import SimAnswer, SimClock, SimTransport


def test_the_time_limit_stops_once() -> None:
    stops: list[str] = []
    limit = TimeLimit(60.0, stops.append)
    assert limit.deadline() == 60.0
    limit.step(59.9)
    assert stops == []
    limit.step(60.0)
    limit.step(61.0)
    assert stops == ["timelimit"]
    assert limit.deadline() is None


def pages_each_second(*pages: int, retries: int = 2) -> list[str]:
    stops: list[str] = []
    total = 0
    throughput = Throughput(5, retries, 100.0, lambda: total, stops.append)
    throughput.step(100.0)
    for second, count in enumerate(pages, 101):
        total += count
        throughput.step(float(second))
    return stops


def test_slow_seconds_in_a_row_stop_the_fetch() -> None:
    assert pages_each_second(9, 4, 4, 4) == ["throughput"]


def test_a_quick_second_forgives_the_slow_ones() -> None:
    assert pages_each_second(4, 4, 5, 4, 4, 5, 4, 4) == []


def test_nothing_is_judged_before_the_time() -> None:
    stops: list[str] = []
    throughput = Throughput(5, 0, 100.0, lambda: 0, stops.append)
    throughput.step(99.0)
    throughput.step(100.0)
    assert stops == []
    throughput.step(100.5)
    assert stops == []
    throughput.step(101.0)
    assert stops == ["throughput"]


def test_reports_come_once_a_second() -> None:
    reports: list[FetchStatus] = []
    reporter = Reporter(0.0, lambda: FetchStatus(pages=1), reports.append)
    for now in (0.5, 1.0, 1.5, 2.1, 2.5):
        reporter.step(now)
    assert len(reports) == 2


def test_the_line_has_totals_and_rates() -> None:
    line = StatusLine(0.0)
    one = FetchStatus(threads=10, waiting=3, queues=4, queued=50, pages=100, errors=2, bytes=1_000_000)
    assert line.text(one, 10.0) == (
        "10 threads (3 waiting), 4 queues, 50 URLs queued, 100 pages, 2 errors, "
        "10.00 pages/s (10 last), 800 kbit/s (800 last)"
    )
    two = FetchStatus(threads=10, waiting=10, queues=4, blocked=1, pages=101, errors=2, bytes=1_000_000)
    assert "1 queues given up" in line.text(two, 20.0)


def test_statuses_add_up() -> None:
    total = FetchStatus(threads=10, pages=1) + FetchStatus(threads=5, pages=2, errors=1)
    assert (total.threads, total.pages, total.errors) == (15, 3, 1)


def test_what_hangs_is_given_up_and_nothing_else() -> None:
    clock = SimClock()
    transport = SimTransport(clock, lambda request, now: SimAnswer(seconds=1e9))
    traffic = Traffic(transport)
    ends: list[tuple[str, Finish]] = []

    class Sends:
        def handle(self, item: FetchItem, now: float) -> Answer:
            request = Request(item.url, (), Timeouts(1, 1, 1, 1), 1)
            item.token = traffic.start(request, lambda output: None)
            return PAUSE

    pipeline = Pipeline([("sends", Sends())], lambda item, finish, now: ends.append((item.url, finish)))
    hung = Hung(300.0, 0.0, pipeline, traffic)
    items = [FetchItem(f"http://h/{n}", "h", "h", {}) for n in range(2)]
    pipeline.begin(items[0], 0.0)
    pipeline.begin(items[1], 200.0)
    hung.step(299.0)
    assert ends == []
    assert hung.deadline() == 309.0
    hung.step(309.0)
    assert ends == [("http://h/0", Finish(ProtocolStatus.TIMEOUT, "hung in handler sends"))]
    assert pipeline.active == {items[1]}
    assert transport.deadline() == 0.0, "its request is broken off"
