"""expire: what goes, what stays and where, under each rule; and that nothing of a crawl's history is lost."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nutchpy import open_crawl
from nutchpy.conf.layers import defaults
from nutchpy.core.errors import LockedError, UsageError
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.expire import ExpireOptions, bytes_of
from nutchpy.stages.expire import run as expire
from nutchpy.stages.invertlinks import InvertlinksOptions
from nutchpy.stages.invertlinks import run as invertlinks
from nutchpy.stages.unfinished import unfinished_segments
from nutchpy.stages.updatedb import UpdatedbOptions
from nutchpy.stages.updatedb import run as updatedb
from nutchpy.storage.check import check_crawl
from nutchpy.storage.database import Database
from nutchpy.storage.segment import Segment, segments_in
from nutchpy.testing.crawls import NOW, add_fetch, add_parse, make_crawldb, make_segment, read_db, read_table

A, B, C, D = (f"http://{name}.test/" for name in "abcd")
DAY = timedelta(days=1)


def context(crawl: Path, now: datetime) -> Context:
    return Context(defaults(), now, crawl)


def night(
    crawl: Path, number: int, bodies: dict[str, bytes], gone: tuple[str, ...] = (), applied: bool = True
) -> Segment:
    """A round on one night: pages fetched with these bodies, pages gone."""
    database = Database(crawl / "crawldb", "crawldb")
    now = NOW + number * DAY
    segment = make_segment(crawl / "segments", [*bodies, *gone], database, now)
    prior = read_db(database)
    rows = [{"url": u, "fetch_time": now, "signature": prior[u]["signature"]} for u in bodies]
    rows += [{"url": u, "status": "fetch_gone", "fetch_time": now} for u in gone]
    add_fetch(segment, rows, {u: {"content": body, "fetch_time": now} for u, body in bodies.items()})
    signatures = {u: body.rjust(16)[:16] for u, body in bodies.items()}
    links = {u: [{"url": D, "anchor": f"{number}"}] for u in bodies}
    add_parse(segment, signatures, links, text={u: body.decode() for u, body in bodies.items()})
    segment.record("parse", state="done")
    if applied:
        ctx = context(crawl, now)
        updatedb(UpdatedbOptions.of(ctx.conf, crawldb=crawl / "crawldb", segments=(segment.path,)), ctx)
        invertlinks(InvertlinksOptions.of(ctx.conf, linkdb=crawl / "linkdb", segments=(segment.path,)), ctx)
    return segment


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Five nights. A changes each night, B was fetched on the first two, C was there once and then gone."""
    make_crawldb(tmp_path / "crawldb", [A, B, C])
    night(tmp_path, 0, {A: b"a0", B: b"b0", C: b"c0"})
    night(tmp_path, 1, {A: b"a1", B: b"b1"}, gone=(C,))
    for number in (2, 3, 4):
        night(tmp_path, number, {A: b"a%d" % number})
    return tmp_path


def run(crawl: Path, at: int = 5, **options: Any) -> Outcome:
    return expire(ExpireOptions(crawl, **options), context(crawl, NOW + at * DAY))


def bodies(crawl: Path) -> list[list[str]]:
    """What each segment's content holds."""
    return [
        sorted(row["content"].decode() for row in read_table(segment, "content"))
        for segment in segments_in(crawl / "segments")
    ]


def asked(crawl: Path, query: str) -> list[dict[str, Any]]:
    with open_crawl(crawl) as found:
        rows: list[dict[str, Any]] = found.sql(query).to_pylist()
        return rows


HISTORY = "select * from history order by url, fetch_time"
PAGES = "select * exclude (segment) from pages where content is not null order by url"


@contextmanager
def nothing_lost(crawl: Path) -> Iterator[None]:
    """History, crawldb, linkdb and the pages that live are as they were; the crawl is well and has nothing to do."""
    watched = [HISTORY, "select * from crawldb order by url", "select * from linkdb order by url"]
    before = [asked(crawl, query) for query in watched]
    pages = {row["url"]: row for row in asked(crawl, PAGES)}
    yield
    assert [asked(crawl, query) for query in watched] == before
    assert {row["url"]: row for row in asked(crawl, PAGES)} == {
        u: pages[u] for u in pages if u != C or C in _left(crawl)
    }
    assert list(check_crawl(crawl)) == []
    assert list(unfinished_segments(crawl, NOW + 5 * DAY, 100 * DAY)) == []


def _left(crawl: Path) -> set[str]:
    return {row["url"] for row in asked(crawl, "select url from content")}


def test_old_segments_go_and_leave_newest_bodies_and_history(crawl: Path) -> None:
    with nothing_lost(crawl):
        outcome = run(crawl, keep_days=2.5)
    assert bodies(crawl) == [["a3"], ["a4"], ["b1"]]
    assert len(asked(crawl, HISTORY)) == 9
    assert (outcome.counters["segments"], outcome.counters["bodies_moved"]) == (3, 1)
    assert outcome.counters["bytes_freed"] > 0
    compacted = segments_in(crawl / "segments")[-1]
    assert [row["text"] for row in read_table(compacted, "parse_text")] == ["b1"]
    assert [row["kind"] for row in read_table(compacted, "crawl_parse")] == ["signature"]
    names = sorted(path.name for path in (crawl / "segments").iterdir() if path.name[0] != ".")
    assert names == sorted(segment.name for segment in segments_in(crawl / "segments"))


def test_databases_forget_segments_deleted_and_know_the_compacted_one(crawl: Path) -> None:
    run(crawl, keep_days=2.5)
    live = {segment.meta.uuid for segment in segments_in(crawl / "segments")}
    for name in ("crawldb", "linkdb"):
        assert set(Database(crawl / name, name).current().meta.applied) == live
    ctx = context(crawl, NOW + 9 * DAY)
    outcome = updatedb(UpdatedbOptions.of(ctx.conf, crawldb=crawl / "crawldb", dir=crawl / "segments"), ctx)
    assert "nothing to apply" in outcome.summary[0]


def test_expiring_again_and_again(crawl: Path) -> None:
    """Compacted segments are compacted in turn when what they hold is superseded; disk use stays flat."""
    with nothing_lost(crawl):
        run(crawl, keep_days=2.5)
        run(crawl, keep_days=2.5)
    counts = []
    for number in range(5, 25):
        night(crawl, number, {A: b"a%d" % number, B: b"b%d" % number})
        with nothing_lost(crawl):
            run(crawl, at=number, keep_days=2.5)
        counts.append(sum(map(len, bodies(crawl))))
    assert max(counts) <= 8
    assert len(segments_in(crawl / "segments")) <= 12
    assert len(asked(crawl, HISTORY)) == 49


def test_disk_use_of_nightly_crawls_is_flat(tmp_path: Path) -> None:
    """Generations included: what grows is the memory of attempts alone, a few bytes each."""
    make_crawldb(tmp_path / "crawldb", [A, B, C])
    chance, sizes = random.Random(1), []
    for number in range(14):
        night(tmp_path, number, {url: chance.randbytes(30_000).hex().encode() for url in (A, B, C)})
        run(tmp_path, at=number, keep_days=2.5)
        files = {(path.stat().st_ino, path.stat().st_size) for path in tmp_path.rglob("*") if path.is_file()}
        sizes.append(sum(size for _, size in files))
    assert sizes[4] > 300_000
    assert max(sizes[4:]) < 1.25 * min(sizes[4:])


def test_versions(crawl: Path) -> None:
    with nothing_lost(crawl):
        run(crawl, keep_versions=2)
    assert sorted(body for held in bodies(crawl) for body in held) == ["a3", "a4", "b0", "b1", "c0"]
    with nothing_lost(crawl):
        run(crawl, keep_versions=1)
    assert sorted(body for held in bodies(crawl) for body in held) == ["a4", "b1", "c0"]


def test_only_bodies(crawl: Path) -> None:
    before = [segment.name for segment in segments_in(crawl / "segments")]
    with nothing_lost(crawl):
        outcome = run(crawl, keep_days=2.5, only="content")
    assert bodies(crawl) == [[], ["b1"], [], ["a3"], ["a4"]]
    assert [segment.name for segment in segments_in(crawl / "segments")] == before
    assert outcome.counters["bodies_pruned"] == 5
    assert asked(crawl, "select count(*) as n from parse_text")[0]["n"] == 8
    assert run(crawl, keep_days=2.5, only="content").counters["bodies_pruned"] == 0


def test_bytes(crawl: Path) -> None:
    with nothing_lost(crawl):
        assert run(crawl, max_bytes="1GB").counters["segments"] == 0
    with nothing_lost(crawl):
        assert run(crawl, max_bytes="1").counters["segments"] == 4
    assert bodies(crawl) == [["a4"], ["b1"]]


def test_a_dry_run_tells_and_does_nothing(crawl: Path) -> None:
    before = bodies(crawl)
    outcome = run(crawl, keep_days=2.5, dry_run=True)
    assert bodies(crawl) == before
    assert [line.split("\t")[0] for line in outcome.lines] == ["deleted"] * 3
    assert [row["kept"] for row in outcome.data["segments"]] == [0, 1, 0]
    assert "3 of 5 segments would be deleted" in outcome.summary[0]


def test_what_a_stage_still_needs_is_kept_and_named(crawl: Path) -> None:
    late = night(crawl, 5, {A: b"a5"}, applied=False)
    outcome = run(crawl, at=50, keep_days=1)
    assert late.path.exists()
    assert bodies(crawl) == [["a5"], ["b1"]]
    assert list(outcome.lines)[-1].startswith(f"kept: updatedb has not had all of it\t{late.path}")
    ctx = context(crawl, NOW + 50 * DAY)
    updatedb(UpdatedbOptions.of(ctx.conf, crawldb=crawl / "crawldb", segments=(late.path,)), ctx)
    assert "kept: invertlinks has" in list(run(crawl, at=50, keep_days=1).lines)[-1]


def test_readers_keep_the_files_until_they_end(crawl: Path) -> None:
    """A crawl opened before has the segments as they were; they are dead for whoever comes later, and go next time."""
    (crawl / "segments" / ".in-use").touch()
    with open_crawl(crawl) as found:
        before = found.sql("select count(*) as n from content")
        run(crawl, keep_days=2.5)
        assert found.sql("select count(*) as n from content") == before
        assert len(asked(crawl, HISTORY)) == 9
        with pytest.raises(LockedError, match="is being read"):
            run(crawl, keep_days=0.5, only="content")
    with nothing_lost(crawl):
        run(crawl, keep_days=1000)


@pytest.mark.parametrize(
    "options",
    [
        *({}, {"keep_days": 1, "max_bytes": "1"}, {"keep_versions": 0}, {"max_bytes": "much"}),
        *({"keep_days": days} for days in (-1, float("nan"), float("inf"), 1e10)),
    ],
)
def test_rules_that_make_no_sense(crawl: Path, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        run(crawl, **options)


@pytest.mark.parametrize(
    ("text", "size"), [("1000", 1000), ("10GB", 10**10), ("1.5 TiB", 3 << 39), ("2k", 2000), ("1MiB", 1 << 20)]
)
def test_sizes(text: str, size: int) -> None:
    assert bytes_of(text) == size
