"""Context: the stop flag, and where the engine spills."""

import gc
import os
import select
import time
from datetime import UTC, datetime
from pathlib import Path

from nutchpy.conf.layers import defaults
from nutchpy.stages.context import Context, Stop
from nutchpy.stages.spill import spill_folder


def test_stop_is_seen_by_every_way_of_looking() -> None:
    stop = Stop()
    assert not stop.watched
    assert not stop()
    assert stop.watched
    assert select.select([stop.fileno()], [], [], 0)[0] == []
    stop.set("SIGTERM")
    stop.set("SIGINT")
    assert stop()
    assert stop.reason == "SIGTERM"
    assert select.select([stop.fileno()], [], [], 0)[0] == [stop.fileno()]


def test_wait_ends_with_the_signal_or_the_time() -> None:
    stop = Stop()
    assert not stop.wait(0.01)
    stop.set("SIGHUP")
    start = time.monotonic()
    assert stop.wait(60)
    assert time.monotonic() - start < 5


def test_a_stop_that_is_gone_leaves_no_descriptors() -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(5):
        Stop()
    gc.collect()
    assert len(list(Path("/dev/fd").iterdir())) <= before


def test_the_engine_is_made_once_and_late(tmp_path: Path) -> None:
    made: list[Path | None] = []

    def make(_: object, crawl_dir: Path | None) -> object:
        made.append(crawl_dir)
        return object()

    ctx = Context(defaults(), datetime.now(UTC), crawl_dir=tmp_path, make_engine=make)  # type: ignore[arg-type]
    assert made == []
    assert ctx.engine is ctx.engine
    assert made == [tmp_path]


def test_spilling_goes_to_the_crawl_under_a_hidden_name_of_this_process(tmp_path: Path) -> None:
    folder = spill_folder(defaults(), tmp_path)
    assert folder.parent == tmp_path
    assert folder.name.startswith(".tmp-")
    assert folder.name.endswith(f"-{os.getpid()}")
    assert list(tmp_path.iterdir()) == []
    asked = defaults().with_values({"db.temp.dir": str(tmp_path / "fast")})
    assert spill_folder(asked, tmp_path).parent == tmp_path / "fast"


def test_the_engine_can_spill_there(tmp_path: Path) -> None:
    small = defaults().with_values({"db.memory.limit": "60MB", "db.threads": 1})
    engine = Context(small, datetime.now(UTC), crawl_dir=tmp_path).engine
    sql = "select count(distinct md5(cast(n as varchar))) as n from range(1500000) as r(n)"
    assert engine.table(sql, {})["n"].to_pylist() == [1_500_000]


def test_what_dead_processes_spilled_is_swept(tmp_path: Path) -> None:
    mine = spill_folder(defaults(), tmp_path)
    host = mine.name.rpartition("-")[0]
    dead, living, elsewhere = (mine.parent / name for name in (f"{host}-999999999", mine.name, ".tmp-otherhost-1"))
    for folder in (dead, living, elsewhere):
        folder.mkdir(parents=True)
    spill_folder(defaults(), tmp_path)
    assert not dead.exists()
    assert living.exists()
    assert elsewhere.exists()
