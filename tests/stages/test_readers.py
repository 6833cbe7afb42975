"""readdb, readseg and readlinkdb: what they print is what scripts written for Nutch look for."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import DamagedError, MissingError, UsageError
from nutchpy.stages import readdb, readlinkdb, readseg
from nutchpy.stages.context import Context, Outcome
from nutchpy.storage.database import Database
from nutchpy.testing.crawls import LATER, add_fetch, add_parse, make_crawldb, make_linkdb, make_segment

CTX = Context(defaults(), datetime.now(UTC))
ROOT, GONE, LATE = "http://a.test/", "http://b.test/gone", "http://b.test/late"


@pytest.fixture
def crawldb(tmp_path: Path) -> Path:
    rows: list[dict[str, Any]] = [
        {
            "url": ROOT,
            "status": "db_fetched",
            "score": 2.5,
            "fetch_interval": 3600,
            "due_time": datetime(2026, 1, 2, 3, 4, 55, tzinfo=UTC),
            "signature": bytes(range(16)),
            "metadata": {"tag": "x=y"},
        },
        {"url": GONE, "status": "db_gone", "score": 0.5, "retries": 2, "http_status": 404},
        {"url": LATE, "score": 0.25, "due_time": datetime(2026, 6, 1, tzinfo=UTC), "depth": 3},
    ]
    make_crawldb(tmp_path / "crawldb", rows, buckets=16)
    return tmp_path / "crawldb"


def read(crawldb: Path, **options: Any) -> Outcome:
    return readdb.run(readdb.ReadDbOptions.of(defaults(), crawldb=crawldb, **options), CTX)


def test_stats_have_nutch_labels(crawldb: Path) -> None:
    lines = list(read(crawldb, stats=True).lines)
    assert lines[1] == f"Statistics for CrawlDb: {crawldb}"
    assert lines[2:9] == [
        "TOTAL urls:\t3",
        "shortest fetch interval:\t01:00:00",
        "avg fetch interval:\t20 days, 00:20:00",
        "longest fetch interval:\t30 days, 00:00:00",
        "earliest fetch time:\t2026-01-02T03:04:00.000+0000",
        "avg of fetch times:\t2026-03-12T13:01:00.000+0000",
        "latest fetch time:\t2026-06-01T00:00:00.000+0000",
    ]
    assert lines[9:11] == ["retry 0:\t2", "retry 2:\t1"]
    assert "score quantile 0.5:\t0.5" in lines
    assert "max score:\t2.5" in lines
    assert lines[-4:] == [
        "status 1 (db_unfetched):\t1",
        "status 2 (db_fetched):\t1",
        "status 3 (db_gone):\t1",
        "CrawlDb statistics: done",
    ]


def test_stats_per_host(crawldb: Path) -> None:
    lines = list(read(crawldb, stats=True, sort=True).lines)
    assert lines[lines.index("status 3 (db_gone):\t1") + 1] == "   b.test :\t1"


def test_stats_of_an_empty_crawldb(tmp_path: Path) -> None:
    make_crawldb(tmp_path / "crawldb")
    lines = list(read(tmp_path / "crawldb", stats=True).lines)
    assert lines[2:] == ["TOTAL urls:\t0", "CrawlDb statistics: done"]


def test_one_url(crawldb: Path) -> None:
    lines = list(read(crawldb, url="HTTP://A.test").lines)
    assert lines[:5] == [
        f"URL: {ROOT}",
        "Status: 2 (db_fetched)",
        "Fetch time: 2026-01-02T03:04:55Z",
        "Modified time: null",
        "Retries since fetch: 0",
    ]
    assert "Retry interval: 3600 seconds (0 days)" in lines
    assert " \ttag=x=y" in lines
    assert read(crawldb, url=ROOT).data["metadata"] == {"tag": "x=y"}


def test_a_url_that_is_not_there(crawldb: Path) -> None:
    assert list(read(crawldb, url="http://no.test/").lines)[-1] == "not found"


def test_top(crawldb: Path, tmp_path: Path) -> None:
    assert list(read(crawldb, top_n=2).lines) == [f"2.5\t{ROOT}", f"0.5\t{GONE}"]
    read(crawldb, top_n=9, rest=(str(tmp_path / "top"), "0.4"))
    assert (tmp_path / "top" / "part-00000.txt").read_text() == f"2.5\t{ROOT}\n0.5\t{GONE}\n"


@pytest.mark.parametrize(
    ("selection", "found"),
    [
        ({}, {ROOT, GONE, LATE}),
        ({"status": "db_gone"}, {GONE}),
        ({"retry": 1}, {GONE}),
        ({"regex": r"http://b\.test/.*"}, {GONE, LATE}),
        ({"regex": r"b\.test"}, set()),
        ({"expr": "score > 0.3 and depth < 3"}, {ROOT, GONE}),
        ({"expr": "metadata['tag'] = 'x=y'"}, {ROOT}),
        ({"sample": 0.0}, set()),
        ({"sample": 1.0}, {ROOT, GONE, LATE}),
    ],
)
def test_dump_selects(crawldb: Path, tmp_path: Path, selection: dict[str, Any], found: set[str]) -> None:
    out = tmp_path / "out"
    read(crawldb, dump=out, format="json", **selection)
    rows = [json.loads(line) for line in (out / "part-00000.jsonl").read_text().splitlines()]
    assert {row["url"] for row in rows} == found


def test_dump_formats(crawldb: Path, tmp_path: Path) -> None:
    for form in ("normal", "csv", "json", "parquet"):
        read(crawldb, dump=tmp_path / form, format=form)
    assert pq.read_table(tmp_path / "parquet" / "part-00000.parquet").num_rows == 3
    with (tmp_path / "csv" / "part-00000.csv").open(newline="") as file:
        rows = {row["Url"]: row for row in csv.DictReader(file)}
    assert rows[ROOT]["Status name"] == "db_fetched"
    assert rows[ROOT]["Signature"] == bytes(range(16)).hex()
    assert rows[ROOT]["Metadata"] == "tag=x=y"
    assert rows[GONE]["http_status"] == "404"
    assert "Status: 3 (db_gone)" in (tmp_path / "normal" / "part-00000.txt").read_text()


def test_an_empty_parquet_dump_is_a_table(crawldb: Path, tmp_path: Path) -> None:
    read(crawldb, dump=tmp_path / "none", format="parquet", status="db_orphan")
    assert pq.read_table(tmp_path / "none" / "part-00000.parquet").num_rows == 0


def flipped(part: Path, every: int) -> Iterator[None]:
    """The part with one bit another, then another one, …; whole again in the end."""
    whole = part.read_bytes()
    for at in range(4, len(whole), every):
        part.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        yield
    part.write_bytes(whole)


def test_a_flipped_bit_is_told_whatever_is_asked(tmp_path: Path) -> None:
    make_crawldb(tmp_path / "crawldb", [{"url": ROOT, "etag": "an-etag", "metadata": {"k": "v"}}, GONE], 16)
    make_linkdb(tmp_path / "linkdb", [{"url": ROOT, "inlinks": [{"from_url": GONE, "anchor": ""}]}])
    database, linkdb = Database(tmp_path / "crawldb", "crawldb"), Database(tmp_path / "linkdb", "linkdb")
    (part,) = database.current().of_host("a.test")
    for number, _ in enumerate(flipped(part, 211)):
        for options in ({"url": ROOT}, {"stats": True}, {"top_n": 1}, {"dump": tmp_path / f"dump{number}"}):
            with pytest.raises(DamagedError, match=part.name):
                read(tmp_path / "crawldb", **options)
        read(tmp_path / "crawldb", url=GONE)
    (part,) = linkdb.current().parts
    for _ in flipped(part, 97):
        with pytest.raises(DamagedError, match=part.name):
            readlinkdb.run(readlinkdb.ReadLinkDbOptions(tmp_path / "linkdb", url=ROOT), CTX)
    assert read(tmp_path / "crawldb", url=ROOT).data["url"] == ROOT


def test_a_part_that_is_gone_is_told(tmp_path: Path) -> None:
    make_crawldb(tmp_path / "crawldb", [ROOT, GONE], 16)
    part = Database(tmp_path / "crawldb", "crawldb").current().parts[1]
    part.unlink()
    with pytest.raises(DamagedError, match=f"{part} is not there"):
        read(tmp_path / "crawldb", stats=True)


def test_dump_never_overwrites(crawldb: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match="not an empty folder"):
        read(crawldb, dump=tmp_path / "mine")
    with pytest.raises(UsageError):
        read(crawldb, dump=tmp_path / "broken", expr="nosuchcolumn > 1")
    with pytest.raises(UsageError, match="no condition"):
        read(crawldb, dump=tmp_path / "broken", expr="score")
    with pytest.raises(UsageError, match="not a regular expression"):
        read(crawldb, dump=tmp_path / "broken", regex="(")
    assert not (tmp_path / "broken").exists()


@pytest.mark.parametrize(
    "options",
    [{}, {"stats": True, "url": ROOT}, {"stats": True, "rest": ("x",)}, {"top_n": 1, "rest": ("o", "high")}],
)
def test_combinations_that_make_no_sense(crawldb: Path, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        read(crawldb, **options)


def test_wrong_status_and_missing_crawldb(crawldb: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="db_gone"):
        read(crawldb, dump=tmp_path / "o", status="gone")
    with pytest.raises(MissingError, match="does not exist"):
        read(tmp_path / "nope", stats=True)


# -- readseg


@pytest.fixture
def segments(tmp_path: Path) -> Path:
    """One segment that is whole, one that is only generated."""
    folder = tmp_path / "segments"
    whole = make_segment(folder, [ROOT, GONE])
    add_fetch(whole, [ROOT, {"url": GONE, "status": "fetch_gone"}], content={ROOT: "<p>h\xe9</p>".encode()})
    add_parse(whole, {ROOT: b"s" * 16}, {ROOT: [{"url": LATE, "anchor": "late"}]}, text={ROOT: "h\xe9"})
    make_segment(folder, [ROOT])
    return folder


def readsegment(*words: str, **options: Any) -> Outcome:
    return readseg.run(readseg.ReadSegOptions.of(defaults(), words=words, **options), CTX)


def test_list_takes_partial_segments(segments: Path) -> None:
    header, whole, bare = readsegment(list=True, dir=segments).lines
    assert header.split() == ["NAME", "GENERATED", "FETCHER", "START", "FETCHER", "END", "FETCHED", "PARSED"]
    start = LATER.strftime("%Y-%m-%dT%H:%M:%S")
    names = sorted(path.name for path in segments.iterdir() if path.name.isdigit())
    assert whole.split("\t") == [names[0], "2", start, start, "2", "1"]
    assert bare.split("\t") == [names[1], "1", "?", "?", "?", "?"]


def test_get(segments: Path) -> None:
    segment = str(min(path for path in segments.iterdir() if path.name.isdigit()))
    text = "\n".join(readsegment(segment, ROOT, get=True).lines)
    assert "Content:\n<p>h\xe9</p>" in text
    assert f"  outlink: toUrl: {LATE} anchor: late" in text
    assert "ParseText::\nh\xe9" in text
    assert "Content::" not in "\n".join(readsegment(segment, ROOT, get=True, nocontent=True).lines)
    data = readsegment(segment, ROOT, get=True).data
    assert data["crawl_parse"][0]["signature"] == (b"s" * 16).hex()
    assert "not in this segment" in next(iter(readsegment(segment, "http://no.test/", get=True).lines))


def test_dump_of_a_segment(segments: Path, tmp_path: Path) -> None:
    segment = str(min(path for path in segments.iterdir() if path.name.isdigit()))
    readsegment(segment, str(tmp_path / "out"), dump=True, nocontent=True)
    text = (tmp_path / "out" / "dump").read_text()
    assert text.count("Recno:: ") == 3
    assert text.index(f"URL:: {ROOT}") < text.index(f"URL:: {GONE}") < text.index(f"URL:: {LATE}")
    assert "Content::" not in text


def test_readseg_refuses(segments: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        readsegment(str(segments), list=True, get=True)
    with pytest.raises(MissingError, match="use -dir"):
        readsegment(str(segments), list=True)
    with pytest.raises(UsageError, match="no segments"):
        readsegment(list=True, dir=tmp_path / "none")


# -- readlinkdb


@pytest.fixture
def linkdb(tmp_path: Path) -> Path:
    links = [{"from_url": GONE, "anchor": "one"}, {"from_url": LATE, "anchor": ""}]
    make_linkdb(tmp_path / "linkdb", [{"url": ROOT, "inlinks": links}, {"url": LATE, "inlinks": links[:1]}])
    return tmp_path / "linkdb"


def readlinks(linkdb: Path, **options: Any) -> Outcome:
    return readlinkdb.run(readlinkdb.ReadLinkDbOptions.of(defaults(), linkdb=linkdb, **options), CTX)


def test_links_to_one_url(linkdb: Path) -> None:
    assert list(readlinks(linkdb, url=ROOT).lines) == [
        f"fromUrl: {GONE} anchor: one",
        f"fromUrl: {LATE} anchor: ",
    ]
    assert list(readlinks(linkdb, url="http://no.test/").lines) == ["http://no.test/: no link information"]


def test_linkdb_dump(linkdb: Path, tmp_path: Path) -> None:
    readlinks(linkdb, dump=tmp_path / "out", regex=".*late")
    assert (tmp_path / "out" / "part-00000.txt").read_text() == f"{LATE}\tInlinks:\n fromUrl: {GONE} anchor: one\n\n"
    with pytest.raises(UsageError):
        readlinks(linkdb)


def test_times_do_not_depend_on_the_zone(crawldb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    lines = list(read(crawldb, stats=True).lines)
    assert "earliest fetch time:\t2026-01-02T03:04:00.000+0000" in lines
    due = datetime.fromisoformat(read(crawldb, url=ROOT).data["fetchTime"])
    assert due - datetime(2026, 1, 2, 3, 4, 55, tzinfo=UTC) == timedelta(0)
