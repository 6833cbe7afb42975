"""Territory: which URLs this run knows already, and which queues are this process's own.

A redirect is followed at once only to a URL that no fetch list of the segment holds and no one was sent to before, and
only into a queue that no other process may be working on. URLs are kept as 64-bit hashes: should two collide, a target
is recorded for a later round instead of followed, and nothing is lost.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable

import mmh3

from nutchpy.core import urls


def text_hash(text: str) -> int:
    """64 bits of murmur3."""
    return int(mmh3.hash64(text, signed=False)[0])


class TextSet:
    """A set of texts, eight bytes each for those given at the start; may take one text for another."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._base = array("Q", sorted({text_hash(text) for text in texts}))
        self._added: set[int] = set()

    def __contains__(self, text: object) -> bool:
        value = text_hash(str(text))
        if value in self._added:
            return True
        at = bisect_left(self._base, value)
        return at < len(self._base) and self._base[at] == value

    def add(self, text: str) -> None:
        """Put one more in."""
        self._added.add(text_hash(text))


class Territory:
    """``claim`` answers for one redirect target at a time."""

    def __init__(
        self,
        known: TextSet,
        own_queues: TextSet,
        other_queues: TextSet,
        share: tuple[int, int],
        queue_key: Callable[[str], str] | None,
    ) -> None:
        """``queue_key`` is None when hosts do not tell their queues: with queues by address."""
        self._known = known
        self._own = own_queues
        self._others = other_queues
        self._number, self._lists = share
        self._queue_key = queue_key
        self.closed = False
        """Whether nothing new is begun any more."""

    def claim(self, url: str, host: str, source_host: str) -> str | None:
        """None when a target is ours to follow now from a page of ours, and then nobody else's; else why it is not."""
        if self.closed:
            return "stopped"
        if url in self._known:
            return "known"
        if host != source_host and not self._owns(host):
            return "other_list"
        self._known.add(url)
        return None

    def _owns(self, host: str) -> bool:
        """Queues of no list at all are dealt out by their hash, so that two processes never meet in one."""
        if self._lists == 1:
            return True
        if self._queue_key is None:
            return False
        queue_id = self._queue_key(host)
        if queue_id in self._own:
            return True
        return queue_id not in self._others and urls.bucket_key(queue_id) % self._lists == self._number
