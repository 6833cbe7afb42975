from __future__ import annotations

from collections import deque

import pytest

from nutchpy.fetcher.item import FetchItem
from nutchpy.fetcher.queue import FetchItemQueue, QueueLimits


def queue(**limits: float) -> FetchItemQueue:
    return FetchItemQueue("h", QueueLimits(**{"delay": 5.0, **limits}), deque())  # type: ignore[arg-type]


def item(n: int = 0) -> FetchItem:
    return FetchItem(f"http://h/{n}", "h", "h", {})


@pytest.mark.parametrize(
    ("limits", "robots_delay", "pause"),
    [
        (QueueLimits(5.0), None, 5.0),
        (QueueLimits(5.0), 0.0, 5.0),
        (QueueLimits(5.0, robots_floor=5.0), 1.0, 5.0),
        (QueueLimits(5.0, robots_floor=5.0), 7.0, 7.0),
        (QueueLimits(5.0, robots_floor=1.0), 2.0, 2.0),
        (QueueLimits(5.0, robots_ceiling=30.0), 30.0, 30.0),
        (QueueLimits(5.0, robots_ceiling=30.0), 30.5, None),
        (QueueLimits(5.0, robots_ceiling=-1.0), 3600.0, 3600.0),
        (QueueLimits(5.0, min_delay=0.25, parallel=3, robots_floor=5.0), 7.0, 0.25),
        (QueueLimits(5.0, min_delay=0.25, parallel=3), None, 0.25),
        (QueueLimits(5.0, min_delay=0.25, parallel=3, robots_ceiling=30.0), 60.0, None),
    ],
)
def test_pause(limits: QueueLimits, robots_delay: float | None, pause: float | None) -> None:
    assert limits.pause(robots_delay) == pause


def test_the_delay_counts_from_the_end_of_the_request() -> None:
    it = queue()
    it.waiting.extend([item(1), item(2)])
    it.take()
    assert not it.servable
    it.release(ended=12.0, pause=5.0)
    assert it.servable
    assert it.next_fetch_time == 17.0


def test_what_was_not_requested_adds_no_delay() -> None:
    it = queue()
    it.waiting.append(item())
    it.take()
    it.release_unused()
    assert it.next_fetch_time == 0.0
    assert it.in_progress == 0


def test_an_earlier_end_does_not_shorten_the_rest() -> None:
    it = queue(parallel=2)
    it.waiting.extend([item(1), item(2)])
    it.take()
    it.take()
    it.release(ended=20.0, pause=5.0)
    it.release(ended=20.0, pause=1.0)
    assert it.next_fetch_time == 25.0


def test_failures_double_the_rest_until_the_queue_is_given_up() -> None:
    it = queue(max_exceptions=4, exception_delay=2.0)
    rests = []
    for _ in range(3):
        before = it.next_fetch_time
        assert not it.failed()
        rests.append(it.next_fetch_time - before)
    assert rests == [2.0, 4.0, 8.0]
    assert it.failed()


def test_failures_without_limit_never_give_up_nor_overflow() -> None:
    it = queue(max_exceptions=-1, exception_delay=1.0)
    assert not any(it.failed() for _ in range(5000))


def test_put_off_counts_one_answer_once() -> None:
    it = queue(parallel=3)
    assert not it.put_off(300.0, most=1)
    assert not it.put_off(300.0, most=1)
    assert it.deferrals == 1
    assert it.put_off(600.0, most=1)


def test_a_request_ends_a_run_of_deferrals() -> None:
    it = queue()
    it.put_off(300.0, most=3)
    it.in_progress = 1
    it.release(400.0, 5.0)
    assert it.deferrals == 0


def test_failures_are_remembered_longer_than_the_delay() -> None:
    it = queue(clear_after=1800.0, exception_delay=10.0)
    it.in_progress = 1
    it.release(100.0, 5.0)
    assert it.forget_at() == 105.0
    it.failed()
    assert it.forget_at() == 115.0 + 1800.0
