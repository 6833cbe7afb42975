from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from nutchpy.fetcher.feeder import QueueFeeder
from nutchpy.fetcher.item import FetchItem
from nutchpy.fetcher.queue import QueueLimits
from nutchpy.fetcher.queues import FetchItemQueues


class Rows:
    def __init__(self, hosts: Sequence[str], start: int) -> None:
        self.queue_ids = hosts
        self.start = start

    def items(self, positions: Sequence[int]) -> list[FetchItem]:
        return [FetchItem(f"http://{self.queue_ids[p]}/{self.start + p}", "", self.queue_ids[p], {}) for p in positions]


class Feeding:
    """A feeder over a list of hosts, in pieces of ten rows."""

    def __init__(self, hosts: Sequence[str], depth: int, lookahead: int = 1000, parallel: int = 1) -> None:
        self.dropped: Counter[str] = Counter()
        self.read = 0
        self.hosts = hosts
        self.queues = FetchItemQueues(lambda _: QueueLimits(0.0, parallel=parallel))
        self.feeder = QueueFeeder(self.pieces(), self.queues, depth, lookahead, self.drop)

    def drop(self, queue_id: str, reason: str, count: int) -> None:
        self.dropped[reason] += count

    def pieces(self) -> Iterator[Rows]:
        for start in range(0, len(self.hosts), 10):
            self.read = min(start + 10, len(self.hosts))
            yield Rows(self.hosts[start : start + 10], start)

    def serve(self) -> str | None:
        item = self.queues.take(0.0)
        if item is not None:
            self.queues.release(item, 0.0, 0.0)
        return item.url if item else None


def test_never_more_than_depth_waits() -> None:
    feeding = Feeding([f"h{n}" for n in range(200)], depth=20)
    feeding.feeder.feed(0.0)
    assert feeding.queues.queued == 20
    assert feeding.read == 20 + 10, "no more than the piece being read is ahead"


def test_everything_is_served_once_in_the_order_of_its_host() -> None:
    hosts = [h for h in "abc" for _ in range(100)]
    feeding = Feeding(hosts, depth=12)
    served = []
    while not (feeding.feeder.exhausted and feeding.queues.queued == 0):
        if feeding.feeder.wanting:
            feeding.feeder.feed(0.0)
        url = feeding.serve()
        assert url is not None
        served.append(url)
    assert sorted(served) == sorted(f"http://{h}/{n}" for n, h in enumerate(hosts))
    for host in "abc":
        numbers = [int(u.rpartition("/")[2]) for u in served if f"/{host}/" in u]
        assert numbers == sorted(numbers)


def test_a_big_host_in_front_does_not_keep_the_others_waiting() -> None:
    feeding = Feeding(["big"] * 500 + [f"h{n}" for n in range(100)], depth=50)
    feeding.feeder.feed(0.0)
    assert feeding.queues.waiting("big") <= 16
    assert feeding.queues.busy > 30


def test_lookahead_bounds_what_is_parked() -> None:
    feeding = Feeding(["big"] * 500 + ["other"], depth=50, lookahead=30)
    feeding.feeder.feed(0.0)
    assert feeding.feeder.parked == 30
    assert feeding.read <= 30 + 16 + 10


def test_shares_shrink_as_queues_grow_in_number() -> None:
    hosts = [f"h{n % 20}" for n in range(2000)]
    feeding = Feeding(hosts, depth=40)
    feeding.feeder.feed(0.0)
    assert feeding.queues.queued == 40
    assert feeding.queues.busy == 20


def test_rows_of_a_blocked_queue_are_dropped_parked_ones_too() -> None:
    feeding = Feeding(["bad"] * 100 + ["good"] * 3, depth=20)
    feeding.feeder.feed(0.0)
    waiting = feeding.queues.block("bad", "exceptions")
    feeding.feeder.drop_parked("bad", "exceptions")
    feeding.feeder.feed(0.0)
    assert len(waiting) + feeding.dropped["exceptions"] == 100
    assert feeding.queues.queued == 3
    assert feeding.feeder.exhausted


def test_stop_drops_all_that_is_left() -> None:
    feeding = Feeding(["a"] * 100 + ["b"] * 100, depth=10)
    feeding.feeder.feed(0.0)
    feeding.feeder.stop("timelimit")
    assert feeding.feeder.exhausted
    assert feeding.queues.queued + feeding.dropped["timelimit"] == 200


def test_an_empty_list_is_exhausted_from_the_start() -> None:
    assert Feeding([], depth=10).feeder.exhausted


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from("aaaaaaaabcdef"), max_size=200),
    st.integers(1, 30),
    st.integers(1, 50),
    st.integers(1, 3),
    st.data(),
)
def test_nothing_is_lost_whatever_is_served_when(
    hosts: list[str], depth: int, lookahead: int, parallel: int, data: st.DataObject
) -> None:
    feeding = Feeding(hosts, depth, lookahead, parallel)
    served: list[str] = []
    while not (feeding.feeder.exhausted and feeding.queues.queued == 0):
        if feeding.feeder.wanting:
            feeding.feeder.feed(0.0)
        assert feeding.queues.queued <= depth
        assert feeding.feeder.parked <= lookahead
        for queue in feeding.queues:
            assert not queue.parked or queue.waiting, "no queue runs dry while rows of it are parked"
        for _ in range(data.draw(st.integers(1, 5))):
            url = feeding.serve()
            if url is not None:
                served.append(url)
    assert sorted(served) == sorted(f"http://{h}/{n}" for n, h in enumerate(hosts))
