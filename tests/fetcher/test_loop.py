"""Waking the loop from elsewhere; the loop itself is driven in tests/simulation."""

from __future__ import annotations

import selectors
from collections.abc import Iterator

import pytest

from nutchpy.fetcher.loop import Waker


@pytest.fixture
def selector() -> Iterator[selectors.BaseSelector]:
    with selectors.DefaultSelector() as selector:
        yield selector


def test_calls_until_it_is_noticed_wake_once_and_later_ones_again(selector: selectors.BaseSelector) -> None:
    waker = Waker(selector)
    for _ in range(2):
        assert not selector.select(0)
        for _ in range(1000):
            waker.wake()
        ((key, _),) = selector.select(0)
        key.data.notice()
    assert not selector.select(0)
    waker.close()


def test_calls_after_the_loop_has_ended_are_in_vain(selector: selectors.BaseSelector) -> None:
    waker = Waker(selector)
    selector.unregister(next(iter(selector.get_map().values())).fileobj)
    waker.close()
    waker.wake()
