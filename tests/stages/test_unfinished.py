"""unfinished: which segments a killed run left, and the stage each has before it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.stages.context import Context
from nutchpy.stages.unfinished import UnfinishedOptions, dedup_is_due, run, unfinished_segments
from nutchpy.storage.database import Database
from nutchpy.storage.runs import append_run
from nutchpy.storage.segment import Segment
from nutchpy.testing.crawls import LATER, NOW, add_fetch, add_parse, make_crawldb, make_linkdb, make_segment

A, B = "http://a.test/", "http://b.test/"
WEEK = timedelta(days=7)


def left(crawl: Path, now: datetime = LATER) -> list[tuple[str, str]]:
    return [(found.stage, found.segment.name) for found in unfinished_segments(crawl, now, WEEK)]


def apply(database: Database, segment: Segment, *tables: str, made_by: str = "updatedb") -> None:
    """Let a database say that it took these tables in."""
    with database.locked(), database.replacing(made_by, NOW, 0) as draft:
        for part in database.current().parts:
            draft.keep(part)
        for table in tables:
            names = [str(name) for name, _ in segment.parts(table)]
            draft.meta = draft.meta.with_applied(segment.meta.uuid, table, names)


def test_no_crawl_has_nothing_unfinished(tmp_path: Path) -> None:
    assert left(tmp_path / "nowhere") == []
    make_crawldb(tmp_path / "crawldb", [A])
    assert left(tmp_path) == []


def test_a_segment_goes_through_every_stage(tmp_path: Path) -> None:
    crawldb = make_crawldb(tmp_path / "crawldb", [A, B])
    linkdb = make_linkdb(tmp_path / "linkdb")
    segment = make_segment(tmp_path / "segments", [A, B], crawldb)
    assert left(tmp_path) == [("fetch", segment.name)]
    add_fetch(segment, [A], {A: b"x"}, state="interrupted")
    assert left(tmp_path) == [("fetch", segment.name)]
    add_fetch(segment, [B], {B: b"x"}, flush=1)
    add_parse(segment, links={A: [B]})
    assert left(tmp_path) == [("parse", segment.name)]
    add_parse(segment, links={B: [A]}, flush=1)
    assert left(tmp_path) == [("updatedb", segment.name)]
    apply(crawldb, segment, "crawl_fetch")
    assert left(tmp_path) == [("updatedb", segment.name)]
    apply(crawldb, segment, "crawl_parse")
    assert left(tmp_path) == [("invertlinks", segment.name)]
    apply(linkdb, segment, "parse_data", made_by="invertlinks")
    assert left(tmp_path) == []


def test_links_never_inverted_are_unfinished_without_a_linkdb(tmp_path: Path) -> None:
    crawldb = make_crawldb(tmp_path / "crawldb", [A])
    segment = make_segment(tmp_path / "segments", [A], crawldb)
    add_fetch(segment, [A], {A: b"x"})
    add_parse(segment, links={A: [B]})
    apply(crawldb, segment, "crawl_fetch", "crawl_parse")
    assert left(tmp_path) == [("invertlinks", segment.name)]


def test_oldest_come_first_and_the_expired_not_at_all(tmp_path: Path) -> None:
    crawldb = make_crawldb(tmp_path / "crawldb", [A, B])
    first = make_segment(tmp_path / "segments", [A], crawldb, NOW)
    second = make_segment(tmp_path / "segments", [B], crawldb, NOW + timedelta(days=1))
    assert left(tmp_path, NOW + timedelta(days=2)) == [("fetch", first.name), ("fetch", second.name)]
    assert left(tmp_path, NOW + timedelta(days=7)) == [("fetch", second.name)]


def test_segments_of_others_are_left_alone(tmp_path: Path) -> None:
    make_crawldb(tmp_path / "crawldb", [A])
    make_segment(tmp_path / "segments", [A])
    make_segment(tmp_path / "segments", [A], make_crawldb(tmp_path / "other", [A]), NOW + timedelta(days=1))
    assert left(tmp_path) == []


@pytest.mark.parametrize(("made_by", "due"), [("updatedb", True), ("dedup", False), ("inject", False)])
def test_dedup_is_due_after_updatedb_alone(tmp_path: Path, made_by: str, due: bool) -> None:
    crawldb = make_crawldb(tmp_path / "crawldb", [A])
    with crawldb.locked(), crawldb.replacing(made_by, NOW, 0) as draft:
        draft.meta = replace(draft.meta, rows=0)
    assert dedup_is_due(tmp_path) is due


@pytest.mark.parametrize(("exit_code", "hours", "due"), [(0, 1, False), (5, 1, True), (0, -1, True)])
def test_dedup_that_found_nothing_counts(tmp_path: Path, exit_code: int, hours: int, due: bool) -> None:
    crawldb = make_crawldb(tmp_path / "crawldb", [A])
    with crawldb.locked(), crawldb.replacing("updatedb", NOW, 0) as draft:
        draft.meta = replace(draft.meta, rows=0)
    start = (NOW + timedelta(hours=hours)).isoformat()
    append_run(tmp_path, {"stage": "dedup", "start": start, "exit": exit_code})
    assert dedup_is_due(tmp_path) is due


def test_dedup_is_not_due_without_a_crawldb(tmp_path: Path) -> None:
    assert not dedup_is_due(tmp_path)


def test_segments_alone_for_scripts(tmp_path: Path) -> None:
    crawldb = make_crawldb(tmp_path / "crawldb", [A])
    segment = make_segment(tmp_path / "segments", [A], crawldb)
    with crawldb.locked(), crawldb.replacing("updatedb", NOW, 0) as draft:
        draft.meta = replace(draft.meta, rows=0)
    ctx = Context(defaults(), LATER)
    assert list(run(UnfinishedOptions(tmp_path), ctx).lines) == [
        f"fetch\t{segment.path}",
        f"dedup\t{tmp_path}/crawldb",
    ]
    assert list(run(UnfinishedOptions(tmp_path, segments=True), ctx).lines) == [str(segment.path)]
