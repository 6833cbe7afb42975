"""rewrite: touched rows through a policy, the rest as it was, bucket by bucket."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from nutchpy.core.urls import bucket_key
from nutchpy.engine import rewrite as module
from nutchpy.engine.duckdb import DuckDBEngine
from nutchpy.engine.rewrite import Rewrite, rewrite
from nutchpy.storage.check import check_database
from nutchpy.storage.database import Database
from nutchpy.testing.crawls import NOW, make_crawldb, read_db, rows_of

URLS = [f"http://h{n}.test/" for n in range(40)]
TOUCHED = "select crawldb.* from crawldb join feed using (url) where feed.key between $first and $last"
NEW = "select feed.* exclude (key) from feed where key between $first and $last"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> DuckDBEngine:
    return DuckDBEngine("500MB", 2, tmp_path_factory.mktemp("engine") / "spill")


def feed_of(urls: Sequence[str]) -> pa.Table:
    rows = rows_of("crawldb", urls)
    return rows.append_column("key", pa.array([bucket_key(host) for host in rows["host"].to_pylist()], pa.uint32()))


def run(
    engine: DuckDBEngine,
    database: Database,
    urls: Sequence[str],
    policy: Callable[[pa.Table], pa.Table],
    sql: str = TOUCHED,
) -> bool:
    before = database.current_or_none()
    with database.locked(), database.replacing("test", NOW, 3600) as draft:
        feed = feed_of(urls)
        feed = feed.select(["url", "key"]) if sql == TOUCHED else feed
        return rewrite(engine, before, draft, Rewrite(sql, {"feed": feed}, {}, policy))


def scored(value: float) -> Callable[[pa.Table], pa.Table]:
    def policy(touched: pa.Table) -> pa.Table:
        place = touched.column_names.index("score")
        return touched.set_column(place, "score", pa.repeat(pa.scalar(value, pa.float32()), touched.num_rows))

    return policy


@pytest.mark.parametrize("buckets", [1, 16, 64])
def test_touched_rows_change_and_others_do_not(engine: DuckDBEngine, tmp_path: Path, buckets: int) -> None:
    database = make_crawldb(tmp_path / "crawldb", URLS, buckets)
    before = read_db(database)
    assert run(engine, database, URLS[::2], scored(2.0)) is True
    expected = {url: {**row, "score": 2.0} if url in URLS[::2] else row for url, row in before.items()}
    assert read_db(database) == expected
    assert database.current().meta.rows == 40


def test_new_rows_and_an_empty_database(engine: DuckDBEngine, tmp_path: Path) -> None:
    database = Database(tmp_path / "crawldb", "crawldb")
    assert run(engine, database, URLS[:3], lambda touched: touched, NEW) is True
    assert run(engine, database, URLS[2:5], lambda touched: touched, NEW) is True
    assert sorted(read_db(database)) == sorted(URLS[:5])


def test_rows_that_the_policy_leaves_out_are_dropped(engine: DuckDBEngine, tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", URLS, 16)
    run(engine, database, URLS[:10], lambda touched: touched.filter(pc.not_equal(touched["url"], URLS[3])).slice(1))
    left = set(read_db(database))
    assert URLS[3] not in left
    assert set(URLS[10:]) <= left
    assert len(left) < 39


def test_every_row_may_go(engine: DuckDBEngine, tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", URLS)
    run(engine, database, URLS, lambda touched: touched.slice(0, 0))
    assert read_db(database) == {}
    assert (database.current().parts, database.current().meta.rows) == ([], 0)


def test_nothing_touched_keeps_the_files(engine: DuckDBEngine, tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", URLS, 16)
    inodes = [part.stat().st_ino for part in database.current().parts]
    assert run(engine, database, ["http://unknown.test/"], scored(1.0)) is False
    assert [part.stat().st_ino for part in database.current().parts] == inodes


def test_only_the_buckets_concerned_are_written(engine: DuckDBEngine, tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", URLS, 16)
    before = {part.name: part.stat().st_ino for part in database.current().parts}
    run(engine, database, URLS[:1], scored(1.0))
    after = {part.name: part.stat().st_ino for part in database.current().parts}
    assert sum(before[name] != after[name] for name in before) == 1


def test_parts_are_sorted_by_host_and_url(engine: DuckDBEngine, tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", [])
    urls = [f"http://h{n % 3}.test/{n % 7}" for n in range(21)]
    run(engine, database, urls, lambda touched: touched, NEW)
    rows = [(row["host"], row["url"]) for row in read_db(database).values()]
    assert rows == sorted(rows)


@pytest.mark.parametrize("limit", [1, 7, 1_000])
def test_many_touched_rows_wait_in_a_file(
    engine: DuckDBEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(module, "_ROWS_IN_MEMORY", limit)
    monkeypatch.setattr("nutchpy.engine.duckdb._BATCH_ROWS", 4)
    sizes: list[int] = []

    def policy(touched: pa.Table) -> pa.Table:
        sizes.append(touched.num_rows)
        return scored(3.0)(touched.filter(pc.not_equal(touched["url"], URLS[5])))

    database = make_crawldb(tmp_path / "crawldb", [{"url": url, "metadata": {"k": url}} for url in URLS])
    before = read_db(database)
    run(engine, database, URLS[:20], policy)
    assert sum(sizes) == 20
    expected = {url: {**row, "score": 3.0} if url in URLS[:20] else row for url, row in before.items()}
    expected.pop(URLS[5])
    assert read_db(database) == expected
    names = {path.name for path in database.current().path.iterdir()}
    assert names == {"part-00000.parquet", "_meta.json", ".in-use"}


def test_an_error_in_the_policy_leaves_the_database(engine: DuckDBEngine, tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", URLS)
    before = database.current().path

    def broken(touched: pa.Table) -> pa.Table:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run(engine, database, URLS, broken)
    assert database.current().path == before
    assert [path.name for path in (database.path / "generations").iterdir()] == [before.name]


def test_parameters_reach_the_statement(engine: DuckDBEngine, tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", [{"url": url, "depth": n} for n, url in enumerate(URLS)])
    params: dict[str, Any] = {"least": 30}
    before = database.current()
    with database.locked(), database.replacing("test", NOW, 3600) as draft:
        draft.meta = replace(draft.meta, made_by="changed")
        rewrite(engine, before, draft, Rewrite("select * from crawldb where depth >= $least", {}, params, scored(5.0)))
    assert sum(row["score"] == 5.0 for row in read_db(database).values()) == 10
    assert database.current().meta.made_by == "changed"


class Small(DuckDBEngine):
    """Says that it has little memory."""

    @property
    def memory(self) -> int:
        return 1_500_000


def test_one_huge_host_is_written_in_slices_and_rewritten_from_them(tmp_path: Path) -> None:
    urls = [f"http://huge.test/{n:05d}" for n in range(6_000)]
    database = make_crawldb(tmp_path / "crawldb", urls)
    engine = Small("256MB", 2, tmp_path / "spill")
    sql = "select crawldb.* from crawldb join news on news.url = crawldb.url"

    def policy(touched: pa.Table) -> pa.Table:
        return touched.set_column(touched.column_names.index("retries"), "retries", pc.add(touched["retries"], 1))

    def news(bucket: int) -> pa.Table:
        return pa.table({"url": urls[::2]})

    for _ in range(2):
        with database.locked(), database.replacing("test", NOW, 0) as draft:
            plan = Rewrite(sql, {"news": news}, {}, policy)
            assert rewrite(engine, database.current(), draft, plan)
        parts = database.current().parts
        assert len(parts) >= 4
        assert database.current().bucket(0) == parts
        assert parts[0].name == "part-00000-00000.parquet"
    rows = read_db(database)
    assert len(rows) == 6_000
    assert {row["retries"] for row in rows.values()} == {0, 2}
    assert list(check_database(database.path)) == []
