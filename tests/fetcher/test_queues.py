from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from nutchpy.fetcher.item import FetchItem
from nutchpy.fetcher.queue import QueueLimits
from nutchpy.fetcher.queues import FetchItemQueues


def queues(**limits: float) -> FetchItemQueues:
    value = QueueLimits(**{"delay": 5.0, **limits})  # type: ignore[arg-type]
    return FetchItemQueues(lambda _: value)


def fill(into: FetchItemQueues, *hosts: str, now: float = 0.0) -> None:
    for n, host in enumerate(hosts):
        into.add(FetchItem(f"http://{host}/{n}", host, host, {}, pause=5.0), now)


def hosts_served(of: FetchItemQueues, now: float) -> list[str]:
    served = []
    while (item := of.take(now)) is not None:
        served.append(item.queue_id)
    return served


def test_one_request_per_queue_at_a_time() -> None:
    qs = queues()
    fill(qs, "a", "a", "b")
    assert hosts_served(qs, 0.0) == ["a", "b"]
    assert (qs.queued, qs.in_progress, qs.busy) == (1, 2, 1)
    assert qs.next_ready() is None


def test_the_next_is_ready_a_delay_after_the_end() -> None:
    qs = queues()
    fill(qs, "a", "a")
    first = qs.take(0.0)
    assert first is not None
    qs.release(first, 3.0, 5.0)
    assert qs.next_ready() == 8.0
    assert qs.take(7.99) is None
    assert qs.take(8.0) is not None


def test_a_delay_counts_from_the_end_even_when_it_is_heard_of_later() -> None:
    qs = queues()
    fill(qs, "a", "a")
    first = qs.take(0.0)
    assert first is not None
    qs.release(first, 3.0, 5.0, ended=2.5)
    assert qs.next_ready() == 7.5
    second = qs.take(7.5)
    assert second is not None
    second.pause = 5.0
    fill(qs, "a")
    qs.fail(second, 9.0, ended=8.0)
    assert qs.next_ready() == 13.0


def test_a_denial_makes_the_next_ready_at_once() -> None:
    qs = queues()
    fill(qs, "a", "a")
    first = qs.take(1.0)
    assert first is not None
    qs.release(first, 3.0, None)
    assert qs.take(3.0) is not None


def test_of_those_ready_the_one_with_most_to_come_is_next() -> None:
    qs = queues()
    fill(qs, "a", "b", "b", "c", "c", "c", "d")
    qs.queue("d").parked = 5
    taken = [qs.take(0.0) for _ in range(5)]
    assert [item and item.queue_id for item in taken] == ["d", "c", "b", "a", None]


def test_queues_ready_at_once_take_turns_even_with_several_requests_each() -> None:
    qs = queues(parallel=3)
    fill(qs, "a", "a", "a", "b", "b", "b")
    assert hosts_served(qs, 0.0) == ["a", "b", "a", "b", "a", "b"]


def test_hosts_interleave_without_delay() -> None:
    qs = queues()
    fill(qs, *"aaabbbccc")
    order = []
    for now in range(9):
        item = qs.take(float(now))
        assert item is not None
        order.append(item.queue_id)
        qs.release(item, float(now), 0.0)
    assert order == list("abcabcabc")


def test_an_empty_queue_keeps_its_delay() -> None:
    qs = queues()
    fill(qs, "a")
    item = qs.take(0.0)
    assert item is not None
    qs.release(item, 1.0, 5.0)
    qs.reap(5.9)
    assert len(qs) == 1
    fill(qs, "a", now=2.0)
    assert qs.take(5.9) is None
    assert qs.take(6.0) is not None


def test_an_empty_queue_is_forgotten_when_its_delay_is_over() -> None:
    qs = queues()
    fill(qs, "a")
    item = qs.take(0.0)
    assert item is not None
    qs.release(item, 1.0, 5.0)
    qs.reap(6.0)
    assert len(qs) == 0


def test_an_empty_queue_keeps_its_failures_until_they_are_cleared() -> None:
    qs = queues(max_exceptions=2, clear_after=100.0, exception_delay=1.0)
    fill(qs, "a")
    item = qs.take(0.0)
    assert item is not None
    assert qs.fail(item, 1.0) is None
    qs.reap(106.9)
    assert len(qs) == 1
    fill(qs, "a", "a", now=50.0)
    again = qs.take(50.0)
    assert again is not None
    dropped = qs.fail(again, 51.0)
    assert dropped is not None, "the second failure of this queue gives it up"
    assert len(dropped) == 1
    assert qs.blocked == {"a": "exceptions"}
    assert qs.queued == 0


def test_reaping_looks_again_when_a_queue_was_used_meanwhile() -> None:
    qs = queues()
    fill(qs, "a")
    first = qs.take(0.0)
    assert first is not None
    qs.release(first, 1.0, 5.0)
    fill(qs, "a", now=2.0)
    second = qs.take(6.0)
    assert second is not None
    qs.release(second, 7.0, 5.0)
    qs.reap(11.9)
    assert len(qs) == 1
    qs.reap(12.0)
    assert len(qs) == 0


def test_put_off_frees_the_slot_and_keeps_the_item_first() -> None:
    qs = queues()
    fill(qs, "a", "a", "b")
    item = qs.take(0.0)
    assert item is not None
    assert qs.put_off(item, 1.0, 300.0, most=1) is None
    assert qs.in_progress == 0
    assert qs.resting == 2
    assert hosts_served(qs, 1.0) == ["b"]
    again = qs.take(301.0)
    assert again is item
    assert qs.resting == 0
    dropped = qs.put_off(item, 302.0, 300.0, most=1)
    assert dropped is not None
    assert [d.url for d in dropped] == ["http://a/0", "http://a/1"]
    assert qs.blocked == {"a": "robots_deferred"}
    assert (qs.queued, qs.resting) == (0, 0)


def test_clear_leaves_what_is_in_progress() -> None:
    qs = queues()
    fill(qs, *"aabb")
    item = qs.take(0.0)
    assert item is not None
    assert len(qs.clear()) == 3
    assert (qs.queued, qs.in_progress, qs.busy) == (0, 1, 0)
    qs.release(item, 1.0, 5.0)
    assert qs.next_ready() is None


steps = st.lists(
    st.tuples(st.sampled_from(["add", "take", "end", "deny", "fail", "reap"]), st.integers(0, 4), st.floats(0, 7)),
    max_size=80,
)


@settings(max_examples=150)
@given(steps, st.integers(1, 3))
def test_against_a_plain_model(script: list[tuple[str, int, float]], parallel: int) -> None:
    """The heap serves exactly when a look at every queue says that one may be served."""
    qs = queues(parallel=parallel, exception_delay=1.0)
    now, count = 0.0, 0
    held: list[FetchItem] = []
    actions: dict[str, Callable[[FetchItem], object]] = {
        "end": lambda item: qs.release(item, now, 5.0),
        "deny": lambda item: qs.release(item, now, None),
        "fail": lambda item: qs.fail(item, now),
    }
    for action, which, seconds in script:
        now += seconds
        if action == "add":
            count += 1
            qs.add(FetchItem(f"http://{which}/{count}", str(which), str(which), {}, pause=5.0), now)
        elif action == "reap":
            qs.reap(now)
        elif action == "take":
            may = {q.id for q in qs if q.servable and q.next_fetch_time <= now}
            item = qs.take(now)
            assert (item is None) == (not may)
            if item is not None:
                assert item.queue_id in may
                held.append(item)
        elif held:
            actions[action](held.pop(which % len(held)))
        times = [max(q.next_fetch_time, 0.0) for q in qs if q.servable]
        ready = qs.next_ready()
        assert (ready is None) == (not times)
        assert qs.queued == sum(len(q.waiting) for q in qs)
        assert qs.in_progress == sum(q.in_progress for q in qs) == len(held)
        assert qs.busy == sum(bool(q.waiting) for q in qs)
        assert all(q.in_progress <= parallel for q in qs)


def test_failures_of_an_interrupted_run_count_on() -> None:
    queues = FetchItemQueues(lambda _: QueueLimits(delay=0.0, max_exceptions=3))
    queues.remember({"worn.test": 3, "weak.test": 2})
    assert queues.blocked == {"worn.test": "exceptions"}
    item = FetchItem("http://weak.test/", "weak.test", "weak.test", {})
    queues.add(item, 0.0)
    taken = queues.take(0.0)
    assert taken is item
    assert queues.fail(item, 0.0) == [], "the third failure is one too many"
    assert set(queues.blocked) == {"worn.test", "weak.test"}
