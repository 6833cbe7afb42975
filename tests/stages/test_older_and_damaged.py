"""Crawls that are not as this version writes them: older parts, newer ones, damaged ones."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nutchpy import open_crawl
from nutchpy.conf.layers import defaults
from nutchpy.core.errors import DamagedError, EngineError
from nutchpy.engine.base import Files
from nutchpy.engine.duckdb import DuckDBEngine
from nutchpy.stages.context import Context
from nutchpy.stages.doctor import DoctorOptions
from nutchpy.stages.doctor import run as doctor
from nutchpy.stages.readdb import ReadDbOptions
from nutchpy.stages.readdb import run as readdb
from nutchpy.stages.updatedb import UpdatedbOptions
from nutchpy.stages.updatedb import run as updatedb
from nutchpy.stages.upgrade import UpgradeOptions
from nutchpy.stages.upgrade import run as upgrade
from nutchpy.storage.database import Database
from nutchpy.storage.parts import write_part
from nutchpy.storage.schema import SCHEMA_VERSION, TABLES, Column, Table
from nutchpy.storage.segment import Segment
from nutchpy.testing.crawls import LATER, add_fetch, add_parse, make_crawldb, make_segment, read_db, sign

URLS = [f"http://h{n}.test/" for n in range(40)]


def context(crawl: Path) -> Context:
    return Context(defaults(), LATER, crawl)


def made(crawl: Path) -> Segment:
    database = make_crawldb(crawl / "crawldb", [{"url": url, "etag": "e"} for url in URLS], buckets=16)
    segment = make_segment(crawl / "segments", URLS[:3], database)
    add_fetch(segment, URLS[:3], {URLS[0]: b"hi"})
    add_parse(segment, {URLS[0]: bytes(16)}, {URLS[0]: ["http://new.test/"]})
    return segment


def make_older(part: Path, table: str, *lacks: str) -> None:
    """As a version wrote it that knew nothing of some columns."""
    rows = pq.ParquetFile(part).read().drop_columns(list(lacks))
    columns = tuple(column for column in TABLES[table].columns if column.name not in lacks)
    write_part(part, replace(TABLES[table], columns=columns), rows)


def old_crawl(crawl: Path) -> Segment:
    """Half of the crawldb and the segment's fetch are older than some columns."""
    segment = made(crawl)
    parts = Database(crawl / "crawldb", "crawldb").current().parts
    for part in parts[: len(parts) // 2]:
        make_older(part, "crawldb", "etag", "last_modified")
    sign(Database(crawl / "crawldb", "crawldb"))
    make_older(segment.files("crawl_fetch")[0], "crawl_fetch", "repr_url", "robots", "robots_rule", "robots_delay")
    return segment


def test_older_parts_are_read_and_rewritten(tmp_path: Path) -> None:
    segment = old_crawl(tmp_path)
    with open_crawl(tmp_path) as crawl:
        assert crawl.sql("select count(*) as n, count(etag) as e from crawldb").to_pylist()[0]["n"] == 40
        assert crawl.sql("select count(*) as n, count(repr_url) as r from crawl_fetch").to_pylist() == [
            {"n": 3, "r": 0}
        ]
    ctx = context(tmp_path)
    updatedb(UpdatedbOptions.of(ctx.conf, crawldb=tmp_path / "crawldb", segments=(segment.path,)), ctx)
    rows = read_db(Database(tmp_path / "crawldb", "crawldb"))
    assert rows[URLS[0]]["status"] == "db_fetched"
    assert "http://new.test/" in rows


def test_upgrade_leaves_no_older_part_and_repeats_to_nothing(tmp_path: Path) -> None:
    old_crawl(tmp_path)
    before = open_crawl(tmp_path).sql("select url, etag from crawldb order by url").to_pylist()
    assert "older\t" in "".join(doctor(DoctorOptions(tmp_path), context(tmp_path)).lines)
    counters = upgrade(UpgradeOptions(tmp_path), context(tmp_path)).counters
    assert counters["parts"] > 3
    assert list(doctor(DoctorOptions(tmp_path), context(tmp_path)).lines) == []
    assert open_crawl(tmp_path).sql("select url, etag from crawldb order by url").to_pylist() == before
    assert upgrade(UpgradeOptions(tmp_path), context(tmp_path)).counters["parts"] == 0


def test_a_column_that_may_not_be_null_has_its_default(tmp_path: Path) -> None:
    old = Table("t", "", (Column("url", pa.string(), ""),))
    new = Table("t", "", (*old.columns, Column("n", pa.int32(), "", default=7), Column("s", pa.string(), "", True)))
    write_part(tmp_path / "a.parquet", old, pa.table({"url": ["a"]}))
    write_part(tmp_path / "b.parquet", new, pa.table({"s": ["x"], "n": pa.array([1], pa.int32()), "url": ["b"]}))
    engine = DuckDBEngine("100MB", 1, tmp_path / "spill")
    files = Files(new, [tmp_path / "b.parquet", tmp_path / "a.parquet"], with_path=True)
    rows = engine.table("select url, n, s, path from t order by url", {"t": files}).to_pylist()
    assert [(row["url"], row["n"], row["s"]) for row in rows] == [("a", 7, None), ("b", 1, "x")]
    assert rows[0]["path"] == str(tmp_path / "a.parquet")


def test_a_part_without_a_column_it_must_have_is_damaged(tmp_path: Path) -> None:
    made(tmp_path)
    part = Database(tmp_path / "crawldb", "crawldb").current().parts[0]
    make_older(part, "crawldb", "status")
    sign(Database(tmp_path / "crawldb", "crawldb"))
    with pytest.raises(DamagedError, match=f"{part} is not a part of crawldb: column status is None"):
        readdb(ReadDbOptions(tmp_path / "crawldb", stats=True), context(tmp_path))


def test_a_newer_crawl_is_refused_in_one_line(tmp_path: Path) -> None:
    segment = made(tmp_path)
    part = segment.files("crawl_fetch")[0]
    rows = pq.ParquetFile(part).read()
    newer = str(SCHEMA_VERSION + 1)
    pq.write_table(
        rows.replace_schema_metadata({"nutchpy.table": "crawl_fetch", "nutchpy.schema_version": newer}), part
    )
    ctx = context(tmp_path)
    with pytest.raises(DamagedError, match=f"{part} has schema version {newer}, newer than this nutchpy"):
        updatedb(UpdatedbOptions.of(ctx.conf, crawldb=tmp_path / "crawldb", segments=(segment.path,)), ctx)
    with pytest.raises((DamagedError, EngineError), match="newer than this nutchpy"):
        open_crawl(tmp_path)


def damage(crawl: Path) -> tuple[Path, int]:
    """A bucket with bytes flipped, and how many rows it had."""
    part = Database(crawl / "crawldb", "crawldb").current().parts[2]
    rows = pq.read_metadata(part).num_rows
    data = part.read_bytes()
    part.write_bytes(data[:30] + bytes(byte ^ 0xFF for byte in data[30:160]) + data[160:])
    return part, int(rows)


def test_readdb_skips_what_is_damaged_when_asked(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made(tmp_path)
    part, lost = damage(tmp_path)
    with pytest.raises(DamagedError, match=str(part)):
        readdb(ReadDbOptions(tmp_path / "crawldb", dump=tmp_path / "out"), context(tmp_path))
    with caplog.at_level(logging.WARNING):
        found = readdb(ReadDbOptions(tmp_path / "crawldb", stats=True, skip_damaged=True), context(tmp_path)).data
    assert f"{40 - lost}" in str(found)
    assert f"left out: {part}" in caplog.text


def test_readdb_names_what_is_gone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made(tmp_path)
    part = Database(tmp_path / "crawldb", "crawldb").current().parts[2]
    part.unlink()
    with caplog.at_level(logging.WARNING):
        readdb(ReadDbOptions(tmp_path / "crawldb", stats=True, skip_damaged=True), context(tmp_path))
    assert f"left out: {part} is not there any more" in caplog.text


def test_a_stage_stops_at_a_damaged_bucket_and_publishes_nothing(tmp_path: Path) -> None:
    segment = made(tmp_path)
    part, _ = damage(tmp_path)
    before = Database(tmp_path / "crawldb", "crawldb").current().path
    ctx = context(tmp_path)
    with pytest.raises(DamagedError, match=str(part)):
        updatedb(UpdatedbOptions.of(ctx.conf, crawldb=tmp_path / "crawldb", segments=(segment.path,)), ctx)
    assert Database(tmp_path / "crawldb", "crawldb").current().path == before


def test_doctor_on_the_command_line(tmp_path: Path) -> None:
    made(tmp_path)
    command = [sys.executable, "-m", "nutchpy", "doctor", str(tmp_path), "--json"]
    well = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (well.returncode, json.loads(well.stdout)) == (0, [])
    assert f"{tmp_path}: nothing is wrong" in well.stderr
    part, _ = damage(tmp_path)
    ill = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ill.returncode, {one["path"] for one in json.loads(ill.stdout)} >= {str(part)}) == (4, True)
    assert "1 damaged" in ill.stderr
