"""Segments: names that only grow, creation as a whole, list locks, records of stages, sweeping after a kill."""

from __future__ import annotations

import json
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from nutchpy.core.errors import DamagedError, LockedError, MissingError
from nutchpy.storage.parts import PartName, write_part
from nutchpy.storage.schema import TABLES
from nutchpy.storage.segment import Segment, creating, next_name, segments_in, segments_lock, sweep
from nutchpy.testing.crawls import NOW, add_fetch, add_part, make_segment, rows_of

NAME = "20260301120000"


def test_names_are_utc_and_always_greater(tmp_path: Path) -> None:
    assert next_name(tmp_path, NOW) == NAME
    assert next_name(tmp_path, NOW.astimezone(timezone(timedelta(hours=9)))) == NAME
    make_segment(tmp_path, ["http://a.test/"], now=NOW)
    assert next_name(tmp_path, NOW) == "20260301120001"
    assert next_name(tmp_path, NOW - timedelta(days=400)) == "20260301120001"
    assert next_name(tmp_path, NOW, after="20261231235959") == "20270101000000"
    assert next_name(tmp_path / "nowhere", NOW) == NAME


def test_a_segment_appears_when_its_fetch_lists_are_whole(tmp_path: Path) -> None:
    with creating(tmp_path, NAME, "some-uuid", NOW) as draft:
        draft.lists = 2
        draft.stages["generate"] = {"state": "done"}
        for number in range(2):
            listed = rows_of("crawl_generate", [{"url": f"http://{number}.test/", "list": number}])
            write_part(draft.part_path(number), TABLES["crawl_generate"], listed)
        assert segments_in(tmp_path) == []
        assert not (tmp_path / NAME).exists()
    (segment,) = segments_in(tmp_path)
    meta = segment.meta
    assert (meta.name, meta.lists, meta.crawldb, meta.state("generate")) == (NAME, 2, "some-uuid", "done")
    assert datetime.fromisoformat(meta.created) == NOW
    assert [name for name, _ in segment.parts("crawl_generate")] == [PartName(0, 0, 0), PartName(1, 0, 0)]
    assert segment.list_part(1) == segment.files("crawl_generate")[1]


def test_a_creation_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), creating(tmp_path, NAME, None, NOW):
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


def test_what_a_killed_creation_left_is_replaced(tmp_path: Path) -> None:
    left = tmp_path / f"_{NAME}.tmp" / "crawl_generate" / "part-00000-00000.parquet"
    left.parent.mkdir(parents=True)
    left.touch()
    with creating(tmp_path, NAME, None, NOW):
        assert not left.exists()
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_every_reader_takes_a_partial_segment(tmp_path: Path) -> None:
    segment = make_segment(tmp_path, ["http://a.test/"])
    assert segment.parts("parse_data") == segment.files("crawl_fetch") == []
    assert segment.meta.state("fetch") is None


def test_what_is_no_segment_is_left_out(tmp_path: Path) -> None:
    make_segment(tmp_path, ["http://a.test/"])
    for name in ("20260301120001", "lost+found", "_20260301120002.tmp"):
        (tmp_path / name).mkdir()
    (tmp_path / "20260301120003").touch()
    assert [segment.name for segment in segments_in(tmp_path)] == [NAME]
    assert segments_in(tmp_path / "nowhere") == []


def test_errors_say_what_was_probably_meant(tmp_path: Path) -> None:
    segment = make_segment(tmp_path, ["http://a.test/"])
    with pytest.raises(MissingError, match="does not exist"):
        _ = Segment(tmp_path / "nowhere").meta
    with pytest.raises(MissingError, match=f"use -dir {tmp_path}"):
        _ = Segment(tmp_path).meta
    (segment.path / "_meta.json").write_text("{")
    with pytest.raises(DamagedError, match="not valid JSON"):
        _ = segment.meta


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"uuid": 1}, "uuid cannot be '1'"),
        ({"replaces": "x"}, "replaces cannot be"),
        ({"stages": {"fetch": "done"}}, "stages cannot be"),
        ({"crawldb": 3}, "crawldb cannot be"),
        ({"lists": True}, "lists cannot be"),
        ({"later": 1}, "it says later; a newer nutchpy may know that"),
    ],
)
def test_metadata_that_is_none_of_a_segment(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    segment = make_segment(tmp_path, ["http://a.test/"])
    path = segment.path / "_meta.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(DamagedError, match=why):
        _ = segment.meta


@pytest.mark.parametrize("text", ["{}", "[]", "null", '"x"'])
def test_metadata_that_says_nothing(tmp_path: Path, text: str) -> None:
    segment = make_segment(tmp_path, ["http://a.test/"])
    (segment.path / "_meta.json").write_text(text)
    with pytest.raises(DamagedError, match=r"_meta\.json does not describe a segment"):
        segments_in(tmp_path)


def test_records_lie_over_one_another(tmp_path: Path) -> None:
    segment = make_segment(tmp_path, ["http://a.test/"])
    segment.record("fetch", state="running", start="then")
    segment.record("parse", state="done")
    segment.record("fetch", state="done", pages=3)
    assert segment.meta.stages["fetch"] == {"state": "done", "start": "then", "pages": 3}
    assert segment.meta.state("parse") == "done"
    assert json.loads((segment.path / "_meta.json").read_text())["uuid"] == segment.meta.uuid


def test_records_at_the_same_moment_are_all_kept(tmp_path: Path) -> None:
    segment = make_segment(tmp_path, ["http://a.test/"])
    threads = [threading.Thread(target=segment.record, args=(f"stage{n}",), kwargs={"state": "done"}) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {f"stage{n}" for n in range(8)} <= set(segment.meta.stages)


def test_one_worker_a_list(tmp_path: Path) -> None:
    segment = make_segment(tmp_path, ["http://a.test/"])
    with segment.locked_list(0), segment.locked_list(1):
        with pytest.raises(LockedError, match="list 0 of"), segment.locked_list(0):
            pass
        with pytest.raises(LockedError, match="list 1 of"), segment.locked_list(1):
            pass
    with segment.locked_list(0):
        pass


def test_the_lock_of_all_segments(tmp_path: Path) -> None:
    with segments_lock(tmp_path / "segments"):
        with pytest.raises(LockedError, match="segments is locked by pid"), segments_lock(tmp_path / "segments"):
            pass
        assert segments_in(tmp_path / "segments") == []


def test_sweeping_a_list(tmp_path: Path) -> None:
    segment = make_segment(tmp_path, [["http://a.test/"], ["http://b.test/"]])
    for flush in range(3):
        add_fetch(segment, ["http://a.test/"], {"http://a.test/": b"a"}, flush=flush)
    add_fetch(segment, ["http://b.test/"], number=1)
    add_part(segment, "content", PartName(0, 0, 1), [{"url": "http://a.test/"}])
    add_part(segment, "crawl_fetch", PartName(0, 0, 1), ["http://a.test/"])
    for name in ("_part-00000-00003.parquet.77.tmp", "_part-00001-00001.parquet.77.tmp"):
        (segment.path / "crawl_fetch" / name).touch()
    sweep(segment, 0)
    kept = sorted(path.name for path in (segment.path / "crawl_fetch").iterdir())
    assert kept == [
        "_part-00001-00001.parquet.77.tmp",
        "part-00000-00000-00001.parquet",
        "part-00000-00002.parquet",
        "part-00001-00000.parquet",
    ]
    assert [name for name, _ in segment.parts("content")] == [PartName(0, 0, 1), PartName(0, 2, 2)]
    assert len(segment.parts("crawl_generate")) == 2
