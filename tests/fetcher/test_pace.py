from __future__ import annotations

from itertools import pairwise

import pytest

from nutchpy.fetcher.pace import Pace


def test_trouble_halves_the_rate_up_to_an_end() -> None:
    pace = Pace()
    assert [pace.slower(5.0, 60.0) for _ in range(5)] == [10.0, 20.0, 40.0, 60.0, 60.0]


def test_a_queue_without_delay_is_slowed_down_too() -> None:
    pace = Pace()
    assert [pace.slower(0.0, 60.0) for _ in range(3)] == [1.0, 2.0, 4.0]


def test_a_configured_delay_beyond_the_end_stands() -> None:
    assert Pace().slower(400.0, 300.0) == 400.0


@pytest.mark.parametrize("base", [0.0, 0.2, 5.0])
def test_good_answers_bring_the_rate_back_and_never_above_the_configured_one(base: float) -> None:
    pace = Pace(delay=300.0)
    delays = [pace.faster(base) for _ in range(400)]
    assert delays == sorted(delays, reverse=True)
    assert min(delays) == delays[-1] == base
    assert pace.delay == 0.0


def test_the_rate_grows_by_the_same_amount_each_time() -> None:
    pace = Pace(delay=50.0)
    rates = [1 / pace.faster(5.0) for _ in range(5)]
    steps = [after - before for before, after in pairwise(rates)]
    assert steps == pytest.approx([0.02] * 4)


def test_late_is_what_takes_far_longer_than_usual() -> None:
    pace = Pace()
    assert not any(pace.late(0.3, 5.0) for _ in range(10))
    assert not pace.late(0.9, 5.0), "under a second is no trouble"
    assert pace.late(3.0, 5.0)


def test_what_lasts_becomes_usual() -> None:
    pace = Pace()
    for _ in range(10):
        pace.late(0.3, 5.0)
    verdicts = [pace.late(3.0, 5.0) for _ in range(20)]
    assert verdicts[0]
    assert not verdicts[-1]


def test_nothing_is_late_before_there_is_a_usual_time_or_without_a_factor() -> None:
    assert not Pace().late(100.0, 5.0)
    pace = Pace(usual=0.1, samples=100)
    assert not pace.late(100.0, 0.0)
