from __future__ import annotations

import threading

from nutchpy.plugins.protocol.budget import BodyBudget


def test_all_but_the_oldest_wait_when_there_is_no_room() -> None:
    budget = BodyBudget(100)
    for token in (1, 2):
        budget.enter(token)
    assert budget.hold(1, 80)
    assert budget.room(2, 20)
    assert not budget.room(2, 21)
    assert budget.room(1, 1000), "somebody must come to an end"
    budget.leave(1)
    assert budget.room(2, 1000)


def test_one_body_larger_than_all_may_be_is_too_large() -> None:
    budget = BodyBudget(100)
    budget.enter(1)
    assert budget.hold(1, 100)
    assert not budget.hold(1, 101)


def test_no_limit() -> None:
    budget = BodyBudget(-1)
    for token in (1, 2):
        budget.enter(token)
        assert budget.hold(token, 1 << 40)
        assert budget.room(token, 1 << 40)


def test_a_thread_waits_until_there_is_room_or_it_is_not_wanted() -> None:
    budget = BodyBudget(100)
    for token in (1, 2, 3):
        budget.enter(token)
    budget.hold(1, 100)
    wanted = {2: True, 3: True}
    threads = {t: threading.Thread(target=budget.wait, args=(t, 50, lambda t=t: wanted[t])) for t in (2, 3)}
    for thread in threads.values():
        thread.start()
    while budget.waiting != {2, 3}:
        threads[2].join(0.01)
    wanted[3] = False
    budget.wake()
    threads[3].join(5)
    assert threads[2].is_alive()
    budget.leave(1)
    threads[2].join(5)
    assert not budget.waiting
    assert not any(thread.is_alive() for thread in threads.values())
