from __future__ import annotations

import os
import signal

import pytest

from nutchpy.fetcher.feeder import QueueFeeder
from nutchpy.fetcher.item import FetchItem
from nutchpy.fetcher.queue import QueueLimits
from nutchpy.fetcher.queues import FetchItemQueues
from nutchpy.fetcher.tail import TailReport, asked_by_signal


def bench(hosts: int) -> tuple[FetchItemQueues, TailReport, list[str]]:
    queues = FetchItemQueues(lambda _: QueueLimits(delay=5.0))
    feeder = QueueFeeder(iter(()), queues, 100, 100, lambda *_: None)
    woken: list[str] = []
    for host in range(hosts):
        for page in range(3):
            queues.add(FetchItem(f"http://h{host}.test/{page}", f"h{host}.test", f"h{host}.test", {}), 0.0)
    return queues, TailReport(0.0, queues, feeder, lambda: woken.append("woken")), woken


def test_few_queues_are_named_each_minute(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    queues, tail, _ = bench(2)
    item = queues.take(0.0)
    assert item is not None
    queues.release(item, 55.0, 12.0)
    queues.queue("h0.test").exceptions = 2
    tail.step(59.0)
    assert not caplog.messages
    assert tail.deadline() == 60.0
    tail.step(60.0)
    tail.step(61.0)
    assert caplog.messages == [
        "2 queues have URLs left",
        "queue h1.test: 3 URLs queued, 0 in progress, delay 5 s, next in 0.0 s, 0 exceptions",
        "queue h0.test: 2 URLs queued, 0 in progress, delay 5 s, next in 7.0 s, 2 exceptions",
    ]
    assert tail.deadline() == 120.0


def test_many_queues_are_no_tail(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    _, tail, _ = bench(200)
    tail.step(60.0)
    assert not caplog.messages
    tail.ask()
    tail.step(61.0)
    assert len(caplog.messages) == 51, "who asks gets the largest"


def test_a_signal_asks_and_wakes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    _, tail, woken = bench(1)
    before = signal.getsignal(signal.SIGUSR1)
    with asked_by_signal(tail.ask):
        os.kill(os.getpid(), signal.SIGUSR1)
        assert woken == ["woken"]
    assert signal.getsignal(signal.SIGUSR1) == before
    tail.step(1.0)
    assert caplog.messages[0] == "1 queues have URLs left"
