from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nutchpy.fetcher.queue import QueueLimits
from nutchpy.fetcher.recent import RecentRequests, recent_requests
from nutchpy.testing.crawls import add_fetch, make_segment

LIMITS = QueueLimits(delay=5.0)


def asked(folder: Path, mode: str = "byHost", unclean: bool = False) -> RecentRequests:
    segment = make_segment(folder, ["http://new.test/"], now=datetime.now(UTC))
    return recent_requests(segment, mode, time.time_ns() // 1000, 1000.0, unclean)


def test_a_queue_asked_by_the_last_round_rests(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    earlier = make_segment(tmp_path, ["http://a.test/"], now=now - timedelta(minutes=1))
    rows = [
        {"url": "http://a.test/1", "fetch_time": now - timedelta(seconds=9)},
        {"url": "http://a.test/2", "fetch_time": now - timedelta(seconds=2)},
        {"url": "http://slow.test/", "fetch_time": now - timedelta(seconds=2), "robots_delay": 20.0, "ip": "192.0.2.1"},
        {"url": "http://old.test/", "fetch_time": now - timedelta(hours=1)},
        {"url": "http://denied.test/", "fetch_time": now, "status": "fetch_gone", "http_status": None},
    ]
    add_fetch(earlier, rows)
    found = asked(tmp_path)
    assert found.rested("a.test", LIMITS) == pytest.approx(1003.0, abs=0.5)
    assert found.rested("slow.test", LIMITS) == pytest.approx(1018.0, abs=0.5)
    assert [found.rested(f"{host}.test", LIMITS) for host in ("old", "denied", "other")] == [0.0, 0.0, 0.0]
    by_ip = asked(tmp_path, "byIP")
    assert by_ip.rested("192.0.2.1", LIMITS) == pytest.approx(1018.0, abs=0.5)


def test_after_a_kill_every_queue_rests_once(tmp_path: Path) -> None:
    assert asked(tmp_path, unclean=True).rested("any.test", LIMITS) == 1005.0
    assert asked(tmp_path, unclean=True).rested("any.test", QueueLimits(5.0, 0.5, parallel=2)) == 1000.5


def test_trouble_is_remembered_for_a_day_and_fades(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    for hours, host, slowed in ((1, "hour", 40.0), (30, "old", 40.0), (0.01, "now", 40.0)):
        when = now - timedelta(hours=hours)
        segment = make_segment(tmp_path, [f"http://{host}.test/"], now=when)
        rows = [
            {"url": f"http://{host}.test/1", "fetch_time": when, "queue_delay": slowed, "status": "fetch_retry"},
            {"url": f"http://fine-{host}.test/", "fetch_time": when},
        ]
        add_fetch(segment, rows)
    found = asked(tmp_path)
    assert found.slowed("hour.test") == pytest.approx(20.0, abs=0.1)
    assert found.slowed("now.test") == pytest.approx(40.0, abs=1)
    assert [found.slowed(f"{host}.test") for host in ("old", "fine-now", "other")] == [0.0, 0.0, 0.0]


def test_a_server_that_asked_to_be_left_alone_still_is(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    earlier = make_segment(tmp_path, ["http://a.test/"], now=now - timedelta(hours=2))
    until = now + timedelta(seconds=200)
    rows = [
        {"url": "http://a.test/1", "fetch_time": now - timedelta(hours=1), "status": "fetch_retry", "http_status": 503}
        | {"retry_after": until},
        {"url": "http://a.test/2", "fetch_time": now - timedelta(minutes=1)},
    ]
    add_fetch(earlier, rows)
    found = asked(tmp_path)
    assert found.rested("a.test", LIMITS) == pytest.approx(1200.0, abs=1)
    assert found.rested("a.test", QueueLimits(delay=5.0, bears=60.0)) == pytest.approx(1060.0, abs=1)
    assert found.rested("a.test", QueueLimits(delay=5.0, bears=0.0)) < 1000.0
