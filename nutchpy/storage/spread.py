"""Rows spread over files by their buckets as they come, in bounded memory whatever their number and order.

What waits is kept per bucket and written when there is enough for a row group, or, when too much waits in all, the
bucket with most of it. Rows of one bucket keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

_GROUP_ROWS: Final = 65_536
_WAITING_BYTES: Final = 128 << 20


class Writer(Protocol):
    """Where the rows of one bucket go."""

    def write(self, rows: pa.Table) -> None:
        """Append rows as a row group."""
        ...


class Spread:
    """Takes rows with the numbers of their buckets; ``open_writer`` is called for a bucket's first rows."""

    def __init__(
        self,
        open_writer: Callable[[int], Writer],
        group_rows: int = _GROUP_ROWS,
        waiting_bytes: int = _WAITING_BYTES,
    ) -> None:
        self._open = open_writer
        self._group_rows = group_rows
        self._waiting_bytes = waiting_bytes
        self._waiting: dict[int, list[pa.Table]] = {}
        self._rows: dict[int, int] = {}
        self._bytes: dict[int, int] = {}
        self._writers: dict[int, Writer] = {}

    def write(self, rows: pa.Table, buckets: pa.Array) -> None:
        """Take rows; ``buckets`` says for each where it goes."""
        for bucket, mine in _split(rows, buckets):
            self._waiting.setdefault(bucket, []).append(mine)
            self._rows[bucket] = self._rows.get(bucket, 0) + mine.num_rows
            self._bytes[bucket] = self._bytes.get(bucket, 0) + mine.nbytes
            if self._rows[bucket] >= self._group_rows:
                self._flush(bucket)
        while sum(self._bytes.values()) > self._waiting_bytes:
            self._flush(max(self._bytes, key=self._bytes.__getitem__))

    def end(self) -> None:
        """Write what still waits."""
        for bucket in sorted(self._waiting):
            self._flush(bucket)

    def _flush(self, bucket: int) -> None:
        rows = pa.concat_tables(self._waiting.pop(bucket))
        del self._rows[bucket], self._bytes[bucket]
        if bucket not in self._writers:
            self._writers[bucket] = self._open(bucket)
        self._writers[bucket].write(rows.combine_chunks())


def _split(rows: pa.Table, buckets: pa.Array) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each bucket, copied: a slice would keep the whole batch in memory."""
    encoded = buckets.dictionary_encode()
    numbers = encoded.dictionary.to_pylist()
    if len(numbers) == 1:
        yield numbers[0], rows
        return
    order = pc.array_sort_indices(encoded.indices)  # a stable sort
    counts = {entry["values"]: entry["counts"] for entry in pc.value_counts(encoded.indices).to_pylist()}
    first = 0
    for index, bucket in enumerate(numbers):
        yield bucket, rows.take(order.slice(first, counts[index]))
        first += counts[index]
