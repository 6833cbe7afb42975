from __future__ import annotations

import pytest

from nutchpy.fetcher.bandwidth import Bandwidth, TokenBucket
from nutchpy.testing.simulated import SimClock


def test_what_is_taken_is_paid_for_at_the_rate() -> None:
    bucket = TokenBucket(100.0)
    bucket.take(250.0, 10.0)
    assert bucket.free_at == pytest.approx(11.5), "a second was saved up"
    bucket.take(100.0, 10.0)
    assert bucket.free_at == pytest.approx(12.5)


def test_no_more_than_a_second_is_saved_up() -> None:
    bucket = TokenBucket(100.0)
    bucket.take(0.0, 0.0)
    bucket.take(100.0, 1000.0)
    assert bucket.free_at == pytest.approx(1000.0)


def test_a_request_takes_what_is_usual_and_in_the_end_what_it_was() -> None:
    clock = SimClock(5.0)
    bandwidth = Bandwidth(1000.0, clock.monotonic)
    bandwidth.began(1)
    ahead = bandwidth.free_at
    assert ahead > 5.0
    bandwidth.ended(1, 500)
    assert bandwidth.free_at == pytest.approx(4.5)
    for token in range(2, 300):
        bandwidth.began(token)
        bandwidth.ended(token, 500)
    before = bandwidth.free_at
    bandwidth.began(1000)
    assert bandwidth.free_at - before == pytest.approx(0.5, rel=0.01), "by now 500 bytes are usual"
