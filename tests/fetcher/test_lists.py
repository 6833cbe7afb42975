"""What a fetch list's process does around its machine; whole fetches are in tests/crawl."""

from __future__ import annotations

import gc
import weakref

from nutchpy.fetcher.lists import seldom_collecting


class Ring:
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        self.itself = self


def test_cycles_are_still_found_while_collecting_seldom_and_all_is_as_before_then() -> None:
    before = gc.get_threshold()
    with seldom_collecting():
        assert gc.get_threshold()[0] > before[0]
        ring = weakref.ref(Ring())
        kept = []
        while ring() is not None and len(kept) < 1_000_000:
            kept.append([])
        assert ring() is None
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
