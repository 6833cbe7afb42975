"""How many buckets there are, and rows on their way into more or fewer of them, or into slices of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nutchpy.core.errors import DamagedError
from nutchpy.core.urls import bucket_key, bucket_of
from nutchpy.engine.base import Files
from nutchpy.engine.buckets import buckets_for, fitted
from nutchpy.engine.duckdb import DuckDBEngine
from nutchpy.engine.slices import write_sliced
from nutchpy.storage.schema import TABLES
from nutchpy.testing.crawls import NOW, make_crawldb, read_db, rows_of

GB = 1 << 30
URLS = [f"http://h{n % 97}.test/{n * 7919 % 1000}" for n in range(1_000)]
CRAWLDB = TABLES["crawldb"]


class Small(DuckDBEngine):
    """Says that it has little memory."""

    limit = 100_000

    @property
    def memory(self) -> int:
        return self.limit


def engine(tmp_path: Path, kind: type[DuckDBEngine] = DuckDBEngine) -> Any:
    return kind("256MB", 2, tmp_path / "spill")


@pytest.mark.parametrize(
    ("rows", "memory", "buckets"),
    [(0, GB, 1), (1_000_000, 2 * GB, 1), (1_000_000, GB // 2, 16), (1_000_001, 64 * GB, 16), (64_000_000, 4 * GB, 16),
     (50_000_000, GB, 64), (64_000_001, 64 * GB, 64), (10**9, GB, 64)],
)  # fmt: skip
def test_buckets_for(rows: int, memory: int, buckets: int) -> None:
    assert buckets_for(rows, memory) == buckets


@pytest.mark.parametrize("now", [1, 16, 64])
@pytest.mark.parametrize("then", [1, 16, 64])
def test_the_same_rows_in_any_number_of_buckets(tmp_path: Path, now: int, then: int) -> None:
    database = make_crawldb(tmp_path / "crawldb", URLS, buckets=now)
    before = read_db(database)
    with (
        database.locked(),
        database.replacing("test", NOW, 0) as draft,
        fitted(engine(tmp_path), database.current(), draft, buckets=then) as present,
    ):
        assert present is not None
        for part in present.parts:
            draft.keep(part)
    assert database.current().meta.buckets == then
    assert read_db(database) == before
    for number in range(then):
        for part in database.current().bucket(number):
            rows = pq.read_table(part, partitioning=None)
            assert {bucket_of(bucket_key(host), then) for host in rows["host"].to_pylist()} == {number}
            keys = list(zip(rows["host"].to_pylist(), rows["url"].to_pylist(), strict=True))
            assert keys == sorted(keys)
    assert [path.name for path in database.current().path.iterdir() if path.name.startswith("_")] == ["_meta.json"]


def test_a_database_grows_with_its_rows_and_never_shrinks(tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", URLS)
    counts = []
    for kind, added in ((DuckDBEngine, 0), (DuckDBEngine, 1_000_000), (Small, 0), (DuckDBEngine, 0)):
        with (
            database.locked(),
            database.replacing("test", NOW, 0) as draft,
            fitted(engine(tmp_path, kind), database.current(), draft, added) as present,
        ):
            assert present is not None
            for part in present.parts:
                draft.keep(part)
        counts.append(database.current().meta.buckets)
    assert counts == [1, 16, 16, 16]
    assert set(read_db(database)) == set(URLS)


def test_a_damaged_bucket_is_named(tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", URLS)
    (part,) = database.current().parts
    data = bytearray(part.read_bytes())
    data[100:200] = bytes(100)
    part.write_bytes(data)
    with (
        pytest.raises(DamagedError, match=str(part)),
        database.locked(),
        database.replacing("test", NOW, 0) as draft,
        fitted(engine(tmp_path), database.current(), draft, buckets=16),
    ):
        pass
    assert database.current().parts == [part]


def test_a_bucket_too_big_for_memory_is_written_in_slices(tmp_path: Path) -> None:
    """Ten thousand rows, nearly all of one host, some in memory; ten kilobytes or so are let in at a time."""
    urls = [f"http://huge.test/{n:05d}" for n in range(9_000)] + [f"http://h{n}.test/" for n in range(500)]
    database = make_crawldb(tmp_path / "crawldb", urls)
    new = rows_of("crawldb", [f"http://huge.test/x{n:05d}" for n in range(500)])
    small = engine(tmp_path, Small)
    small.limit = 2_000_000
    inputs = {"crawldb": Files(CRAWLDB, database.current().parts), "rows": new}
    sql = "select * from crawldb union all select * from rows order by host, url"

    def part_path(number: int | None) -> Path:
        return tmp_path / f"{number}.parquet"

    assert write_sliced(small, sql, inputs, {}, part_path, CRAWLDB, ["crawldb", "rows"]) == 10_000
    slices = sorted(tmp_path.glob("*.parquet"))
    assert [path.name for path in slices] == [f"{n}.parquet" for n in range(len(slices))]
    assert len(slices) >= 4
    found = pa.concat_tables(pq.ParquetFile(path).read() for path in slices)
    keys = list(zip(found["host"].to_pylist(), found["url"].to_pylist(), strict=True))
    assert keys == sorted(keys)
    assert {url for _, url in keys} == {*urls, *new["url"].to_pylist()}
    assert max(pq.ParquetFile(path).metadata.num_rows for path in slices) < 4_000
