"""The DuckDB engine: relations in, batches and parts out, expressions checked, damage named."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nutchpy.core.errors import DamagedError, EngineError, StorageError, UsageError
from nutchpy.engine.base import Files
from nutchpy.engine.duckdb import DuckDBEngine
from nutchpy.storage.parts import check_part, write_part
from nutchpy.storage.schema import TABLES
from nutchpy.testing.crawls import NOW, rows_of

CRAWLDB = TABLES["crawldb"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> DuckDBEngine:
    return DuckDBEngine("500MB", 2, tmp_path_factory.mktemp("engine") / "spill")


@pytest.fixture
def part(tmp_path: Path) -> Path:
    rows = [{"url": f"http://a.test/{n}", "score": n / 4, "metadata": {"k": str(n)}} for n in range(10)]
    return write_part(tmp_path / "part-00000.parquet", CRAWLDB, rows_of("crawldb", rows))


def numbers(engine: DuckDBEngine, sql: str, inputs: Any, **params: Any) -> list[Any]:
    return list(engine.table(sql, inputs, params).column(0).to_pylist())


# -- reading


def test_files_and_tables_are_relations(engine: DuckDBEngine, part: Path) -> None:
    wanted = pa.table({"url": ["http://a.test/3", "http://a.test/7", "http://b.test/"]})
    sql = "select score from crawldb join wanted using (url) where score > $least order by score"
    inputs = {"crawldb": Files(CRAWLDB, [part]), "wanted": wanted}
    assert numbers(engine, sql, inputs, least=0.0) == [0.75, 1.75]
    assert numbers(engine, sql, inputs, least=1.0) == [1.75]


def test_no_files_are_an_empty_relation_of_that_table(engine: DuckDBEngine) -> None:
    table = engine.table("select * from crawldb", {"crawldb": Files(CRAWLDB, [])})
    assert (table.num_rows, table.column_names) == (0, CRAWLDB.schema.names)
    assert engine.table("select path from crawldb", {"crawldb": Files(CRAWLDB, [], with_path=True)}).num_rows == 0


@pytest.mark.parametrize("folder", ["抓取 目录", "it's", 'a"b', "a[1]*?"])
def test_any_folder_name_will_do(engine: DuckDBEngine, tmp_path: Path, folder: str) -> None:
    path = write_part(tmp_path / folder / "part-00000.parquet", CRAWLDB, rows_of("crawldb", ["http://a.test/"]))
    inputs = {"crawldb": Files(CRAWLDB, [path], with_path=True)}
    assert numbers(engine, "select path from crawldb", inputs) == [str(path)]
    out = path.with_name("part-00001.parquet")
    assert engine.write("select * from crawldb", {"crawldb": Files(CRAWLDB, [path])}, None, out, CRAWLDB) == 1
    assert check_part(out, CRAWLDB) == 1


def test_rows_come_in_batches_while_other_statements_run(engine: DuckDBEngine) -> None:
    batches = engine.read("select n from range(300000) as r(n)", {})
    first = next(batches)
    assert first.num_rows <= 65_536
    assert numbers(engine, "select count(*) from range(5)", {}) == [5]
    assert first.num_rows + sum(batch.num_rows for batch in batches) == 300_000


def test_a_reader_given_up_does_no_harm(engine: DuckDBEngine) -> None:
    batches = engine.read("select n from range(300000) as r(n)", {})
    assert isinstance(batches, Iterator)
    next(batches)
    del batches
    assert numbers(engine, "select 1", {}) == [1]


def test_statements_do_not_see_each_others_relations(engine: DuckDBEngine, part: Path) -> None:
    assert numbers(engine, "select count(*) from crawldb", {"crawldb": Files(CRAWLDB, [part])}) == [10]
    with pytest.raises(EngineError, match="crawldb"):
        engine.table("select count(*) from crawldb", {})


def test_times_are_utc_whatever_the_zone_of_a_parameter(engine: DuckDBEngine, part: Path) -> None:
    sql = "select count(*) from crawldb where due_time <= $now"
    inputs = {"crawldb": Files(CRAWLDB, [part])}
    east = timezone(timedelta(hours=8))
    assert numbers(engine, sql, inputs, now=NOW.astimezone(east)) == [10]
    assert numbers(engine, sql, inputs, now=NOW - timedelta(microseconds=1)) == [0]
    assert numbers(engine, "select $now", {}, now=NOW.astimezone(east)) == [NOW]
    assert numbers(engine, "select date_part('hour', $now)", {}, now=datetime(2026, 1, 1, 5, tzinfo=UTC)) == [5]


# -- writing


def test_a_written_part_is_of_the_declared_schema(engine: DuckDBEngine, part: Path, tmp_path: Path) -> None:
    out = tmp_path / "part-00001.parquet"
    sql = "select *, sum(score) over () as extra from crawldb order by url desc"
    assert engine.write(sql, {"crawldb": Files(CRAWLDB, [part])}, {}, out, CRAWLDB) == 10
    assert check_part(out, CRAWLDB) == 10
    with pq.ParquetFile(out) as file:
        assert file.metadata.metadata[b"nutchpy.table"] == b"crawldb"
        assert file.metadata.row_group(0).column(0).compression == "ZSTD"
        rows = file.read().to_pylist()
    assert [row["url"] for row in rows] == [f"http://a.test/{n}" for n in range(9, -1, -1)]
    assert rows[0]["metadata"] == [("k", "9")]


def test_types_that_drift_are_brought_back(engine: DuckDBEngine, tmp_path: Path) -> None:
    out = tmp_path / "part-00000.parquet"
    feed = rows_of("crawl_parse", [{"url": "http://a.test/", "score": 0.5, "signature": b"s" * 16}])
    sql = "select * replace (score * 2.0::double as score, cast(bucket_key as bigint) as bucket_key) from feed"
    engine.write(sql, {"feed": feed}, {}, out, TABLES["crawl_parse"])
    assert check_part(out, TABLES["crawl_parse"]) == 1


def test_no_rows_no_file(engine: DuckDBEngine, part: Path, tmp_path: Path) -> None:
    out = tmp_path / "part-00001.parquet"
    sql = "select * from crawldb where score < $least"
    assert engine.write(sql, {"crawldb": Files(CRAWLDB, [part])}, {"least": 0.0}, out, CRAWLDB) == 0
    assert not out.exists()


def test_row_groups_are_of_the_tables_size(engine: DuckDBEngine, tmp_path: Path) -> None:
    out = tmp_path / "part-00000.parquet"
    texts = pa.table({"url": [f"http://a.test/{n}" for n in range(40_000)], "text": ["x"] * 40_000})
    engine.write("select * from texts", {"texts": texts}, {}, out, TABLES["parse_text"])
    with pq.ParquetFile(out) as file:
        assert file.num_row_groups > 3


def test_a_column_too_few(engine: DuckDBEngine, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="text"):
        engine.write("select 'x' as url", {}, {}, tmp_path / "part-00000.parquet", TABLES["parse_text"])


def test_where_nothing_can_be_written(engine: DuckDBEngine, tmp_path: Path) -> None:
    out = tmp_path / "nowhere" / "part-00000.parquet"
    with pytest.raises(StorageError, match="nowhere"):
        engine.write("select 'x' as url, 'y' as text", {}, {}, out, TABLES["parse_text"])


def test_too_little_memory_names_the_setting(tmp_path: Path) -> None:
    small = DuckDBEngine("20MB", 1, tmp_path / "spill")
    with pytest.raises(EngineError, match=r"db\.memory\.limit"):
        small.table("select list(md5(cast(n as varchar))) from range(2000000) as r(n)", {})


# -- damage


def _cut(part: Path) -> None:
    part.write_bytes(part.read_bytes()[:-200])


def _empty(part: Path) -> None:
    part.write_bytes(b"")


def _no_parquet(part: Path) -> None:
    part.write_text("<html>404</html>" * 10)


def _bad_page(part: Path) -> None:
    data = bytearray(part.read_bytes())
    data[4:200] = b"\xff" * 196
    part.write_bytes(bytes(data))


def _missing(part: Path) -> None:
    part.unlink()


def _other_schema(part: Path) -> None:
    pq.write_table(pa.table({"url": [1, 2]}), part)


@pytest.mark.parametrize("damage", [_cut, _empty, _no_parquet, _bad_page, _missing, _other_schema])
def test_a_damaged_part_is_named(engine: DuckDBEngine, part: Path, tmp_path: Path, damage: Any) -> None:
    good = write_part(tmp_path / "part-00001.parquet", CRAWLDB, rows_of("crawldb", ["http://b.test/"]))
    damage(part)
    inputs = {"crawldb": Files(CRAWLDB, [good, part])}
    with pytest.raises(DamagedError, match=r"part-00000\.parquet") as error:
        engine.table("select * from crawldb where score >= 0", inputs)
    assert error.value.exit_code == 4
    with pytest.raises(DamagedError, match=r"part-00000\.parquet"):
        engine.write("select * from crawldb where score >= 0", inputs, {}, tmp_path / "out.parquet", CRAWLDB)


def test_a_wrong_statement_is_not_taken_for_damage(engine: DuckDBEngine, part: Path) -> None:
    inputs = {"crawldb": Files(CRAWLDB, [part])}
    for sql in ("select nothing from crawldb", "selec 1", "select cast(url as integer) from crawldb"):
        with pytest.raises(EngineError):
            engine.table(sql, inputs)


# -- expressions


@pytest.mark.parametrize(
    "text",
    [
        "score > 0.1 and depth < 3",
        "url like '%/docs/%' or host in ('a.test', 'b.test')",
        "metadata['k'] = '1' -- a comment",
        "case when score is null then true else retries = 0 end",
        "regexp_matches(url, '^https?://[^/]+/$')",
        "'a;b' <> url",
        "due_time <= now() - 3 * interval '1' day",
    ],
)
def test_expressions(engine: DuckDBEngine, part: Path, text: str) -> None:
    checked = engine.expression(text, CRAWLDB)
    engine.table(f"select * from crawldb where {checked} and true", {"crawldb": Files(CRAWLDB, [part])})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "score >",
        "score > 1; drop table x",
        "score > 1) or (1 = 1",
        "score > (select max(score) from crawldb)",
        "exists (select 1)",
        "url in (select url from crawldb)",
        "beauty > 1",
        "*",
        "score, depth",
        "score from crawldb",
        "read_text('/etc/passwd') is not null",
        "row_number() over () > 1",
        "score > $x",
        "score > ?",
        "sum(score) > 1",
        "1 union select 2",
        "score > 1 limit 1",
        "unnest([1, 2]) > 1",
        "score as x",
    ],
)
def test_what_is_no_expression(engine: DuckDBEngine, text: str) -> None:
    with pytest.raises(UsageError) as error:
        engine.expression(text, CRAWLDB)
    assert repr(text) in str(error.value)


def test_the_position_of_a_mistake_is_said(engine: DuckDBEngine) -> None:
    with pytest.raises(UsageError, match="at character 7"):
        engine.expression("score ) 1", CRAWLDB)
    with pytest.raises(UsageError, match="subquery .at character 9"):
        engine.expression("score > (select 1)", CRAWLDB)
