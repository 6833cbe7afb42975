"""rewrite: touched rows through a policy, the rest as it was, bucket by bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from nutchpy.core.urls import bucket_key
from nutchpy.engine import rewrite as module
from nutchpy.engine.duckdb import DuckDBEngine
from nutchpy.engine.rewrite import Bucket, Change, Policy, Rewrite, Touched, rewrite
from nutchpy.storage.check import check_database
from nutchpy.storage.database import Database
from nutchpy.storage.schema import TABLES
from nutchpy.testing.crawls import NOW, make_crawldb, read_db, rows_of

URLS = [f"http://h{n}.test/" for n in range(40)]
ROW = TABLES["crawldb"].schema.names


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> DuckDBEngine:
    return DuckDBEngine("500MB", 2, tmp_path_factory.mktemp("engine") / "spill")


def news_of(urls: Sequence[str], batch: int = 1_000) -> Callable[[Bucket], Iterator[pa.RecordBatch]]:
    """News of some URLs, in no order: whole rows, the columns under other names."""
    rows = rows_of("crawldb", urls)
    renamed = rows.rename_columns([name if name in ("url", "host") else f"new_{name}" for name in rows.column_names])
    keys = [bucket_key(host) for host in rows["host"].to_pylist()]

    def touched(bucket: Bucket) -> Iterator[pa.RecordBatch]:
        mine = [place for place, key in enumerate(keys) if bucket.first <= key <= bucket.last]
        yield from renamed.take(pa.array(mine[::-1], pa.int64())).combine_chunks().to_batches(batch)

    return touched


def run(engine: DuckDBEngine, database: Database, urls: Sequence[str], policy: Policy, batch: int = 1_000) -> bool:
    before = database.current_or_none()
    with database.locked(), database.replacing("test", NOW, 3600) as draft:
        return rewrite(engine, before, draft, Rewrite(news_of(urls, batch), policy))


def entered(touched: Touched) -> Change:
    """Rows that are new, as they come; the others stay."""
    new = touched.news.filter(pc.invert(touched.news["known"]))
    columns = {name: new[name if name in ("url", "host") else f"new_{name}"] for name in ROW}
    return Change(pa.table({**columns, "nth": new["nth"]}))


def scored(value: float) -> Policy:
    def policy(touched: Touched) -> Change:
        known = touched.with_rows(touched.news.filter(touched.news["known"]))
        place = known.column_names.index("score")
        return Change(known.set_column(place, "score", pa.repeat(pa.scalar(value, pa.float32()), known.num_rows)))

    return policy


def patched(value: float) -> Policy:
    """The same as ``scored``, said with less."""

    def policy(touched: Touched) -> Change:
        nth = touched.news["nth"].filter(touched.news["known"])
        return Change(whole(touched).slice(0, 0), patches=pa.table({"nth": nth, "score": pa.repeat(value, len(nth))}))

    return policy


def whole(touched: Touched) -> pa.Table:
    return touched.with_rows(touched.news)


def untouched(touched: Touched) -> Change:
    return Change(whole(touched).slice(0, 0))


def dropped(touched: Touched) -> Change:
    return Change(whole(touched).slice(0, 0), touched.news["nth"].combine_chunks())


@pytest.mark.parametrize("policy", [scored, patched])
@pytest.mark.parametrize("buckets", [1, 16, 64])
def test_touched_rows_change_and_others_do_not(
    engine: DuckDBEngine, tmp_path: Path, buckets: int, policy: Callable[[float], Policy]
) -> None:
    database = make_crawldb(tmp_path / "crawldb", URLS, buckets)
    before = read_db(database)
    assert run(engine, database, [*URLS[::2], "http://unknown.test/"], policy(2.0)) is True
    expected = {url: {**row, "score": 2.0} if url in URLS[::2] else row for url, row in before.items()}
    assert read_db(database) == expected
    assert database.current().meta.rows == 40


def test_new_rows_and_an_empty_database(engine: DuckDBEngine, tmp_path: Path) -> None:
    database = Database(tmp_path / "crawldb", "crawldb")
    assert run(engine, database, URLS[:3], entered) is True
    assert run(engine, database, URLS[2:5], entered) is True
    assert sorted(read_db(database)) == sorted(URLS[:5])


def test_rows_that_go(engine: DuckDBEngine, tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", URLS, 16)
    assert run(engine, database, [URLS[3], URLS[5], "http://unknown.test/"], dropped) is True
    assert set(read_db(database)) == set(URLS) - {URLS[3], URLS[5]}


def test_every_row_may_go(engine: DuckDBEngine, tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", URLS)
    run(engine, database, URLS, dropped)
    assert read_db(database) == {}
    assert (database.current().parts, database.current().meta.rows) == ([], 0)


@pytest.mark.parametrize("urls", [[], ["http://unknown.test/"], URLS])
def test_no_change_keeps_the_files(engine: DuckDBEngine, tmp_path: Path, urls: list[str]) -> None:
    database = make_crawldb(tmp_path / "crawldb", URLS, 16)
    inodes = [part.stat().st_ino for part in database.current().parts]
    assert run(engine, database, urls, untouched) is False
    assert [part.stat().st_ino for part in database.current().parts] == inodes


def test_only_the_buckets_concerned_are_written(engine: DuckDBEngine, tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", URLS, 16)
    before = {part.name: part.stat().st_ino for part in database.current().parts}
    run(engine, database, URLS[:1], scored(1.0))
    after = {part.name: part.stat().st_ino for part in database.current().parts}
    assert sum(before[name] != after[name] for name in before) == 1


def test_the_policy_sees_rows_in_order_with_what_is_known_of_them(engine: DuckDBEngine, tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", [{"url": url, "score": 7.0} for url in URLS[:20]])
    seen: list[dict[str, Any]] = []

    def policy(touched: Touched) -> Change:
        seen.extend(whole(touched).to_pylist())
        some = touched.news.filter(pc.equal(touched.news["nth"], 1))
        assert touched.with_rows(some, ["score"])["score"].to_pylist() == [
            row["score"] for row in seen[-touched.news.num_rows :] if row["nth"] == 1
        ]
        return untouched(touched)

    run(engine, database, URLS, policy)
    assert sorted(row["url"] for row in seen) == sorted(URLS)
    assert {row["url"] for row in seen if row["known"]} == set(URLS[:20])
    assert {(row["known"], row["score"], row["domain"] is None) for row in seen} == {
        (True, 7.0, False),
        (False, None, True),
    }
    first = [row["url"] for row in seen if row["nth"] < 20][:5]
    assert first == sorted(first)


def write_in_groups(database: Database, rows: int) -> None:
    """The same rows in small row groups."""
    for part in database.current().parts:
        table = pq.read_table(part)
        pq.write_table(table, part, row_group_size=rows)


@pytest.mark.parametrize("share", [1, 2**60])
@pytest.mark.parametrize("group", [1, 3, 1_000])
def test_any_mixture_of_changes(
    engine: DuckDBEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: int, group: int
) -> None:
    """Row groups of all sizes, news in memory and in a file: rows changed, gone and new come out as they must."""
    monkeypatch.setattr(module, "_SHARE_IN_MEMORY", share)
    monkeypatch.setattr(module, "_TAIL_ROWS", 2)
    urls = [f"http://h{n % 5}.test/{n % 11:02d}/{'é' * (n % 3)}" for n in range(60)]
    urls = list(dict.fromkeys(urls))
    there = [{"url": url, "metadata": {"k": url}, "etag": url} for url in urls[::2]]
    database = make_crawldb(tmp_path / "crawldb", there)
    unsummed(database)
    write_in_groups(database, group)
    before = read_db(database)
    changing = [url for url in urls if len(url) % 2]

    def policy(given: Touched) -> Change:
        touched = whole(given)
        wanted = pc.is_in(touched["url"], value_set=pa.array(changing))
        kept = touched.filter(pc.or_(wanted, pc.invert(touched["known"])))
        mine = kept.filter(kept["known"])
        mine = mine.set_column(mine.column_names.index("depth"), "depth", pa.array([9] * mine.num_rows, pa.int32()))
        new = entered(given).rows
        gone = touched.filter(pc.and_(touched["known"], pc.invert(wanted)))["nth"].combine_chunks()
        return Change(pa.concat_tables([new, mine.select(new.column_names).cast(new.schema)]), gone)

    news = urls[5:50]
    run(engine, database, news, policy, batch=2)
    expected = {url: row for url, row in before.items() if url not in news or url in changing}
    expected = {url: {**row, "depth": 9} if url in news else row for url, row in expected.items()}
    found = read_db(database)
    assert {url: row for url, row in found.items() if url in before} == expected
    assert set(found) - set(before) == set(news) - set(before)
    order = [(row["host"], row["url"]) for row in found.values()]
    assert order == sorted(order)
    assert {path.name for path in database.current().path.iterdir()} == {"part-00000.parquet", "_meta.json", ".in-use"}


def unsummed(database: Database) -> None:
    """Let parts be written over."""
    from dataclasses import replace

    with database.locked():
        database.amend(lambda meta: replace(meta, sums={}))


def test_an_error_in_the_policy_leaves_the_database(engine: DuckDBEngine, tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", URLS)
    before = database.current().path

    def broken(touched: Touched) -> Change:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run(engine, database, URLS, broken)
    assert database.current().path == before
    assert [path.name for path in (database.path / "generations").iterdir()] == [before.name]


def test_a_row_that_lacks_what_may_not_be_null_is_refused(engine: DuckDBEngine, tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", URLS)

    def careless(touched: Touched) -> Change:
        rows = whole(touched)
        return Change(rows.set_column(rows.column_names.index("score"), "score", pa.nulls(40, pa.float32())))

    def brief(touched: Touched) -> Change:
        nth = touched.news["nth"]
        return Change(whole(touched).slice(0, 0), patches=pa.table({"nth": nth, "score": pa.nulls(40, pa.float32())}))

    for policy in (careless, brief):
        with pytest.raises(ValueError, match="score"):
            run(engine, database, URLS, policy)
    assert len(read_db(database)) == 40


def test_parts_open_as_they_did(engine: DuckDBEngine, tmp_path: Path) -> None:
    """What is written says its table and version, and has plain columns."""
    database = make_crawldb(tmp_path / "crawldb", URLS)
    run(engine, database, URLS[:5], scored(3.0))
    with pq.ParquetFile(database.current().parts[0]) as file:
        assert file.schema_arrow.field("host").type == pa.string()
        assert file.metadata.metadata[b"nutchpy.table"] == b"crawldb"
        assert b"nutchpy.schema_version" in file.metadata.metadata
        group = file.metadata.row_group(0)
        hosts = group.column(file.schema_arrow.get_field_index("host")).statistics
        assert (hosts.min, hosts.max) == ("h0.test", "h9.test")


class Small(DuckDBEngine):
    """Says that it has little memory."""

    @property
    def memory(self) -> int:
        return 1_500_000


def test_one_huge_host_is_written_in_slices_and_rewritten_from_them(tmp_path: Path) -> None:
    urls = [f"http://huge.test/{n:05d}" for n in range(6_000)]
    database = make_crawldb(tmp_path / "crawldb", urls)
    engine = Small("256MB", 2, tmp_path / "spill")

    def policy(touched: Touched) -> Change:
        rows = whole(touched)
        return Change(rows.set_column(rows.column_names.index("retries"), "retries", pc.add(rows["retries"], 1)))

    for _ in range(2):
        assert run(engine, database, urls[::2], policy)
        parts = database.current().parts
        assert len(parts) >= 4
        assert database.current().bucket(0) == parts
        assert parts[0].name == "part-00000-00000.parquet"
    rows = read_db(database)
    assert len(rows) == 6_000
    assert {row["retries"] for row in rows.values()} == {0, 2}
    assert list(check_database(database.path)) == []
