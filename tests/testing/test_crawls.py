"""The helper that makes crawls for tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from nutchpy.testing.crawls import (
    INTERVAL,
    LATER,
    NOW,
    add_fetch,
    add_parse,
    make_crawldb,
    make_linkdb,
    make_segment,
    read_db,
    read_table,
    rows_of,
    without_times,
)


def test_a_url_alone_is_a_whole_row(tmp_path: Path) -> None:
    row = read_db(make_crawldb(tmp_path / "crawldb", ["http://www.a.test/x"]))["http://www.a.test/x"]
    assert (row["host"], row["domain"], row["status"], row["due_time"]) == ("www.a.test", "a.test", "db_unfetched", NOW)
    assert (row["fetch_interval"], row["retries"], row["metadata"], row["signature"]) == (INTERVAL, 0, None, None)


@pytest.mark.parametrize("buckets", [1, 16])
def test_rows_lie_in_their_buckets(tmp_path: Path, buckets: int) -> None:
    urls = [f"http://h{n}.test/" for n in range(50)]
    database = make_crawldb(tmp_path / "crawldb", urls, buckets)
    assert sorted(read_db(database)) == sorted(urls)
    assert database.current().meta.buckets == buckets
    assert (len(database.current().parts) > 1) == (buckets > 1)


def test_a_key_that_is_no_column_is_refused() -> None:
    with pytest.raises(KeyError, match="crawldb has no column sigature"):
        rows_of("crawldb", [{"url": "http://a.test/", "sigature": b""}])


def test_a_segment_goes_through_its_stages(tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", ["http://a.test/"])
    segment = make_segment(tmp_path / "segments", ["http://a.test/"], database)
    assert segment.meta.crawldb == database.current().meta.uuid
    add_fetch(segment, [{"url": "http://a.test/", "status": "fetch_success"}], {"http://a.test/": b"hi"})
    add_parse(
        segment, {"http://a.test/": b"0" * 16}, {"http://a.test/": ["http://b.test/"]}, {"http://a.test/": {"k": "v"}}
    )
    fetched = read_table(segment, "crawl_fetch")[0]
    assert (fetched["protocol_status"], fetched["http_status"], fetched["fetch_time"]) == ("success", 200, LATER)
    assert read_table(segment, "content")[0]["content"] == b"hi"
    assert read_table(segment, "parse_data")[0]["outlinks"] == [{"url": "http://b.test/", "anchor": "", "rel": None}]
    assert {row["kind"] for row in read_table(segment, "crawl_parse")} == {"linked", "signature", "metadata"}
    assert segment.meta.state("fetch") == "done"


def test_several_lists(tmp_path: Path) -> None:
    segment = make_segment(tmp_path / "segments", [["http://a.test/"], ["http://b.test/", "http://c.test/"]])
    assert segment.meta.lists == 2
    assert [row["list"] for row in read_table(segment, "crawl_generate")] == [0, 1, 1]


def test_linkdb_and_comparison_without_times(tmp_path: Path) -> None:
    inlinks = [{"from_url": "http://b.test/", "anchor": "b"}]
    database = make_linkdb(tmp_path / "linkdb", [{"url": "http://a.test/", "inlinks": inlinks}])
    assert read_db(database)["http://a.test/"]["inlinks"] == inlinks
    rows = read_db(make_crawldb(tmp_path / "crawldb", ["http://a.test/"]))
    assert "due_time" not in without_times(rows)["http://a.test/"]
