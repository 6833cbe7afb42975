"""snapshot: a copy that is a crawl, of one instant, whatever goes on meanwhile."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from nutchpy import open_crawl
from nutchpy.conf.layers import defaults
from nutchpy.core.errors import MissingError, UsageError
from nutchpy.stages.context import Context
from nutchpy.stages.expire import ExpireOptions
from nutchpy.stages.expire import run as expire
from nutchpy.stages.invertlinks import InvertlinksOptions
from nutchpy.stages.invertlinks import run as invertlinks
from nutchpy.stages.snapshot import SnapshotOptions
from nutchpy.stages.snapshot import run as snapshot
from nutchpy.stages.updatedb import UpdatedbOptions
from nutchpy.stages.updatedb import run as updatedb
from nutchpy.storage.check import check_crawl
from nutchpy.storage.database import Database
from nutchpy.storage.parts import PartName
from nutchpy.storage.runs import append_run, last_run
from nutchpy.storage.segment import Segment, segments_in
from nutchpy.testing.crawls import LATER, NOW, add_fetch, add_parse, add_part, make_crawldb, make_segment, read_db

URLS = [f"http://h{n}.test/" for n in range(40)]


def context(crawl: Path, days: int = 0) -> Context:
    return Context(defaults(), LATER + timedelta(days=days), crawl)


def round_of(crawl: Path, number: int, applied: bool = True) -> Segment:
    database = Database(crawl / "crawldb", "crawldb")
    now = NOW + timedelta(hours=number)
    segment = make_segment(crawl / "segments", URLS[:5], database, now)
    rows = [{"url": url, "fetch_time": now} for url in URLS[:5]]
    add_fetch(segment, rows, {u: {"content": b"%d" % number, "fetch_time": now} for u in URLS[:5]})
    add_parse(segment, {url: bytes(16) for url in URLS[:5]}, {URLS[0]: [f"http://new{number}.test/"]})
    segment.record("parse", state="done")
    if applied:
        apply(crawl, segment)
    return segment


def apply(crawl: Path, segment: Segment) -> None:
    ctx = context(crawl)
    updatedb(UpdatedbOptions.of(ctx.conf, crawldb=crawl / "crawldb", segments=(segment.path,)), ctx)
    invertlinks(InvertlinksOptions.of(ctx.conf, linkdb=crawl / "linkdb", segments=(segment.path,)), ctx)


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    path = tmp_path / "crawl"
    make_crawldb(path / "crawldb", URLS, buckets=16)
    round_of(path, 0)
    round_of(path, 1)
    append_run(path, {"stage": "updatedb"})
    (path / "conf").mkdir()
    (path / "conf" / "nutchpy-site.toml").write_text("[http]\n")
    return path


def asked(crawl: Path) -> list[object]:
    with open_crawl(crawl) as found:
        queries = (
            "crawldb order by url",
            "linkdb order by url",
            "history order by url, fetch_time",
            "pages order by url",
        )
        return [found.sql(f"select * from {query}").to_pylist() for query in queries]


def test_a_folder(crawl: Path, tmp_path: Path) -> None:
    before = asked(crawl)
    copy = tmp_path / "copy"
    outcome = snapshot(SnapshotOptions(crawl, copy), context(crawl))
    assert asked(copy) == before
    assert list(check_crawl(copy)) == []
    assert last_run(copy) == {"stage": "updatedb"}
    assert (copy / "conf" / "nutchpy-site.toml").read_text() == "[http]\n"
    assert outcome.counters["parts"] > 30
    round_of(copy, 9)
    assert asked(crawl) == before


def test_a_tar_stream(crawl: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nutchpy", "snapshot", str(crawl), "-"]
    done = subprocess.run(command, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        tar.extractall(tmp_path / "copy", filter="data")
    assert asked(tmp_path / "copy") == asked(crawl)
    assert list(check_crawl(tmp_path / "copy")) == []
    assert b"files" in done.stderr


def test_what_is_half_done_is_left_out_and_can_be_done_in_the_copy(crawl: Path, tmp_path: Path) -> None:
    segment = round_of(crawl, 2, applied=False)
    add_part(segment, "content", PartName(0, 1, 1), [URLS[9]])
    snapshot(SnapshotOptions(crawl, tmp_path / "copy"), context(crawl))
    copied = segments_in(tmp_path / "copy" / "segments")[-1]
    assert [str(name) for name, _ in copied.parts("content")] == ["part-00000-00000.parquet"]
    apply(tmp_path / "copy", copied)
    assert "http://new2.test/" in read_db(Database(tmp_path / "copy" / "crawldb", "crawldb"))
    assert "http://new2.test/" not in read_db(Database(crawl / "crawldb", "crawldb"))


def test_one_state_while_rounds_are_applied_and_expired(crawl: Path, tmp_path: Path) -> None:
    """Every copy is whole: what its crawldb has taken in of segments is what its linkdb and history can tell of."""
    (crawl / "segments" / ".in-use").touch()
    stop = threading.Event()
    failed: list[Exception] = []

    def work() -> None:
        number = 2
        try:
            while not stop.is_set():
                round_of(crawl, number)
                expire(ExpireOptions(crawl, max_bytes="20KB"), context(crawl, number))
                number += 1
        except Exception as error:  # noqa: BLE001  shown by the test's own thread
            failed.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for number in range(6):
            copy = tmp_path / f"copy{number}"
            snapshot(SnapshotOptions(crawl, copy), context(crawl))
            assert [one for one in check_crawl(copy) if one.severity != "left over"] == []
            with open_crawl(copy) as found:
                newest, attempts = (
                    found.sql(f"select max(fetch_time) as t from {name} where url = $url", url=URLS[0])["t"][0].as_py()
                    for name in ("crawldb", "history")
                )
                fetched = "select url from crawldb where fetch_time is not null"
                assert found.sql(f"{fetched} and url not in (select url from content)").num_rows == 0
            assert newest <= attempts
    finally:
        stop.set()
        worker.join()
    assert failed == []


def test_what_cannot_be_copied_and_where_not_to(crawl: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="already there"):
        snapshot(SnapshotOptions(crawl, crawl), context(crawl))
    with pytest.raises(MissingError):
        snapshot(SnapshotOptions(tmp_path / "none", tmp_path / "copy"), context(crawl))
    assert not (tmp_path / "copy").exists()


def test_expire_waits_for_readers_of_a_snapshot(crawl: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    snapshot(SnapshotOptions(crawl, copy), context(crawl))
    with open_crawl(copy) as found:
        expire(ExpireOptions(copy, keep_days=0), context(copy, days=30))
        assert found.sql("select count(*) as n from content").to_pylist() == [{"n": 10}]
