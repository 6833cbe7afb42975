from __future__ import annotations

from nutchpy.plugins.protocol.deadlines import Agenda, Deadlines
from nutchpy.testing.client import PlainTimeouts

TIMES = PlainTimeouts(connect=3, first_byte=5, idle=2, total=60)


def test_deadlines_follow_the_answer() -> None:
    deadlines = Deadlines(TIMES, 100)
    assert deadlines.expiry() == (103, "no connection in 3 s")
    deadlines.connected()
    assert deadlines.expiry() == (105, "no answer in 5 s")
    deadlines.received(104)
    assert deadlines.expiry() == (106, "answer stopped for 2 s")
    deadlines.received(159)
    assert deadlines.expiry() == (160, "answer not finished in 60 s")


def test_next_look_never_misses_a_deadline_that_comes_nearer() -> None:
    deadlines = Deadlines(TIMES, 100, connected=True)
    look = deadlines.next_look(100)
    assert look == 102
    deadlines.received(101.5)
    assert deadlines.next_look(102) == 103.5
    assert Deadlines(PlainTimeouts(0, 0, 0, 0), 100).next_look(100) is None
    assert Deadlines(PlainTimeouts(0, 0, 2, 0), 100).next_look(100) == 102


def test_limits_of_zero_or_less_are_none() -> None:
    assert Deadlines(PlainTimeouts(0, -1, 0, -1), 100).expiry() is None


def test_agenda_drops_what_is_over() -> None:
    agenda = Agenda()
    for when, token in ((3.0, 1), (1.0, 2), (2.0, 3)):
        agenda.add(when, token)
    assert agenda.next({1, 3}) == 2.0
    assert list(agenda.due(2.5)) == [3]
    assert agenda.next({1}) == 3.0
    assert agenda.next(set()) is None
    assert list(agenda.due(99)) == []
