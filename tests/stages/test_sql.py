"""sql: the views over a crawl that has been through three rounds, and what a statement may not do."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from nutchpy import open_crawl
from nutchpy.conf.layers import defaults
from nutchpy.core.errors import MissingError, UsageError
from nutchpy.engine.session import require_read_only
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.sql import SqlOptions, run
from nutchpy.stages.sql.crawl import Crawl
from nutchpy.storage.parts import PartName
from nutchpy.storage.runs import append_run
from nutchpy.storage.schema import SEGMENT_TABLES
from nutchpy.testing.crawls import NOW, add_fetch, add_parse, add_part, make_crawldb, make_linkdb, make_segment

A, B, C = (b"a" * 16), (b"b" * 16), (b"c" * 16)
DAY = timedelta(days=1)
T1 = datetime(2026, 3, 1, tzinfo=UTC)
HOME, NEWS, MOVED, LOST = (f"http://x.test/{name}" for name in ("", "news", "moved", "lost"))


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Three nights of a site: news changes then is unchanged by a 304, one page goes, one moves."""
    folder = tmp_path / "抓取 目录"
    make_crawldb(folder / "crawldb", [HOME, {"url": NEWS, "status": "db_notmodified"}, LOST, MOVED])
    make_linkdb(folder / "linkdb", [{"url": NEWS, "inlinks": [{"from_url": HOME, "anchor": "news"}]}])
    night(folder, T1, {HOME: A, NEWS: A, LOST: A, MOVED: A})
    night(folder, T1 + DAY, {HOME: A, NEWS: B}, gone=[LOST], moved=[MOVED])
    night(folder, T1 + 2 * DAY, {HOME: A}, unchanged=[NEWS], gone=[LOST], moved=[MOVED])
    append_run(folder, {"stage": "fetch", "start": "2026-03-01T00:00:00+00:00", "exit": 0, "counters": {"bytes": 5}})
    return folder


def night(folder, when, pages, unchanged=(), gone=(), moved=()):
    segment = make_segment(folder / "segments", [*pages, *unchanged, *gone, *moved], now=when)
    rows = [{"url": url, "fetch_time": when} for url in pages]
    rows += [{"url": url, "fetch_time": when, "status": "fetch_notmodified"} for url in unchanged]
    rows += [{"url": url, "fetch_time": when, "status": "fetch_gone"} for url in gone]
    rows += [{"url": u, "fetch_time": when, "status": "fetch_redir_perm", "redirect_to": HOME} for u in moved]
    add_fetch(segment, rows, content={url: signature * 2 for url, signature in pages.items()})
    add_parse(
        segment, signatures=pages, links={HOME: [{"url": NEWS, "anchor": "read"}]}, text=dict.fromkeys(pages, "words")
    )


def ask(crawl: Path, sql: str) -> list[dict]:
    with open_crawl(crawl) as opened:
        return opened.sql(sql).to_pylist()


def sql(crawl: Path, statement: str | None, **options) -> Outcome:
    given = SqlOptions.of(defaults(), statement=statement, dir=crawl, **options)
    return run(given, Context(defaults(), datetime.now(UTC)))


def test_every_view_answers(crawl: Path) -> None:
    tables = {row["name"] for row in ask(crawl, "show tables")}
    assert tables >= {"crawldb", "linkdb", "crawl_fetch", "content", "parse_data", "parse_text", "crawl_generate"}
    assert tables >= {"outlinks", "inlinks", "segments", "runs", "pages", "history"}
    for table in tables - {"attempts"}:  # only expire makes them
        assert ask(crawl, f"select count(*) as n from {table}")[0]["n"] > 0, table


def test_a_crawl_of_nothing_but_a_crawldb_has_every_view(tmp_path: Path) -> None:
    make_crawldb(tmp_path / "crawldb", [HOME])
    for table in ("linkdb", "crawl_fetch", "outlinks", "inlinks", "segments", "runs", "pages", "history", "parse_text"):
        assert ask(tmp_path, f"select count(*) as n from {table}") == [{"n": 0}]


def test_segment_views_say_the_segment(crawl: Path) -> None:
    names = sorted(path.name for path in (crawl / "segments").iterdir() if path.name.isdigit())
    assert [row["segment"] for row in ask(crawl, "select distinct segment from content order by 1")] == names


def test_pages_has_the_newest_body_across_a_304(crawl: Path) -> None:
    rows = {row["url"]: row for row in ask(crawl, "select * from pages")}
    assert set(rows) == {HOME, NEWS, LOST, MOVED}
    assert rows[NEWS]["content"] == B * 2
    assert rows[NEWS]["status"] == "db_notmodified"
    assert rows[NEWS]["text"] == "words"
    assert rows[HOME]["fetch_time"] == T1 + 2 * DAY


def test_history_tells_what_is_new_changed_and_gone(crawl: Path) -> None:
    rows = ask(crawl, "select url, event, changed from history order by url, fetch_time")
    events = {url: [(r["event"], r["changed"]) for r in rows if r["url"] == url] for url in (HOME, NEWS, LOST, MOVED)}
    assert events[HOME] == [("new", True), ("unchanged", False), ("unchanged", False)]
    assert events[NEWS] == [("new", True), ("changed", True), ("unchanged", False)]
    assert events[LOST] == [("new", True), ("gone", True), ("gone", False)]
    assert events[MOVED] == [("new", True), ("redirected", True), ("redirected", False)]


def test_a_page_that_comes_back_is_news(crawl: Path) -> None:
    night(crawl, T1 + 3 * DAY, {LOST: A})
    last = ask(crawl, f"select event, changed from history where url = '{LOST}' order by fetch_time desc limit 1")
    assert last == [{"event": "changed", "changed": True}]


def test_a_failure_is_no_news_and_an_unparsed_page_is_unknown(crawl: Path) -> None:
    segment = make_segment(crawl / "segments", [HOME, NEWS], now=T1 + 3 * DAY)
    when = T1 + 3 * DAY
    add_fetch(segment, [{"url": HOME, "fetch_time": when, "status": "fetch_retry"}, {"url": NEWS, "fetch_time": when}])
    rows = {r["url"]: r for r in ask(crawl, f"select * from history where segment = '{segment.name}'")}
    assert (rows[HOME]["event"], rows[HOME]["changed"]) == ("failed", False)
    assert (rows[NEWS]["event"], rows[NEWS]["changed"]) == ("unparsed", None)


def test_links_both_ways(crawl: Path) -> None:
    assert {(r["from_url"], r["to_url"], r["anchor"]) for r in ask(crawl, "select * from outlinks")} == {
        (HOME, NEWS, "read")
    }
    assert ask(crawl, "select to_url, from_url, anchor from inlinks") == [
        {"to_url": NEWS, "from_url": HOME, "anchor": "news"}
    ]


def test_runs_and_segments(crawl: Path) -> None:
    assert ask(crawl, "select stage, exit from runs") == [{"stage": "fetch", "exit": 0}]
    with (crawl / "runs.jsonl").open("a") as runs:
        runs.write('{"stage": "cut off')
    assert len(ask(crawl, "select * from runs")) == 1
    first = ask(crawl, "select generated, fetched, successes, parsed, fetch_state from segments order by segment")[0]
    assert first == {"generated": 4, "fetched": 4, "successes": 4, "parsed": 4, "fetch_state": "done"}


@pytest.mark.parametrize(
    "statement",
    [
        "copy (select 1) to '{crawl}/stolen.csv'",
        "explain analyze copy (select 1) to '{crawl}/stolen.csv'",
        "EXPLAIN  ANALYZE\ncopy (select 1) to '{crawl}/stolen.csv'",
        "attach '{crawl}/x.db'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "create table t as select 1",
        "select 1; select 2",
        "pragma database_list",
        "select * from read_text('/etc/hostname')",
        "select * from read_text('{crawl}/../secret')",
        "select * from glob('/etc/*')",
        "select * from '/etc/hostname'",
        "selec 1",
        "select nothing_like_it from crawldb",
    ],
)
def test_only_reading_the_crawl_is_let_through(crawl: Path, statement: str) -> None:
    (crawl.parent / "secret").write_text("x")
    before = sorted(crawl.rglob("*"))
    with pytest.raises(UsageError):
        ask(crawl, statement.format(crawl=crawl))
    assert sorted(crawl.rglob("*")) == before


READS = [
    "select 1",
    "from crawldb",
    "with x as (select 1) select * from x",
    "values (1)",
    "describe crawldb",
    "explain select 1",
    "explain analyze select 1",
    "show tables",
]


@pytest.mark.parametrize("statement", READS)
def test_statements_that_read_run(crawl: Path, statement: str) -> None:
    require_read_only(statement)
    assert ask(crawl, statement)


def test_unsafe_lifts_the_limits(crawl: Path, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a\n1\n")
    rows = list(sql(crawl, f"select * from '{tmp_path}/other.csv'", unsafe=True).lines)
    assert rows[2].strip() == "1"
    with pytest.raises(UsageError):
        sql(crawl, f"select * from '{tmp_path}/other.csv'")


def test_formats(crawl: Path, tmp_path: Path) -> None:
    query = f"select url, depth, null as n, signature from crawldb where url = '{HOME}'"
    assert list(sql(crawl, query, format="csv").lines) == ["url,depth,n,signature", f"{HOME},0,,"]
    assert [json.loads(line) for line in sql(crawl, query, format="json").lines] == [
        {"url": HOME, "depth": 0, "n": None, "signature": None}
    ]
    table = list(sql(crawl, "select '目录' as 名, 1 as two union all select 'ab\ncd', 22 order by two").lines)
    assert table == ["名     two", "-----  ---", "目录   1", "ab cd  22"]
    sql(crawl, "select * from crawldb", output=tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 4
    sql(crawl, "select url from crawldb order by 1", output=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[:2] == ["url", HOME]
    with pytest.raises(UsageError, match="-o FILE"):
        sql(crawl, query, format="parquet")


def test_statements_from_stdin(crawl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("select 1 as a;\nselect\n2 as b"))
    assert list(sql(crawl, None).lines) == ["a", "-", "1", "b", "-", "2"]


def test_the_script_opens_in_a_bare_duckdb(crawl: Path, tmp_path: Path) -> None:
    script = tmp_path / "views.sql"
    sql(crawl, None, init=script)
    shell = duckdb.connect()
    shell.execute(script.read_text(encoding="utf-8"))
    assert shell.sql("select count(*) from pages").fetchall() == [(4,)]
    assert shell.sql("select count(*) from crawldb where due_time <= now()").fetchall() == [(4,)]


def test_a_crawl_is_held_while_it_is_open(crawl: Path) -> None:
    with open_crawl(crawl) as opened:
        for n in range(3):
            make_crawldb(crawl / "crawldb", [f"http://new.test/{n}"])
        assert opened.sql("select count(*) as n from crawldb").to_pylist() == [{"n": 4}]
    assert ask(crawl, "select url from crawldb") == [{"url": "http://new.test/2"}]


def test_no_crawl_folder(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no crawl folder"):
        open_crawl(tmp_path / "nope")
    with pytest.raises(MissingError, match="not a crawl folder"):
        open_crawl(tmp_path)


def test_reading_needs_no_right_to_write(crawl: Path) -> None:
    crawl.chmod(0o555)
    try:
        assert ask(crawl, "select count(*) as n from pages") == [{"n": 4}]
    finally:
        crawl.chmod(0o755)


@pytest.mark.parametrize("table", SEGMENT_TABLES)
def test_a_single_query_opens_the_tables_it_names_and_those_behind_views(tmp_path: Path, table: str) -> None:
    """However a name is written; what it does not name may be empty."""
    segment = make_segment(tmp_path / "segments", ["http://a.test/"], make_crawldb(tmp_path / "crawldb"))
    row = {"url": "http://a.test/", **({"fetch_time": NOW, "status": "fetch_gone"} if table == "attempts" else {})}
    if table != "crawl_generate":  # which is there
        add_part(segment, table, PartName(0, 0, 0), [row])
    for name in (table, table.upper(), f'"{table}"'):
        with Crawl(tmp_path, query=f"select 1 from {name}") as crawl:
            assert crawl.sql(f"select count(*) as n from {table}").to_pylist() == [{"n": 1}]
    views = {"crawl_fetch": ["pages", "history"], "parse_data": ["outlinks", "pages"], "attempts": ["history"]}
    for view in views.get(table, []):
        with Crawl(tmp_path, query=f"SELECT * FROM {view.title()}") as crawl:
            assert crawl.sql(f"select count(*) as n from {table}").to_pylist() == [{"n": 1}]
