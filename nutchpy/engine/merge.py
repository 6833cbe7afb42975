"""Changes merged into the rows of a bucket, a row group at a time: nothing is sorted that is in order already.

A bucket's rows are in the order of host and URL, and so is what is new of them. Where a URL has its row, or where it
would stand, is looked up in the row group that covers it; one gather of row numbers then writes rows that change and
rows that are new into the stream. Knows Arrow and that order; nothing of files, SQL or what the changes are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.storage.ordered import together

_FEW: Final = 16
"""A table of so many times more rows than are looked up in it is searched, not hashed."""


class Ordered:
    """Rows that come in order, hosts coded, taken a stretch at a time."""

    def __init__(self, tables: Iterable[pa.Table]) -> None:
        self._tables = iter(tables)
        self._rows: pa.Table | None = None

    def more(self) -> bool:
        """Whether any rows are left."""
        while self._rows is None or not self._rows.num_rows:
            self._rows = next(self._tables, None)
            if self._rows is None:
                return False
        return True

    def up_to(self, last: pa.Table) -> Iterator[pa.Table]:
        """The rows whose host and URL come before those of ``last``, one coded row, or are the same."""
        while self.more():
            assert self._rows is not None
            count = places(self._rows, last)[0].as_py()
            if count < self._rows.num_rows and self._rows["url"][count].as_py() == last["url"][0].as_py():
                count += 1
            yield from self._taken(count)
            if self._rows.num_rows:
                return

    def rest(self) -> Iterator[pa.Table]:
        """All rows left."""
        while self.more():
            assert self._rows is not None
            yield from self._taken(self._rows.num_rows)

    def _taken(self, count: int) -> Iterator[pa.Table]:
        assert self._rows is not None
        if count:
            yield self._rows.slice(0, count)
        self._rows = self._rows.slice(count)


def merged(
    base: pa.Table, changed: pa.Table, at: pa.Array, gone: pa.Array, added: pa.Table, before: pa.Array
) -> pa.Table:
    """Coded rows in order: ``base`` with ``changed`` at the places ``at``, without ``gone``, with ``added``.

    All places are row numbers in ``base``; ``at`` and ``gone`` have none in common. ``added`` is in order; ``before``
    are the rows that its rows go before.
    """
    if not (len(at) or len(gone) or len(before)):
        return base
    count = base.num_rows
    stays = numbers(count)
    if len(at) or len(gone):
        stays = stays.filter(pc.invert(pc.is_in(stays, value_set=pa.concat_arrays([at, gone]))))
    rows = [stays, pc.add(numbers(len(at)), count), pc.add(numbers(len(before)), count + len(at))]
    # Twice the row number and one is a row's own place, twice the number is the place before it.
    keys = [_odd(stays), _odd(at), pc.multiply(before, 2)]
    order = pa.concat_arrays(rows).take(pc.array_sort_indices(pa.concat_arrays(keys)))  # a stable sort
    return together([base, changed, added]).combine_chunks().take(order)


def found(base: pa.Table, rows: pa.Table) -> tuple[pa.Array, pa.Array]:
    """Whether each of some rows is in ``base``, and the number of its row there, or of the row that it goes before.

    Both tables are coded and in order, and in neither of them a URL is there twice.
    """
    urls, wanted = base["url"].combine_chunks(), rows["url"].combine_chunks()
    if not base.num_rows or rows.num_rows * _FEW < base.num_rows:
        place = places(base, rows)
        there = urls.take(pc.if_else(pc.less(place, base.num_rows), place, None))
        return pc.fill_null(pc.equal(there, wanted), False), place
    there = pc.inverse_permutation(
        pc.index_in(urls, value_set=wanted), max_index=rows.num_rows - 1, output_type=pa.int64()
    )
    known = pc.is_valid(there)
    new = pc.invert(known)
    if not pc.any(new).as_py():
        return known, there
    after = pc.add(pc.fill_null(pc.fill_null_forward(there), -1), 1).filter(new)
    end = pc.fill_null(pc.fill_null_backward(there), base.num_rows).filter(new)
    return known, pc.replace_with_mask(there, new, places(base, rows.filter(new), after, end))


def places(base: pa.Table, rows: pa.Table, after: pa.Array | None = None, before: pa.Array | None = None) -> pa.Array:
    """For each of some rows, both tables coded and in order, the number of the first row of ``base`` not before it.

    ``after`` and ``before``: between which numbers that is, as far as it is known.
    """
    first, end = _host_places(base, rows)
    if after is not None and before is not None:
        first, end = pc.max_element_wise(first, after), pc.min_element_wise(end, before)
    urls, wanted = base["url"].combine_chunks(), rows["url"].combine_chunks()
    while pc.any(unsure := pc.less(first, end)).as_py():
        middle = pc.divide(pc.add(first, end), 2)
        less = pc.less(urls.take(pc.if_else(unsure, middle, None)), wanted)  # null where it is known already
        first = pc.if_else(pc.fill_null(less, False), pc.add(middle, 1), first)
        end = pc.if_else(pc.fill_null(pc.invert(less), False), middle, end)
    return first


def numbers(count: int) -> pa.Array:
    """0, 1, … as int64."""
    return pc.subtract(pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), count)), 1)


def _odd(places: pa.Array) -> pa.Array:
    return pc.add(pc.multiply(places, 2), 1)


def _host_places(base: pa.Table, rows: pa.Table) -> tuple[pa.Array, pa.Array]:
    """For each row, the stretch of ``base`` that has its host (empty: where it would stand)."""
    hosts, starts = _runs(base)
    mine, begins = _runs(rows)
    firsts, ends = [], []
    for host in mine:
        run = bisect_left(hosts, host)
        firsts.append(starts[run])
        ends.append(starts[run + 1] if run < len(hosts) and hosts[run] == host else starts[run])
    lengths = pa.array([end - begin for begin, end in pairwise(begins)], pa.int64())
    return _repeated(firsts, lengths), _repeated(ends, lengths)


def _repeated(values: list[int], lengths: pa.Array) -> pa.Array:
    if not values:
        return pa.array([], pa.int64())
    return pc.run_end_decode(
        pa.RunEndEncodedArray.from_arrays(pc.cumulative_sum(lengths), pa.array(values, pa.int64()))
    )


def _runs(rows: pa.Table) -> tuple[list[str], list[int]]:
    """The hosts of coded rows, one after the other, and where each begins; one more for where all end."""
    if not rows.num_rows:
        return [], [0]
    column = rows["host"].combine_chunks()
    codes = column.indices
    changes = pc.indices_nonzero(pc.not_equal(codes.slice(1), codes.slice(0, len(codes) - 1)))
    starts = pa.concat_arrays([pa.array([0], pa.int64()), pc.add(changes.cast(pa.int64()), 1)])
    return column.dictionary.take(codes.take(starts)).to_pylist(), [*starts.to_pylist(), len(codes)]
