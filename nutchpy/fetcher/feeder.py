"""QueueFeeder: reads a fetch list piece by piece and keeps the queues filled, within bounds.

At most ``depth`` items wait in the queues (those of hosts that were put off aside). No queue gets more than its share
of them: what a big host has beyond it is *parked*, as a position in the piece it was read from, which costs a few
bytes, and the feeder reads on for the sake of the other hosts, up to ``lookahead`` parked rows. A queue that runs low
gets its parked rows before anything new. Pure: pieces come from an iterator, time is an argument.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

from nutchpy.fetcher.item import FetchItem
from nutchpy.fetcher.queue import FetchItemQueue
from nutchpy.fetcher.queues import FetchItemQueues

_LARGEST_SHARE: Final = 16
"""Items a queue gets at once when there is room: enough to make them in bulk."""


class Piece(Protocol):
    """A run of rows of a fetch list."""

    @property
    def queue_ids(self) -> Sequence[str]:
        """The queue of each row."""
        ...

    def items(self, positions: Sequence[int]) -> list[FetchItem]:
        """Those rows as items."""
        ...


Parked = deque[tuple[Piece, int]]


class QueueFeeder:
    """``feed`` fills up; ``exhausted`` once every row has been queued or dropped. ``drop`` hears of dropped rows."""

    def __init__(
        self,
        pieces: Iterator[Piece],
        queues: FetchItemQueues,
        depth: int,
        lookahead: int,
        drop: Callable[[str, str, int], None],
    ) -> None:
        self._pieces = pieces
        self._queues = queues
        self._depth = depth
        self._lookahead = lookahead
        self._drop = drop
        self._piece: Piece | None = None
        self._cursor = 0
        self._parked: dict[str, Parked] = {}
        self.parked = 0
        self.stopped: str | None = None
        self._advance()

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to feed."""
        return self._piece is None and not self.parked

    @property
    def wanting(self) -> bool:
        """Whether a call of ``feed`` is worth it: a queue has run low, or a good part of the room is free."""
        if self.exhausted:
            return False
        return bool(self._queues.hungry) or self._room() * 4 >= self._depth

    def feed(self, now: float) -> None:
        """Fill the queues: those that have run low first, then with what comes next in the list."""
        self._unpark(now)
        while self._piece is not None and self._room() > 0 and self.parked < self._lookahead:
            self._read(self._piece, now)

    def stop(self, reason: str) -> None:
        """Feed no more: what is left, parked or not yet read, is dropped for that reason."""
        self.stopped = reason
        for queue_id in list(self._parked):
            self.drop_parked(queue_id, reason)
        while self._piece is not None:
            self._drop_piece(self._piece, reason)
            self._advance()

    def drop_parked(self, queue_id: str, reason: str) -> None:
        """Drop what is parked for a queue."""
        parked = self._parked.pop(queue_id, None)
        if parked:
            self._note_parked(self._queues.queue(queue_id), -len(parked))
            self._drop(queue_id, reason, len(parked))

    def _room(self) -> int:
        return self._depth - self._queues.queued + self._queues.resting

    def _share(self, queue: FetchItemQueue) -> int:
        """How many items may wait in a queue: fewer the more queues there are, so that all find room."""
        least = queue.limits.parallel + 1
        return max(least, min(_LARGEST_SHARE, self._depth // (self._queues.busy + 1)))

    def _unpark(self, now: float) -> None:
        hungry = self._queues.hungry
        while hungry and self._room() > 0:
            queue = hungry.popleft()
            queue.hungry = False
            if queue.parked:
                self._serve_parked(queue, self._parked[queue.id], now)

    def _serve_parked(self, queue: FetchItemQueue, parked: Parked, now: float) -> None:
        count = min(len(parked), self._room(), self._share(queue) - len(queue.waiting))
        for piece, positions in _runs([parked.popleft() for _ in range(count)]):
            for item in piece.items(positions):
                self._queues.add(item, now)
        self._note_parked(queue, -count)
        if not parked:
            del self._parked[queue.id]
        self._queues.note_hungry(queue)

    def _read(self, piece: Piece, now: float) -> None:
        """Take rows from the present piece, until it ends or there is no more room."""
        chosen: list[int] = []
        coming: dict[str, int] = {}
        room, most_parked = self._room(), self._lookahead
        ids = piece.queue_ids
        position = self._cursor
        while position < len(ids) and len(chosen) < room and self.parked < most_parked:
            self._place(piece, ids[position], position, chosen, coming)
            position += 1
        for item in piece.items(chosen) if chosen else ():
            self._queues.add(item, now)
        self._cursor = position
        if position >= len(ids):
            self._advance()

    def _place(self, piece: Piece, queue_id: str, position: int, chosen: list[int], coming: dict[str, int]) -> None:
        """Decide on one row: dropped, parked, or chosen to be queued."""
        reason = self._queues.blocked.get(queue_id)
        if reason is not None:
            self._drop(queue_id, reason, 1)
            return
        parked = self._parked.get(queue_id)
        queue = self._queues.queue(queue_id)
        if parked or len(queue.waiting) + coming.get(queue_id, 0) >= self._share(queue):
            self._parked.setdefault(queue_id, deque()).append((piece, position))
            self._note_parked(queue, 1)
            return
        coming[queue_id] = coming.get(queue_id, 0) + 1
        chosen.append(position)

    def _note_parked(self, queue: FetchItemQueue, count: int) -> None:
        queue.parked += count
        self.parked += count

    def _advance(self) -> None:
        self._piece = next(self._pieces, None)
        self._cursor = 0

    def _drop_piece(self, piece: Piece, reason: str) -> None:
        for queue_id in piece.queue_ids[self._cursor :]:
            self._drop(queue_id, reason, 1)


def _runs(parked: list[tuple[Piece, int]]) -> list[tuple[Piece, list[int]]]:
    """Positions grouped by the piece they lie in, order kept."""
    runs: list[tuple[Piece, list[int]]] = []
    for piece, position in parked:
        if runs and runs[-1][0] is piece:
            runs[-1][1].append(position)
        else:
            runs.append((piece, [position]))
    return runs
