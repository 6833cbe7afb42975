"""Where rows are, or would stand, in rows in order: the search and the hashing way agree with plain Python."""

from __future__ import annotations

from bisect import bisect_left

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nutchpy.engine import merge
from nutchpy.engine.merge import Ordered, found, places

KEYS = st.lists(
    st.tuples(st.sampled_from(["a.test", "b.test", "c.test", "é.test"]), st.text("ab/é", max_size=4)),
    unique=True,
    max_size=30,
)
CODE = pa.dictionary(pa.int32(), pa.string())


def coded(keys: list[tuple[str, str]]) -> pa.Table:
    """Keys as coded rows; a URL begins with its host, as all do."""
    hosts, urls = [host for host, _ in keys], [f"http://{host}/{path}" for host, path in keys]
    return pa.table({"url": pa.array(urls, pa.string()), "host": pa.array(hosts, pa.string()).dictionary_encode()})


@settings(max_examples=200, deadline=None)
@given(KEYS, KEYS, st.sampled_from([0, 1, 1_000]))
def test_places(base: list[tuple[str, str]], rows: list[tuple[str, str]], few: int) -> None:
    base, rows = sorted(base), sorted(rows)
    expected = [bisect_left(base, key) for key in rows]
    assert places(coded(base), coded(rows)).to_pylist() == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge, "_FEW", few)
        known, place = found(coded(base), coded(rows))
    assert known.to_pylist() == [key in base for key in rows]
    assert place.to_pylist() == expected


@given(KEYS, st.integers(1, 7))
def test_stretches(keys: list[tuple[str, str]], size: int) -> None:
    keys = sorted(keys)
    pieces = [keys[start : start + size] for start in range(0, len(keys), size)]
    ordered = Ordered(coded(piece) for piece in pieces)
    taken: list[str] = []
    for host, path in keys[1::3]:
        for rows in ordered.up_to(coded([(host, path)])):
            taken += rows["url"].to_pylist()
        assert taken == [f"http://{host}/{path}" for host, path in keys[: keys.index((host, path)) + 1]]
    for rows in ordered.rest():
        taken += rows["url"].to_pylist()
    assert taken == [f"http://{host}/{path}" for host, path in keys]
    assert not ordered.more()
