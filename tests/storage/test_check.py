"""What doctor finds: each kind of harm done to a crawl, and nothing in one that is well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from nutchpy.storage import fs
from nutchpy.storage.check import Finding, check_crawl, damage_of
from nutchpy.storage.database import Database
from nutchpy.storage.parts import PartName, write_part
from nutchpy.storage.schema import TABLES
from nutchpy.storage.segment import Segment
from nutchpy.testing.crawls import (
    add_fetch,
    add_parse,
    add_part,
    make_crawldb,
    make_linkdb,
    make_segment,
    rows_of,
    sign,
)

URLS = [f"http://h{n}.test/" for n in range(50)]


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    database = make_crawldb(tmp_path / "crawldb", URLS, buckets=16)
    make_linkdb(tmp_path / "linkdb", [{"url": URLS[0], "inlinks": [{"from_url": URLS[1], "anchor": "a"}]}])
    segment = make_segment(tmp_path / "segments", [URLS[:2], URLS[2:3]], database)
    add_fetch(segment, URLS[:2], {URLS[0]: b"hi"})
    add_parse(segment, {URLS[0]: bytes(16)}, {URLS[0]: [URLS[1]]})
    return tmp_path


def found(crawl: Path) -> list[tuple[str, str]]:
    return [(one.severity, str(one.path.relative_to(crawl))) for one in check_crawl(crawl)]


def the_finding(crawl: Path) -> Finding:
    (finding,) = check_crawl(crawl)
    return finding


def crawldb(crawl: Path) -> Database:
    return Database(crawl / "crawldb", "crawldb")


def bucket(crawl: Path) -> Path:
    return crawldb(crawl).current().parts[0]


def segment_of(crawl: Path) -> Segment:
    return Segment(next((crawl / "segments").glob("2*")))


def test_a_crawl_that_is_well(crawl: Path) -> None:
    assert found(crawl) == []


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _flipped(data: bytes) -> bytes:
    return data[:40] + bytes(byte ^ 0xFF for byte in data[40:120]) + data[120:]


@pytest.mark.parametrize("harm", [_cut, _flipped, lambda data: b""], ids=["cut", "flipped", "empty"])
def test_a_damaged_part(crawl: Path, harm: Callable[[bytes], bytes]) -> None:
    for part in (bucket(crawl), segment_of(crawl).files("crawl_fetch")[0]):
        whole = part.read_bytes()
        part.write_bytes(harm(whole))
        damaged = [one for one in check_crawl(crawl) if one.severity == "damaged"]
        assert [one.path for one in damaged] == [part]
        assert str(part) in damaged[0].what
        assert damage_of(part, TABLES["crawldb"]) is not None
        part.write_bytes(whole)


def without_sums(crawl: Path) -> None:
    """What a part holds is looked at only when its bytes are those written."""
    database = Database(crawl / "crawldb", "crawldb")
    with database.locked():
        database.amend(lambda meta: replace(meta, sums={}))


def test_rows_out_of_order_or_twice(crawl: Path) -> None:
    without_sums(crawl)
    part = bucket(crawl)
    rows = pq.ParquetFile(part).read()
    assert rows.num_rows >= 2
    for order in ([1, 0], [0, 0]):
        write_part(part, TABLES["crawldb"], rows.take([*order, *range(2, rows.num_rows)]))
        sign(crawldb(crawl))
        assert the_finding(crawl).what.startswith("rows are not sorted by host and URL")


def test_a_part_that_is_whole_but_not_what_was_written(crawl: Path) -> None:
    part = bucket(crawl)
    pq.write_table(pq.ParquetFile(part).read(), part, compression="none")
    assert [one.path for one in check_crawl(crawl) if "checksum" in one.what] == [part]


def test_a_row_in_the_wrong_bucket_and_a_manifest_that_lies(crawl: Path) -> None:
    without_sums(crawl)
    first, second = Database(crawl / "crawldb", "crawldb").current().parts[:2]
    second.write_bytes(first.read_bytes())
    sign(crawldb(crawl))
    what = [one.what for one in check_crawl(crawl)]
    assert "belongs to another bucket" in what[0]
    assert "rows are said to be there" in what[1]


def test_a_meta_that_is_no_json(crawl: Path) -> None:
    (Database(crawl / "crawldb", "crawldb").current().path / "_meta.json").write_text("{")
    assert the_finding(crawl).severity == "damaged"


def test_a_link_that_is_lost_or_leads_nowhere(crawl: Path) -> None:
    current = crawl / "crawldb" / "current"
    aside = current.readlink()
    current.unlink()
    assert "its link current is lost" in the_finding(crawl).what
    current.symlink_to("generations/nowhere")
    assert "which is not there" in the_finding(crawl).what
    current.unlink()
    fs.remove(crawl / "crawldb" / aside)
    assert list(check_crawl(crawl)) == []  # of a database that was never published there is nothing to say


def test_a_part_that_is_gone(crawl: Path) -> None:
    part = bucket(crawl)
    part.unlink()
    assert Finding("damaged", part, "is not there any more") in list(check_crawl(crawl))


def test_a_segment_whose_meta_is_damaged_hides_no_other(crawl: Path) -> None:
    add_part(make_segment(crawl / "segments", URLS[:1]), "content", PartName(0, 0, 0), [URLS[0]])
    meta = segment_of(crawl).path / "_meta.json"
    meta.write_text("{}")
    assert [(one.severity, one.path == meta) for one in check_crawl(crawl)] == [("damaged", True), ("left over", False)]


def test_what_was_left_over(crawl: Path) -> None:
    segment = segment_of(crawl)
    add_part(segment, "content", PartName(0, 7, 7), [URLS[2]])
    left = [
        crawl / "crawldb" / "generations" / "_x",
        crawl / "crawldb" / "generations" / "20250101T000000-dead",
        segment.path / "crawl_fetch" / "_part-00000-00001.parquet.1.tmp",
        crawl / "segments" / "_2026.tmp",
        crawl / "segments" / "20260101000000",
    ]
    for path in left:
        path.mkdir()
    names = {str(path.relative_to(crawl)) for path in [*left, segment.path / "content" / "part-00000-00007.parquet"]}
    assert {path for _, path in found(crawl)} == names
    assert {severity for severity, _ in found(crawl)} == {"left over"}


def test_a_segment_that_another_stands_for_is_dead(crawl: Path) -> None:
    old = segment_of(crawl)
    new = make_segment(crawl / "segments", URLS[:1])
    fs.write_json(new.path / "_meta.json", {**vars(new.meta), "replaces": [old.meta.uuid]})
    assert found(crawl) == [("left over", str(old.path.relative_to(crawl)))]


def test_lists_missing_and_urls_twice(crawl: Path) -> None:
    segment = segment_of(crawl)
    fs.remove(segment.list_part(1))
    add_part(segment, "crawl_fetch", PartName(0, 1, 1), [URLS[0]])
    what = [one.what for one in check_crawl(crawl)]
    assert what == ["2 fetch lists are said to be there, 1 are", "1 rows are of URLs that have a row already"]


def test_a_part_older_than_a_column(crawl: Path) -> None:
    without_sums(crawl)
    part = bucket(crawl)
    rows = pq.ParquetFile(part).read()
    older = replace(TABLES["crawldb"], columns=tuple(c for c in TABLES["crawldb"].columns if c.name != "etag"))
    write_part(part, older, rows.drop_columns(["etag"]))
    sign(crawldb(crawl))
    assert the_finding(crawl).severity == "older"
    assert "etag" in the_finding(crawl).what
    assert rows_of("crawldb", [URLS[0]]).num_rows == 1
