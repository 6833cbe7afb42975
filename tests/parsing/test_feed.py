"""The crawl_parse part: sorted, cut at bucket boundaries, the same whether it fits into memory or not."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nutchpy.core.urls import bucket_key, bucket_of
from nutchpy.parsing import feed
from nutchpy.parsing.feed import FeedWriter
from nutchpy.storage.schema import TABLES


def some(start: int, count: int) -> pa.Table:
    urls = [f"http://h{n % 97}.test/{n}" for n in range(start, start + count)]
    hosts = [f"h{n % 97}.test" for n in range(start, start + count)]
    columns = {
        "url": urls,
        "host": hosts,
        "bucket_key": [bucket_key(host) for host in hosts],
        "kind": ["linked"] * count,
        "score": [0.5] * count,
        "depth": [1] * count,
        "metadata": [None] * count,
        "signature": [None] * count,
    }
    return pa.table(columns, schema=TABLES["crawl_parse"].schema)


def written(target: Path, run_rows: int, pieces: list[pa.Table]) -> pa.Table:
    writer = FeedWriter(target, run_rows)
    for piece in pieces:
        writer.write(piece)
    writer.publish()
    return pq.read_table(target)


@pytest.mark.parametrize("run_rows", [1_000_000, 700, 100])
def test_sorted_and_complete(tmp_path: Path, run_rows: int) -> None:
    target = tmp_path / "crawl_parse" / "part-00000-00000.parquet"
    found = written(target, run_rows, [some(start, 300) for start in range(0, 3_000, 300)])
    keys = found["bucket_key"].to_pylist()
    assert keys == sorted(keys)
    assert sorted(found["url"].to_pylist()) == sorted(some(0, 3_000)["url"].to_pylist())
    assert [path.name for path in target.parent.iterdir()] == [target.name]


def test_runs_change_nothing(tmp_path: Path) -> None:
    pieces = [some(start, 300) for start in range(0, 3_000, 300)]
    assert written(tmp_path / "a", 10_000, pieces).equals(written(tmp_path / "b", 500, pieces))


def test_row_groups_end_at_bucket_boundaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "SMALL_GROUP", 50)
    written(tmp_path / "part", 1_000_000, [some(0, 5_000)])
    metadata = pq.ParquetFile(tmp_path / "part").metadata
    column = TABLES["crawl_parse"].schema.get_field_index("bucket_key")
    bounds = [metadata.row_group(n).column(column).statistics for n in range(metadata.num_row_groups)]
    buckets = [(bucket_of(s.min, 64), bucket_of(s.max, 64)) for s in bounds]
    assert len(buckets) > 20
    assert all(last[1] < first[0] for last, first in pairwise(buckets))


def test_small_parts_have_one_row_group_and_an_empty_one_is_a_part(tmp_path: Path) -> None:
    written(tmp_path / "small", 1_000, [some(0, 200)])
    assert pq.ParquetFile(tmp_path / "small").metadata.num_row_groups == 1
    assert written(tmp_path / "empty", 1_000, []).num_rows == 0
    assert written(tmp_path / "empty2", 1_000, []).schema.equals(TABLES["crawl_parse"].schema, check_metadata=False)


def test_discard_leaves_nothing(tmp_path: Path) -> None:
    writer = FeedWriter(tmp_path / "part", 100)
    writer.write(some(0, 300))
    writer.write(some(0, 300))
    assert list(tmp_path.iterdir())
    writer.discard()
    assert not list(tmp_path.iterdir())
