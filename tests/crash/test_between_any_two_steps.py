"""Each stage that rewrites something dies before every file-system step in turn.

Afterwards the crawl is as before or as after, whole; the same command again ends well and makes of it what it makes of
one that was never interrupted; nothing is left lying about.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.stages.context import Context
from nutchpy.stages.dedup import DedupOptions
from nutchpy.stages.dedup import run as dedup
from nutchpy.stages.expire import ExpireOptions
from nutchpy.stages.expire import run as expire
from nutchpy.stages.generate import GenerateOptions
from nutchpy.stages.generate import run as generate
from nutchpy.stages.inject import InjectOptions
from nutchpy.stages.inject import run as inject
from nutchpy.stages.invertlinks import InvertlinksOptions
from nutchpy.stages.invertlinks import run as invertlinks
from nutchpy.stages.rebucket import RebucketOptions
from nutchpy.stages.rebucket import run as rebucket
from nutchpy.stages.snapshot import SnapshotOptions
from nutchpy.stages.snapshot import run as snapshot
from nutchpy.stages.updatedb import UpdatedbOptions
from nutchpy.stages.updatedb import run as updatedb
from nutchpy.storage.check import BAD, check_crawl
from nutchpy.storage.database import Database
from nutchpy.storage.segment import Segment, segments_in
from nutchpy.testing.crashes import every_death
from nutchpy.testing.crawls import NOW, add_fetch, add_parse, make_crawldb, make_segment, read_db, read_table

URLS: Final = [f"http://h{n % 3}.test/{n}" for n in range(9)]
SAME: Final = bytes(16)

pytestmark = pytest.mark.slow


def context(crawl: Path, days: int = 3) -> Context:
    return Context(defaults(), NOW + timedelta(days=days), crawl)


def prepare(crawl: Path, buckets: int) -> None:
    """A round taken in, with pages of equal content; a round fetched and parsed, not taken in; seeds."""
    database = make_crawldb(crawl / "crawldb", URLS, buckets)
    for number, state in enumerate(("applied", "waiting")):
        now = NOW + timedelta(hours=number)
        segment = make_segment(crawl / "segments", URLS[:4], database, now)
        pages = {u: {"content": b"%d" % number, "fetch_time": now} for u in URLS[:3]}
        add_fetch(segment, [{"url": u, "fetch_time": now} for u in URLS[:3]], pages)
        add_parse(segment, dict.fromkeys(URLS[:3], SAME), {URLS[0]: [f"http://h0.test/new{number}", *URLS[4:6]]})
        segment.record("parse", state="done")
        if state == "applied":
            update(crawl, segments=(segment.path,))
            invert(crawl, segments=(segment.path,))
    (crawl / "seeds.txt").write_text("http://h1.test/seed\nhttp://h0.test/0\n")


def update(crawl: Path, **options: Any) -> None:
    ctx = context(crawl)
    updatedb(UpdatedbOptions.of(ctx.conf, crawldb=crawl / "crawldb", **options), ctx)


def invert(crawl: Path, **options: Any) -> None:
    ctx = context(crawl)
    invertlinks(InvertlinksOptions.of(ctx.conf, linkdb=crawl / "linkdb", **options), ctx)


def seeds(crawl: Path) -> None:
    ctx = context(crawl)
    inject(InjectOptions.of(ctx.conf, crawldb=crawl / "crawldb", seeds=(crawl / "seeds.txt",)), ctx)


def mark(crawl: Path) -> None:
    ctx = context(crawl)
    dedup(DedupOptions.of(ctx.conf, crawldb=crawl / "crawldb"), ctx)


def choose(crawl: Path) -> None:
    """Unless it has been done: a second generate would rightly find other URLs."""
    if len(list((crawl / "segments").glob("2*"))) < 3:
        ctx = context(crawl)
        options = GenerateOptions.of(
            ctx.conf, crawldb=crawl / "crawldb", segments_dir=crawl / "segments", num_fetchers=2
        )
        generate(options, ctx)


def divide(crawl: Path) -> None:
    rebucket(RebucketOptions(crawl / "crawldb", 1), context(crawl))


def grow(crawl: Path) -> None:
    rebucket(RebucketOptions(crawl / "crawldb", 16), context(crawl))


def delete(crawl: Path) -> None:
    expire(ExpireOptions(crawl, keep_days=0), context(crawl))


def prune(crawl: Path) -> None:
    expire(ExpireOptions(crawl, keep_versions=1, only="content"), context(crawl))


def copy(crawl: Path) -> None:
    """A copy beside the crawl, made if it is not there."""
    if not (crawl.parent / f"{crawl.name}.copy").exists():
        snapshot(SnapshotOptions(crawl, crawl.parent / f"{crawl.name}.copy"), context(crawl))


def state(crawl: Path) -> list[Any]:
    """All that is told of URLs, but for names and identities that differ from run to run."""
    databases = [Database(crawl / name, name).current() for name in ("crawldb", "linkdb")]
    segments = segments_in(crawl / "segments")
    tables = [
        [row for segment in segments for row in read_table(segment, name)]
        for name in ("crawl_generate", "content", "parse_data")
    ]
    return [*map(read_db, databases), *map(ordered, (*tables, attempts(segments))), databases[0].meta.buckets]


def attempts(segments: Sequence[Segment]) -> list[dict[str, Any]]:
    """Attempts, wherever they are remembered."""
    found = []
    for segment in segments:
        found += read_table(segment, "attempts") or read_table(segment, "crawl_fetch")
    return [{name: row[name] for name in ("url", "fetch_time", "status")} for row in found]


def ordered(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(map(str, rows))


def leftovers(crawl: Path) -> list[Path]:
    """Whatever a stage puts aside begins with ``_``."""
    return [path for path in (*crawl.rglob("_*"), *crawl.parent.glob("_*")) if path.name != "_meta.json"]


STAGES: Final[dict[str, Callable[[Path], None]]] = {
    "inject": seeds,
    "updatedb": lambda crawl: update(crawl, dir=crawl / "segments"),
    "dedup": mark,
    "invertlinks": lambda crawl: invert(crawl, dir=crawl / "segments"),
    "generate": choose,
    "rebucket to fewer": divide,
    "rebucket to more": grow,
    "expire": delete,
    "expire bodies": prune,
    "snapshot": copy,
}


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_death_between_any_two_steps(tmp_path: Path, stage: Callable[[Path], None]) -> None:
    template = tmp_path / "template"
    prepare(template, 16 if stage in (seeds, divide) else 1)
    whole = tmp_path / "whole"
    shutil.copytree(template, whole, symlinks=True)
    before = state(whole)
    stage(whole)
    after = state(whole)
    crawl = tmp_path / "crawl"

    def attempt(step: int) -> Callable[[], None]:
        shutil.rmtree(crawl, ignore_errors=True)
        shutil.rmtree(tmp_path / "crawl.copy", ignore_errors=True)
        shutil.copytree(template, crawl, symlinks=True)
        return lambda: stage(crawl)

    for step, finished in every_death(attempt):
        assert state(crawl) in ((after,) if finished else (before, after)), f"step {step}"
        assert [one for one in check_crawl(crawl) if one.severity in BAD] == [], f"step {step}"
        stage(crawl)
        assert state(crawl) == after, f"step {step}"
        if not finished:
            clean(crawl)
        assert leftovers(crawl) == [], f"step {step}"
    assert step > 5


def clean(crawl: Path) -> None:
    """What comes next in a crawl: each command removes what its like had left."""
    for name in ("crawldb", "linkdb"):
        database = Database(crawl / name, name)
        with database.locked(), database.replacing("test", NOW, 0) as draft:
            draft.abandoned = True
    expire(ExpireOptions(crawl, keep_days=10_000), context(crawl))
