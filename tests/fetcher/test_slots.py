from __future__ import annotations

from nutchpy.fetcher.slots import Slots


def test_time_is_told_by_how_it_was_spent() -> None:
    slots = Slots(10)
    assert not slots.counters()
    slots.woke(100.0)
    slots.began(4, 100.5)
    slots.waited(6, False, 100.5, 101.5)
    slots.began(2, 101.75)
    slots.waited(3, True, 101.75, 103.0)
    assert slots.counters() == {
        "slots:late_ms": 4 * 500 + 2 * 250,
        "slots:idle_ms": 6 * 1000,
        "slots:held_ms": 3 * 1250,
        "slots:busy_ms": 10 * 3000 - 2500 - 6000 - 3750,
    }
