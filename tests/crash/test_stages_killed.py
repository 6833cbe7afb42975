"""Each stage that rewrites a database is killed at random instants, and given again.

At every moment the crawl is as before or as after, whole; the next run ends well and leaves nothing lying about. One
kill per stage, seeded; with ``--kills N`` so many, each time others: ``bin/test tests/crash/test_stages_killed.py
--kills 50 -s``.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nutchpy.conf.layers import defaults
from nutchpy.stages.context import Context
from nutchpy.stages.expire import ExpireOptions
from nutchpy.stages.expire import run as expire
from nutchpy.storage.check import BAD, check_crawl
from nutchpy.storage.database import Database
from nutchpy.storage.segment import segments_in
from nutchpy.testing.crawls import NOW, add_fetch, add_parse, make_crawldb, make_segment

PAGES: Final = 400
URLS: Final = [f"http://h{n % 37}.test/{n}" for n in range(2 * PAGES)]
TIMES: Final = ("due_time", "fetch_time", "modified_time", "first_seen")

pytestmark = pytest.mark.slow

State = dict[str, pa.Table]


def nutchpy(*words: str) -> list[str]:
    return [sys.executable, "-m", "nutchpy", *words, "--quiet"]


def prepare(crawl: Path, buckets: int) -> None:
    """Two rounds, one of them taken in; pages of equal content; seeds."""
    database = make_crawldb(crawl / "crawldb", URLS, buckets)
    for number in range(2):
        now = NOW + timedelta(hours=number)
        segment = make_segment(crawl / "segments", URLS[:PAGES], database, now)
        pages = {url: {"content": b"%d" % number, "fetch_time": now} for url in URLS[:PAGES]}
        add_fetch(segment, [{"url": url, "fetch_time": now} for url in pages], pages)
        links = {url: [f"http://new{n % 29}.test/{number}/{n}", URLS[-n - 1]] for n, url in enumerate(pages)}
        add_parse(segment, {url: b"%016d" % (n // 2) for n, url in enumerate(pages)}, links)
        segment.record("parse", state="done")
        if number == 0:
            give(["updatedb", f"{crawl}/crawldb", str(segment.path)])
            give(["invertlinks", f"{crawl}/linkdb", str(segment.path)])
    (crawl / "seeds.txt").write_text("".join(f"http://seed{n % 31}.test/{n}\n" for n in range(PAGES)))


STAGES: Final[dict[str, Callable[[Path], Sequence[str]]]] = {
    "inject": lambda crawl: ["inject", f"{crawl}/crawldb", f"{crawl}/seeds.txt"],
    "updatedb": lambda crawl: ["updatedb", f"{crawl}/crawldb", "-dir", f"{crawl}/segments"],
    "dedup": lambda crawl: ["dedup", f"{crawl}/crawldb"],
    "invertlinks": lambda crawl: ["invertlinks", f"{crawl}/linkdb", "-dir", f"{crawl}/segments"],
    "rebucket": lambda crawl: ["rebucket", f"{crawl}/crawldb", "64"],
    "expire": lambda crawl: ["expire", "-dir", str(crawl), "--keep-days", "0"],
}


def rows(parts: Sequence[Path], columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of some parts, sorted, without what depends on when the stage ran."""
    tables = [pq.ParquetFile(part).read(columns).replace_schema_metadata() for part in parts]
    table = pa.concat_tables(tables) if tables else pa.table({"url": []})
    return table.drop_columns([name for name in TIMES if name in table.column_names]).sort_by("url")


def state(crawl: Path) -> State:
    databases = {name: Database(crawl / name, name).current() for name in ("crawldb", "linkdb")}
    segments = segments_in(crawl / "segments")
    attempts = [part for one in segments for part in one.files("attempts") or one.files("crawl_fetch")]
    bodies = [part for one in segments for part in one.files("content")]
    return {
        **{name: rows(generation.parts) for name, generation in databases.items()},
        "buckets": pa.table({"n": [generation.meta.buckets for generation in databases.values()]}),
        "content": rows(bodies, ["url", "content"]),
        "attempts": rows(attempts, ["url", "status"]),
    }


def leftovers(crawl: Path) -> list[Path]:
    found = [path for pattern in ("_*", ".tmp-*") for path in crawl.rglob(pattern)]
    return [path for path in found if path.name != "_meta.json"]


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A crawl with a round to take in; the same when that has been done."""
    waiting, settled = (tmp_path_factory.mktemp(name) / "crawl" for name in ("waiting", "settled"))
    prepare(waiting, 16)
    shutil.copytree(waiting, settled, symlinks=True)
    for stage in ("updatedb", "invertlinks"):
        give(STAGES[stage](settled))
    return {"waiting": waiting, "settled": settled}


@pytest.mark.parametrize("stage", STAGES)
def test_killed_at_random_instants(
    tmp_path: Path, stage: str, templates: dict[str, Path], request: pytest.FixtureRequest
) -> None:
    kills = request.config.getoption("kills")
    chance = random.Random() if kills else random.Random(stage)
    template, whole = templates["settled" if stage == "expire" else "waiting"], tmp_path / "whole"
    shutil.copytree(template, whole, symlinks=True)
    before = state(whole)
    begin = time.monotonic()
    give(STAGES[stage](whole))
    seconds = time.monotonic() - begin
    after = state(whole)
    assert after != before
    killed = unfinished = 0
    for number in range(kills or 1):
        crawl = tmp_path / f"crawl{number}"
        shutil.copytree(template, crawl, symlinks=True)
        killed += killed_after(nutchpy(*STAGES[stage](crawl)), chance.uniform(0.3, 1.0) * seconds)
        unfinished += check(crawl, (before, after)) == before
        give(STAGES[stage](crawl))
        check(crawl, (after,))
        clean(crawl)
        assert leftovers(crawl) == []
        shutil.rmtree(crawl)
    print(f"{stage}: {kills or 1} runs of {seconds:.1f} s, {killed} killed, {unfinished} of them before they published")


def give(words: Sequence[str]) -> None:
    ended = subprocess.run(nutchpy(*words), check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def check(crawl: Path, may: Sequence[State]) -> State:
    """The state of a crawl that is whole, and one of those it may have."""
    found = state(crawl)
    assert found in may
    assert [one for one in check_crawl(crawl) if one.severity in BAD] == []
    return found


def killed_after(command: Sequence[str], seconds: float) -> bool:
    """Start, wait, kill; whether it was still at work."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            return process.wait(seconds) != 0
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            return process.wait() == -signal.SIGKILL


def clean(crawl: Path) -> None:
    """What comes next in a crawl: each command removes what its like had left."""
    context = Context(defaults(), NOW, crawl)
    for name in ("crawldb", "linkdb"):
        database = Database(crawl / name, name)
        with database.locked(), database.replacing("test", NOW, 0) as draft:
            draft.abandoned = True
    expire(ExpireOptions(crawl, keep_days=10_000), context)
    assert context.engine.memory > 0  # making one sweeps the folders that others spilled to
