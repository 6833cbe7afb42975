"""parse: what of a segment is parsed, what it leaves, and that it can be interrupted and killed."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nutchpy.conf.layers import Value, defaults
from nutchpy.core.errors import DamagedError, LockedError, MissingError, UsageError
from nutchpy.stages.context import Context, Outcome, Stop
from nutchpy.stages.parse import ParseOptions
from nutchpy.stages.runner import run_stage
from nutchpy.storage.parts import PartName, check_part
from nutchpy.storage.schema import TABLES
from nutchpy.storage.segment import Segment
from nutchpy.testing.crawls import LATER, add_fetch, add_part, make_segment, read_table

PLAIN: dict[str, Value] = {"urlfilter.order": [], "urlnormalizer.order": [], "parse.workers": 1}
A, B, C = "http://a.test/", "http://b.test/", "http://c.test/x"
HTML = b"<title>T</title><a href=/x>X</a><a href=http://c.test/x>C</a>"
PARSE_TABLES = ("parse_text", "parse_data", "crawl_parse")


def parse(
    segment: Segment, settings: Mapping[str, Value] | None = None, stop: Stop | None = None, **options: Any
) -> Outcome:
    conf = defaults().with_values(PLAIN | dict(settings or {}))
    ctx = Context(conf, LATER, segment.path.parents[1], stop=stop or Stop())
    return run_stage("parse", ParseOptions(segment.path, **options), ctx)


def fetched(crawl: Path, bodies: Mapping[str, bytes | Mapping[str, Any]], **row: Any) -> Segment:
    segment = make_segment(crawl / "segments", list(bodies))
    add_fetch(segment, [{"url": url, "score": 2.0, "depth": 1, **row} for url in bodies], content=bodies)
    return segment


def tables(segment: Segment) -> dict[str, list[dict[str, Any]]]:
    return {name: read_table(segment, name) for name in PARSE_TABLES}


def test_pages_become_rows_of_three_tables(tmp_path: Path) -> None:
    segment = fetched(tmp_path, {A: HTML, B: b"<p>words"})
    outcome = parse(segment)
    assert outcome.exit_code == 0
    assert dict(outcome.counters) == {"parsed:success": 2, "outlinks": 2}
    assert outcome.summary == ["2 pages parsed: success 2; 2 outlinks kept"]
    found = tables(segment)
    assert found["parse_text"] == [{"url": A, "text": "T\nXC"}, {"url": B, "text": "words"}]
    assert [(row["url"], row["parse_status"], row["title"]) for row in found["parse_data"]] == [
        (A, "success", "T"),
        (B, "success", ""),
    ]
    assert found["parse_data"][0]["outlinks"] == [
        {"url": A + "x", "anchor": "X", "rel": None},
        {"url": C, "anchor": "C", "rel": None},
    ]
    feed = {(row["kind"], row["url"]): row for row in found["crawl_parse"]}
    assert set(feed) == {("signature", A), ("signature", B), ("linked", A + "x"), ("linked", C)}
    assert feed["signature", A]["signature"] == hashlib.md5(HTML).digest()
    assert (feed["linked", C]["score"], feed["linked", C]["depth"], feed["linked", C]["host"]) == (1.0, 2, "c.test")
    keys = [row["bucket_key"] for row in found["crawl_parse"]]
    assert keys == sorted(keys)
    assert segment.meta.state("parse") == "done"
    for name in PARSE_TABLES:
        [path] = segment.files(name)
        assert path.name == "part-00000-00000.parquet"
        check_part(path, TABLES[name])


def test_only_successes_are_parsed(tmp_path: Path) -> None:
    segment = make_segment(tmp_path / "segments", [A, B, C])
    rows = [{"url": A, "status": "fetch_redir_temp"}, {"url": B}, C, {"url": "http://d.test/", "status": "fetch_gone"}]
    add_fetch(segment, rows, content={A: HTML, B: HTML})
    outcome = parse(segment)
    assert [row["url"] for row in tables(segment)["parse_data"]] == [B]
    assert outcome.counters["skipped:fetch_redir_temp"] == 1
    assert outcome.counters["skipped:no_content"] == 1


def test_truncated_pages_leave_a_row_and_tell_the_crawldb_nothing(tmp_path: Path) -> None:
    segment = fetched(tmp_path, {A: {"content": HTML, "truncated": "length"}, B: HTML})
    outcome = parse(segment)
    found = tables(segment)
    assert outcome.counters["parsed:truncated"] == 1
    assert [row["parse_status"] for row in found["parse_data"]] == ["truncated", "success"]
    assert [row["url"] for row in found["parse_text"]] == [B]
    assert A not in [row["url"] for row in found["crawl_parse"] if row["kind"] == "signature"]


def test_what_cannot_be_parsed_has_a_signature(tmp_path: Path) -> None:
    segment = fetched(tmp_path, {A: {"content": b"\x89PNG", "content_type": "image/png"}})
    parse(segment)
    found = tables(segment)
    assert [(row["parse_status"], row["message"]) for row in found["parse_data"]] == [
        ("no_parser", "no parser for image/png")
    ]
    assert [(row["kind"], row["url"]) for row in found["crawl_parse"]] == [("signature", A)]
    assert found["parse_text"] == []


def test_headers_base_and_type_come_from_the_content_row(tmp_path: Path) -> None:
    row = {
        "content": "Wörter http://c.test/x".encode("latin-1"),
        "content_type": "text/plain",
        "headers": [{"name": "Content-Type", "value": "text/plain;charset=latin1"}],
    }
    moved = {"content": b"<a href=y>", "base_url": "http://other.test/z/"}
    segment = fetched(tmp_path, {A: row, B: moved})
    parse(segment)
    found = tables(segment)
    assert found["parse_text"][0]["text"] == "Wörter http://c.test/x"
    assert found["parse_data"][0]["charset"] == "windows-1252"
    assert found["parse_data"][1]["outlinks"][0]["url"] == "http://other.test/z/y"


def test_every_fetched_part_gets_its_twin_and_parsing_again_does_nothing(tmp_path: Path) -> None:
    segment = make_segment(tmp_path / "segments", [[A, B], [C]])
    add_fetch(segment, [A], content={A: HTML}, flush=0)
    add_fetch(segment, [{"url": B, "status": "fetch_gone"}], flush=1)
    add_fetch(segment, [C], content={C: HTML}, number=1)
    parse(segment)
    names = [PartName(0, 0, 0), PartName(0, 1, 1), PartName(1, 0, 0)]
    for table in PARSE_TABLES:
        assert [name for name, _ in segment.parts(table)] == names
    before = {path: path.stat().st_mtime_ns for table in PARSE_TABLES for path in segment.files(table)}
    outcome = parse(segment)
    assert (outcome.exit_code, dict(outcome.counters)) == (0, {})
    assert outcome.summary == [f"{segment.path} has been parsed already"]
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_parts_that_come_later_are_parsed_then(tmp_path: Path) -> None:
    segment = make_segment(tmp_path / "segments", [A, B])
    assert parse(segment).summary == [f"{segment.path} has no fetched pages"]
    add_fetch(segment, [A], content={A: HTML}, state="interrupted")
    parse(segment)
    add_fetch(segment, [B], content={B: HTML}, flush=1)
    assert dict(parse(segment).counters) == {"parsed:success": 1, "outlinks": 2}
    assert [row["url"] for row in tables(segment)["parse_data"]] == [A, B]


def test_options_turn_filters_and_normalizers_off(tmp_path: Path) -> None:
    settings: dict[str, Value] = {
        "urlfilter.order": ["prefix"],
        "urlfilter.prefix.rules": "http://a.test/",
        "urlnormalizer.order": ["slash"],
        "urlnormalizer.slashes.rules": "a.test +",
    }

    def links(name: str, **options: Any) -> list[str]:
        segment = fetched(tmp_path / name, {A: HTML})
        parse(segment, settings, **options)
        return [link["url"] for link in tables(segment)["parse_data"][0]["outlinks"]]

    assert links("both") == [A + "x/"]
    assert links("nofilter", filter=False) == [A + "x/", C]
    assert links("nonormalize", normalize=False) == [A + "x"]


def test_text_is_stored_by_setting(tmp_path: Path) -> None:
    segment = fetched(tmp_path, {A: HTML})
    parse(segment, {"parser.store.text": False})
    assert tables(segment)["parse_text"] == []
    assert segment.parts("parse_text")


def test_many_row_groups_over_several_workers_keep_their_order(tmp_path: Path) -> None:
    urls = [f"http://h{number % 7}.test/{number}" for number in range(2_500)]
    segment = fetched(tmp_path, {url: f"<p>{url}<a href=/>r</a>".encode() for url in urls})
    outcome = parse(segment, {"parse.workers": 3})
    assert outcome.counters["parsed:success"] == 2_500
    found = tables(segment)
    assert [row["url"] for row in found["parse_text"]] == urls
    assert all(row["text"].startswith(row["url"]) for row in found["parse_text"])
    assert len(found["crawl_parse"]) == 5_000


def test_a_list_that_is_being_fetched_is_locked(tmp_path: Path) -> None:
    segment = fetched(tmp_path, {A: HTML})
    with segment.locked_list(0), pytest.raises(LockedError, match=str(os.getpid())):
        parse(segment)
    assert parse(segment).exit_code == 0


def test_not_a_segment(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="not a segment"):
        parse(Segment(tmp_path / "segments" / "20260101000000"))


def test_a_damaged_part_is_named_and_nothing_is_published_of_it(tmp_path: Path) -> None:
    segment = make_segment(tmp_path / "segments", [A, B])
    add_fetch(segment, [A], content={A: HTML})
    add_fetch(segment, [B], content={B: HTML * 1_000}, flush=1)
    [_, damaged] = segment.files("content")
    data = bytearray(damaged.read_bytes())
    data[4:200] = bytes(196)
    damaged.write_bytes(data)
    with pytest.raises(DamagedError, match=damaged.name):
        parse(segment)
    assert PartName(0, 1, 1) not in [name for name, _ in segment.parts("crawl_parse")]
    assert not [path for path in segment.path.rglob("_*") if path.name != "_meta.json"]


def test_a_setting_that_cannot_be_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    segment = fetched(tmp_path, {A: HTML})
    with pytest.raises(Exception, match="neko") as caught:
        parse(segment, {"parser.html.impl": "neko"})
    assert caught.value.exit_code == 2  # type: ignore[attr-defined]
    assert not segment.parts("crawl_parse")


def test_a_signal_ends_it_between_parts_and_it_goes_on_later(tmp_path: Path) -> None:
    segment = fetched(tmp_path, {A: HTML})
    stop = Stop()
    stop.set("SIGTERM")
    outcome = parse(segment, stop=stop)
    assert outcome.exit_code == 5
    assert segment.meta.state("parse") == "interrupted"
    assert not segment.parts("crawl_parse")
    assert parse(segment).counters["parsed:success"] == 1


def test_remains_of_a_killed_parse_are_swept(tmp_path: Path) -> None:
    segment = fetched(tmp_path, {A: HTML})
    add_part(segment, "parse_text", PartName(0, 0, 0), [{"url": "http://stale.test/", "text": "stale"}])
    add_part(segment, "parse_data", PartName(0, 0, 0), ["http://stale.test/"])
    aside = segment.path / "crawl_parse" / "_part-00000-00000.parquet.run-00000.tmp"
    aside.parent.mkdir()
    aside.write_bytes(b"cut")
    parse(segment)
    assert [row["url"] for row in tables(segment)["parse_text"]] == [A]
    assert [row["url"] for row in tables(segment)["parse_data"]] == [A]
    assert not aside.exists()


def command(segment: Segment) -> subprocess.Popen[bytes]:
    settings = ["urlfilter.order=", "urlnormalizer.order=", "parse.workers=2"]
    given = [word for setting in settings for word in ("-D", setting)]
    return subprocess.Popen(
        [sys.executable, "-m", "nutchpy", "parse", str(segment.path), *given], stderr=subprocess.DEVNULL
    )


def test_killed_at_any_moment_it_goes_on_to_the_same_end(tmp_path: Path) -> None:
    def made(name: str) -> Segment:
        segment = make_segment(tmp_path / name / "segments", ["http://unused.test/"])
        for flush in range(6):
            urls = [f"http://h{number % 5}.test/{flush}/{number}" for number in range(50)]
            bodies = {url: f"<p>{url}".encode() + b"<a href=/x>y</a>" * 300 for url in urls}
            add_fetch(segment, urls, content=bodies, flush=flush)
        return segment

    unbroken, broken = made("unbroken"), made("broken")
    assert command(unbroken).wait(60) == 0
    kills = 0
    for after in (1, 3):
        with command(broken) as process:
            while len(broken.parts("crawl_parse")) < after and process.poll() is None:
                time.sleep(0.005)
            kills += process.poll() is None
            process.send_signal(signal.SIGKILL)
    assert kills == 2
    assert len(broken.parts("crawl_parse")) < 6
    with command(broken) as process:
        assert process.wait(60) == 0
    assert tables(broken) == tables(unbroken)
    assert [name for name, _ in broken.parts("crawl_parse")] == [name for name, _ in unbroken.parts("crawl_parse")]


def test_several_segments_are_no_argument(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "nutchpy", "parse", str(tmp_path), str(tmp_path)], capture_output=True, check=False
    )
    assert process.returncode == UsageError.exit_code
