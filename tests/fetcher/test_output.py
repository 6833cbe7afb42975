from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nutchpy.core.errors import StorageError
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.core.status import Status
from nutchpy.fetcher import merge
from nutchpy.fetcher.item import FetchItem, Row
from nutchpy.fetcher.output import FlushLimits, SegmentOutput, next_flush
from nutchpy.fetcher.rows import list_pieces
from nutchpy.fetcher.sink import fetch_row
from nutchpy.storage.parts import PartName
from nutchpy.storage.segment import Segment
from nutchpy.testing.crawls import add_fetch, add_parse, add_part, make_segment, read_table


def pair(url: str, body: bytes = b"x") -> tuple[Row, Row]:
    source = {
        "domain": "h",
        "modified_time": None,
        "retries": 0,
        "fetch_interval": 1,
        "score": 1.0,
        "signature": None,
        "depth": 0,
        "metadata": [("k", "v")],
    }
    item = FetchItem(url, "h", "h", source, fetch_time=1_700_000_000_123_456)
    content = {
        "url": url,
        "base_url": url,
        "content_type": "text/plain",
        "headers": [("A", "b")],
        "content": body,
        "truncated": None,
        "fetch_time": item.fetch_time,
    }
    return fetch_row(item, Status.FETCH_SUCCESS, ProtocolStatus.SUCCESS, ""), content


@pytest.fixture
def segment(tmp_path: Path) -> Segment:
    return make_segment(tmp_path, [f"http://h/{n}" for n in range(100)])


def output(segment: Segment, size: int = 1 << 26, seconds: float = 30.0) -> SegmentOutput:
    return SegmentOutput(segment, 0, FlushLimits(size, seconds), lambda: None)


def put(out: SegmentOutput, *numbers: int, body: bytes = b"x") -> None:
    for n in numbers:
        out.put(*pair(f"http://h/{n}", body), None)


def urls(segment: Segment, table: str) -> list[str]:
    return [row["url"] for row in read_table(segment, table)]


def _noise(size: int) -> bytes:
    return random.Random(1).randbytes(size)


def settle(out: SegmentOutput, condition: Any, now: float = 0.0) -> None:
    until = time.monotonic() + 10
    while not condition():
        out.step(now)
        assert time.monotonic() < until
        time.sleep(0.005)


def test_close_publishes_everything(segment: Segment) -> None:
    out = output(segment)
    put(out, 1, 2, 3)
    out.step(0.0)
    assert urls(segment, "crawl_fetch") == []
    out.close()
    assert urls(segment, "crawl_fetch") == urls(segment, "content") == ["http://h/1", "http://h/2", "http://h/3"]
    row = read_table(segment, "crawl_fetch")[0]
    assert row["metadata"] == {"k": "v"}
    assert row["fetch_time"].microsecond == 123_456


def test_nothing_put_leaves_no_part(segment: Segment) -> None:
    output(segment).close()
    assert segment.parts("crawl_fetch") == []


def test_an_old_part_is_published_and_the_next_begun(segment: Segment) -> None:
    out = output(segment, seconds=30.0)
    put(out, 1)
    out.step(100.0)
    assert out.deadline() == 130.0
    out.step(130.0)
    assert out.deadline() is None
    settle(out, lambda: len(segment.parts("crawl_fetch")) == 1, 130.0)
    put(out, 2)
    out.close()
    assert [name for name, _ in segment.parts("crawl_fetch")] == [PartName(0, 0, 0), PartName(0, 1, 1)]


def test_a_large_part_is_published(segment: Segment) -> None:
    out = output(segment, size=100_000)
    for n in range(60):
        put(out, n, body=_noise(256_000))
        out.step(0.0)
    settle(out, lambda: len(segment.parts("crawl_fetch")) >= 1)
    out.close()
    assert sorted(urls(segment, "crawl_fetch")) == sorted(f"http://h/{n}" for n in range(60))
    assert {n for n, _ in segment.parts("content")} == {n for n, _ in segment.parts("crawl_fetch")}


def test_numbers_go_on_where_parts_end(segment: Segment) -> None:
    add_fetch(segment, ["http://h/1"], {"http://h/1": b"x"}, flush=4)
    assert next_flush(segment, 0) == 5
    assert next_flush(segment, 1) == 0


def test_what_the_writer_runs_into_comes_out_in_the_loop(segment: Segment) -> None:
    out = output(segment)
    (segment.path / "content").write_text("no folder")
    put(out, 1)
    out.step(0.0)
    out.step(31.0)
    with pytest.raises(StorageError, match="content"):
        settle(out, lambda: False, 31.0)
    out.abandon()


def test_a_writer_that_is_behind_makes_it_full(segment: Segment, monkeypatch: pytest.MonkeyPatch) -> None:
    out = output(segment)
    out.abandon()  # no one takes chunks any more
    full = []
    for n in range(9000):
        put(out, n)
        out.step(0.0)
        full.append(out.full)
    assert full[-1]
    assert not any(full[:5999]), "three chunks fit: two waiting, one being filled"


def test_abandoning_leaves_nothing_behind(segment: Segment) -> None:
    out = output(segment)
    put(out, 1)
    out.step(0.0)
    out.abandon()
    assert not (segment.path / "crawl_fetch").exists() or not any((segment.path / "crawl_fetch").iterdir())


def test_repair_removes_bodies_without_a_commit(segment: Segment) -> None:
    add_fetch(segment, ["http://h/1"], {"http://h/1": b"x"}, flush=0)
    orphan = add_part(segment, "content", PartName(0, 1, 1), [{"url": "http://h/2"}])
    aside = segment.path / "content" / "_part-00000-00002.parquet.123.tmp"
    aside.write_text("half")
    other = add_part(segment, "content", PartName(1, 7, 7), [{"url": "http://h/3"}])
    merge.repair(segment, 0)
    assert not orphan.exists()
    assert not aside.exists()
    assert other.exists(), "another list's parts are another process's"
    assert urls(segment, "crawl_fetch") == ["http://h/1"]


def test_small_parts_become_one(segment: Segment) -> None:
    for n in range(5):
        add_fetch(segment, [f"http://h/{n}"], {f"http://h/{n}": b"body"} if n != 2 else None, flush=n)
    merge.merge_small(segment, 0)
    assert [name for name, _ in segment.parts("crawl_fetch")] == [PartName(0, 0, 4)]
    assert [name for name, _ in segment.parts("content")] == [PartName(0, 0, 4)]
    assert urls(segment, "crawl_fetch") == [f"http://h/{n}" for n in range(5)]
    assert len(list((segment.path / "content").iterdir())) == 1


def test_parts_of_large_bodies_are_merged_some_megabytes_at_a_time(segment: Segment) -> None:
    sizes = []
    for n in range(2):
        bodies = {f"http://h/{n}/{k}": bytes([k]) * (k << 10) for k in range(200)}
        sizes += map(len, bodies.values())
        add_fetch(segment, list(bodies), bodies, flush=n)
    merge.merge_small(segment, 0)
    ((_, path),) = segment.parts("content")
    with pq.ParquetFile(path) as file:
        groups = [file.read_row_group(n, columns=["content"]) for n in range(file.num_row_groups)]
    assert [len(body) for group in groups for body in group["content"].to_pylist()] == sizes
    assert max(group.nbytes for group in groups) < 16 << 20 < sum(sizes) // 2


def test_parsed_and_large_parts_are_not_merged(segment: Segment, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(6):
        add_fetch(segment, [f"http://h/{n}"], {f"http://h/{n}": b"x"}, flush=n)
    add_parse(segment, signatures={"http://h/0": b"s" * 16}, flush=0)
    large = segment.path / "content" / str(PartName(0, 3, 3))
    monkeypatch.setattr(merge, "SMALL_BYTES", 40_000)
    add_part(segment, "content", PartName(0, 3, 3), [{"url": "http://h/3", "content": _noise(60_000)}])
    assert large.stat().st_size > 40_000
    merge.merge_small(segment, 0)
    assert [name for name, _ in segment.parts("crawl_fetch")] == [
        PartName(0, 0, 0),
        PartName(0, 1, 2),
        PartName(0, 3, 3),
        PartName(0, 4, 5),
    ]


def test_a_merge_cut_in_two_is_ended(segment: Segment) -> None:
    """Killed after the merged content was published, before the merged crawl_fetch was."""
    for n in range(3):
        add_fetch(segment, [f"http://h/{n}"], flush=n)
    add_part(segment, "content", PartName(0, 0, 2), [{"url": f"http://h/{n}"} for n in range(3)])
    merge.repair(segment, 0)
    assert [name for name, _ in segment.parts("crawl_fetch")] == [PartName(0, 0, 2)]
    assert len(urls(segment, "crawl_fetch")) == len(urls(segment, "content")) == 3
    merge.repair(segment, 0)
    assert len(urls(segment, "crawl_fetch")) == 3


def test_repair_removes_parse_parts_without_their_commit(segment: Segment) -> None:
    for n in range(2):
        add_fetch(segment, [f"http://h/{n}"], {f"http://h/{n}": b"x"}, flush=n)
        add_parse(segment, signatures={f"http://h/{n}": b"s" * 16}, flush=n)
    (segment.path / "crawl_parse" / str(PartName(0, 1, 1))).unlink()
    merge.repair(segment, 0)
    for table in ("parse_text", "parse_data", "crawl_parse"):
        assert [name for name, _ in segment.parts(table)] == [PartName(0, 0, 0)], table
    assert len(segment.files("crawl_fetch")) == 2


def test_merging_stops_when_told_to(segment: Segment) -> None:
    for n in range(3):
        add_fetch(segment, [f"http://h/{n}"], flush=n)
    merge.merge_small(segment, 0, lambda: True)
    assert len(segment.files("crawl_fetch")) == 3


def test_pieces_leave_out_what_is_done(segment: Segment) -> None:
    done = pa.array([f"http://h/{n}" for n in range(0, 100, 2)])
    pieces = list(list_pieces(segment.list_part(0), "host", done))
    found = [item for piece in pieces for item in piece.items(range(len(piece.queue_ids)))]
    assert [item.url for item in found] == [f"http://h/{n}" for n in range(1, 100, 2)]
    assert {item.queue_id for item in found} == {"h"}


def test_items_of_a_piece_are_the_same_however_often_it_is_opened(tmp_path: Path) -> None:
    segment = make_segment(tmp_path, [{"url": f"http://h/{n}", "score": float(n)} for n in range(12_000)])
    pieces = list(list_pieces(segment.list_part(0), "domain", None))
    for _ in range(2):
        for number, piece in enumerate(pieces):
            items = piece.items([0, 5])
            assert [item.row["score"] for item in items] == [number * 1024, number * 1024 + 5]
            assert items[0].row["fetch_interval"] == 30 * 86_400


def test_parts_are_of_the_declared_schema(segment: Segment) -> None:
    out = output(segment)
    put(out, 1)
    out.close()
    for table in ("content", "crawl_fetch"):
        (path,) = segment.files(table)
        metadata = pq.read_metadata(path).metadata
        assert metadata[b"nutchpy.table"] == table.encode()
