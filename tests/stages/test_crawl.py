"""crawl: depth and rounds, domains, nights, locks, and runs that were killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from nutchpy.conf.layers import Conf, Value, defaults
from nutchpy.core.errors import ConfigError, Interrupted, LockedError, MissingError, UsageError
from nutchpy.stages import crawl as crawl_module
from nutchpy.stages.context import Context, Outcome, Stop
from nutchpy.stages.crawl import CrawlOptions, settled
from nutchpy.stages.runner import run_stage
from nutchpy.storage import lock
from nutchpy.storage.database import Database
from nutchpy.storage.runs import read_runs
from nutchpy.storage.segment import segments_in
from nutchpy.testing.crawls import make_crawldb, make_segment, read_db, read_table, without_times
from nutchpy.testing.site import Site, html
from nutchpy.testing.site_server import SiteServer

DAY = 86_400
SETTINGS: dict[str, Value] = {
    "http.agent.name": "test-bot",
    "http.filter.ipaddress.exclude": [],
    "fetcher.server.delay": 0.0,
    "fetcher.min.crawl.delay": 0.0,
    "parse.workers": 1,
    "db.fetch.interval.default": DAY,
}


def page(name: str, *links: str) -> Any:
    return html(name, "".join(f'<p><a href="{link}">to {link}</a>' for link in links))


def levels() -> Site:
    """A tree: the root, two pages below it, two below each of those, and so on to the fourth level."""
    site = {"/": page("root", "/a", "/b")}
    names = ["a", "b"]
    for _ in range(4):
        site |= {f"/{name}": page(name, f"/{name}a", f"/{name}b") for name in names}
        names = [f"{name}{last}" for name in names for last in "ab"]
    return Site(site)


@pytest.fixture
def server() -> Iterator[SiteServer]:
    with SiteServer(levels()) as running:
        yield running


@pytest.fixture
def seeds(tmp_path: Path, server: SiteServer) -> Path:
    path = tmp_path / "seeds.txt"
    path.write_text(server.url("/") + "\n")
    return path


def conf(**more: Value) -> Conf:
    return defaults().with_values(SETTINGS | {name.replace("__", "."): value for name, value in more.items()})


def crawl(
    folder: Path, *sources: Path, settings: Conf | None = None, stop: Stop | None = None, **options: Any
) -> Outcome:
    ctx = Context(settings or conf(), datetime.now(UTC), stop=stop or Stop())
    return run_stage("crawl", CrawlOptions(seeds=sources, dir=folder, **options), ctx)


def pages(server: SiteServer) -> Counter[str]:
    return Counter(server.log.paths())


def expected(depth: int) -> set[str]:
    """The paths of the tree at fewer links than ``depth`` from its root."""
    found, names = {"/"}, ["a", "b"]
    for _ in range(depth - 1):
        found |= {f"/{name}" for name in names}
        names = [f"{name}{last}" for name in names for last in "ab"]
    return found


def age(folder: Path, by: timedelta) -> None:
    """Let time pass in a crawl: everything its crawldb remembers becomes so much older."""
    database = Database(folder / "crawldb", "crawldb")
    with database.locked():
        database.amend(lambda meta: replace(meta, sums={}))  # of the bytes that are written over below
    for part in database.current().parts:
        with pq.ParquetFile(part) as file:
            rows = file.read()
        for name in ("due_time", "fetch_time", "modified_time", "first_seen"):
            place = rows.column_names.index(name)
            older = pc.subtract(rows[name], pa.scalar(by, pa.duration("us")))
            rows = rows.set_column(place, rows.schema.field(name), older)
        pq.write_table(rows, part)
    for segment in segments_in(folder / "segments"):
        meta = json.loads((segment.path / "_meta.json").read_text())
        meta["created"] = (datetime.fromisoformat(meta["created"]) - by).isoformat()
        (segment.path / "_meta.json").write_text(json.dumps(meta))


def test_to_a_depth(tmp_path: Path, server: SiteServer, seeds: Path) -> None:
    outcome = crawl(tmp_path / "抓取 目录", seeds, depth=3)
    assert pages(server) == dict.fromkeys(expected(3), 1)
    rows = read_db(Database(tmp_path / "抓取 目录" / "crawldb", "crawldb"))
    assert {row["status"] for row in rows.values() if row["depth"] < 3} == {"db_fetched"}
    assert {row["status"] for row in rows.values() if row["depth"] == 3} == {"db_unfetched"}
    assert len(rows) == 15
    assert len(segments_in(tmp_path / "抓取 目录" / "segments")) == 3
    assert outcome.exit_code == 0
    assert "3 rounds" in outcome.summary[0]
    stages = [run["stage"] for run in read_runs(tmp_path / "抓取 目录")]
    assert stages == ["inject"] + ["generate", "fetch", "parse", "updatedb", "invertlinks", "dedup"] * 3


def test_rounds_alone_go_deeper_each_time(tmp_path: Path, server: SiteServer, seeds: Path) -> None:
    for depth in (2, 4):
        crawl(tmp_path / "crawl", seeds, rounds=2)
        assert pages(server) == dict.fromkeys(expected(depth), 1)


def test_rounds_without_end_stop_when_nothing_is_due(tmp_path: Path, server: SiteServer, seeds: Path) -> None:
    outcome = crawl(tmp_path / "crawl", seeds, depth=2, rounds=-1)
    assert pages(server) == dict.fromkeys(expected(2), 1)
    assert "2 rounds" in outcome.summary[0]
    assert "not yet due (the next at " in outcome.summary[0]


def test_links_are_in_the_linkdb_and_duplicates_marked(tmp_path: Path, server: SiteServer, seeds: Path) -> None:
    server.site["/b"] = server.site["/a"]
    settings = conf(linkdb__ignore__internal__links=False)
    crawl(tmp_path / "crawl", seeds, depth=2, settings=settings)
    links = read_db(Database(tmp_path / "crawl" / "linkdb", "linkdb"))
    assert links[server.url("/a")]["inlinks"] == [{"from_url": server.url("/"), "anchor": "to /a"}]
    rows = read_db(Database(tmp_path / "crawl" / "crawldb", "crawldb"))
    assert Counter(row["status"] for row in rows.values())["db_duplicate"] == 1


def test_nights(tmp_path: Path, server: SiteServer, seeds: Path) -> None:
    folder = tmp_path / "crawl"
    jitter = [0, 13, -14, 15, -15, 6]
    wanted = expected(3)
    for night, minutes in enumerate(jitter):
        if night:
            age(folder, timedelta(days=1, minutes=minutes - jitter[night - 1]))
        if night == 3:
            server.site["/a"] = page("a", "/aa", "/new")
            server.site["/new"] = page("new", "/deep")
            wanted = wanted | {"/new"}  # the page that lost its link, /ab, stays known
        before = pages(server)
        outcome = crawl(folder, seeds, depth=3)
        fetched = pages(server) - before
        assert fetched == dict.fromkeys(wanted, 1), f"night {night}"
        assert outcome.exit_code == 0
    rows = read_db(Database(folder / "crawldb", "crawldb"))
    assert max(row["depth"] for row in rows.values()) == 3
    assert {row["status"] for row in rows.values() if row["depth"] == 3} == {"db_unfetched"}


def test_nothing_due_is_no_failure(tmp_path: Path, server: SiteServer, seeds: Path) -> None:
    crawl(tmp_path / "crawl", seeds, depth=1)
    before = pages(server)
    outcome = crawl(tmp_path / "crawl", seeds, depth=1)
    assert (outcome.exit_code, pages(server)) == (0, before)
    assert "0 rounds" in outcome.summary[0]
    assert "the next at" in outcome.summary[0]


def test_stays_on_the_domains_of_its_seeds(tmp_path: Path, server: SiteServer) -> None:
    with SiteServer(Site({"/": page("other", "/more"), "/more": page("more")}), name="localhost") as other:
        server.site["/a"] = page("a", other.url("/"), "/aa")
        source = tmp_path / "seeds.txt"
        source.write_text(server.url("/a"))
        crawl(tmp_path / "here", source, depth=2)
        assert not other.log.paths()
        assert set(read_db(Database(tmp_path / "here" / "crawldb", "crawldb"))) == {
            server.url(path) for path in ("/a", "/aa", "/aaa", "/aab")
        }
        crawl(tmp_path / "there", source, depth=3, follow_external=True)
        assert set(other.log.paths()) == {"/", "/more"}
        other_seeds = tmp_path / "more.txt"
        other_seeds.write_text(other.url("/more"))
        other.log.clear()
        crawl(tmp_path / "here", source, other_seeds, depth=2)
        assert other.log.paths() == ["/more"]


def test_what_the_user_set_stands() -> None:
    options = CrawlOptions(depth=3)
    own = settled(defaults(), options, ["a.test", "b.test"])
    assert own.integer("generate.max.count") == 1_000
    assert own.integer("generate.due.window") == 7_200
    assert own.text("generate.expr") == "depth < 3"
    assert own.words("urlfilter.order") == [*defaults().words("urlfilter.order"), "domain"]
    assert own.rules("urlfilter.domain.file", "urlfilter.domain.rules").text == "a.test\nb.test"
    users: Mapping[str, Value] = {
        "generate.max.count": -1,
        "generate.due.window": 0,
        "generate.expr": "score > 0",
        "urlfilter.order": ["domain"],
        "urlfilter.domain.rules": "mine.test",
    }
    theirs = settled(defaults().with_values(users), options, ["a.test"])
    assert {name: theirs[name] for name in users if name != "generate.expr"} == {
        name: value for name, value in users.items() if name != "generate.expr"
    }
    assert theirs.text("generate.expr") == "depth < 3 and (\nscore > 0\n)"


def test_a_crawl_that_is_locked(tmp_path: Path, server: SiteServer, seeds: Path) -> None:
    with lock.exclusive(tmp_path / "crawl" / ".lock", "crawl"):
        with pytest.raises(LockedError, match=f"pid {os.getpid()}"):
            crawl(tmp_path / "crawl", seeds)
        skipped = crawl(tmp_path / "crawl", seeds, skip_if_locked=True)
    assert skipped.exit_code == 0
    assert "skipped" in skipped.summary[0]
    assert not server.log.paths()


def test_what_cannot_work_is_said_first(tmp_path: Path, seeds: Path) -> None:
    with pytest.raises(ConfigError, match=r"http\.agent\.name"):
        crawl(tmp_path / "crawl", seeds, settings=conf(http__agent__name=""))
    with pytest.raises(MissingError, match="does not exist"):
        crawl(tmp_path / "crawl", tmp_path / "nowhere.txt")
    with pytest.raises(UsageError, match="give it seeds"):
        crawl(tmp_path / "crawl")
    with pytest.raises(UsageError, match="-depth must be above 0"):
        crawl(tmp_path / "crawl", seeds, depth=0)
    assert not (tmp_path / "crawl").exists()


class _Killed(BaseException):
    """Stands for kill -9 between two stages."""


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict[str, Any]]:
    """What a crawl to depth 2 makes that nobody disturbs, with the server's name taken out."""
    folder = tmp_path_factory.mktemp("unbroken")
    with SiteServer(levels()) as server:
        (folder / "seeds.txt").write_text(server.url("/"))
        crawl(folder / "crawl", folder / "seeds.txt", depth=2)
        return len(list(read_runs(folder / "crawl"))), state(folder / "crawl", server)


def state(folder: Path, server: SiteServer) -> dict[str, Any]:
    tables = {name: read_db(Database(folder / name, name)) for name in ("crawldb", "linkdb")}
    parsed = {
        row["url"]: (row["title"], [link["url"] for link in row["outlinks"]])
        for segment in segments_in(folder / "segments")
        for row in read_table(segment, "parse_data")
    }
    found = {name: without_times(rows) for name, rows in tables.items()} | {"parse_data": parsed}
    return json.loads(json.dumps(found, default=str).replace(server.base, "http://site"))


@pytest.mark.slow
@pytest.mark.parametrize("kill", range(1, 13))
def test_killed_before_any_stage_and_run_again(
    tmp_path: Path,
    seeds: Path,
    server: SiteServer,
    kill: int,
    unbroken: tuple[int, dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stages, whole = unbroken
    assert stages == 13, "inject, and each stage of both rounds, should be one to be killed at"
    count = 0

    def dying(name: str, options: Any, ctx: Context, level: int) -> Outcome:
        nonlocal count
        count += 1
        if count == kill + 1:
            raise _Killed
        return run_stage(name, options, ctx, level)

    with monkeypatch.context() as patched:
        patched.setattr(crawl_module, "run_stage", dying)
        with pytest.raises(_Killed):
            crawl(tmp_path / "crawl", seeds, depth=2)
    crawl(tmp_path / "crawl", seeds, depth=2)
    assert pages(server) == dict.fromkeys(expected(2), 1)
    assert state(tmp_path / "crawl", server) == whole


def test_a_stop_between_stages_keeps_what_was_done(
    tmp_path: Path, seeds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = Stop()

    def stopping(name: str, options: Any, ctx: Context, level: int) -> Outcome:
        outcome = run_stage(name, options, ctx, level)
        if name == "generate":
            stop.set("SIGTERM")
        return outcome

    with monkeypatch.context() as patched:
        patched.setattr(crawl_module, "run_stage", stopping)
        with pytest.raises(Interrupted, match="stopped by SIGTERM after generate"):
            crawl(tmp_path / "crawl", seeds, depth=2, stop=stop)
    (segment,) = segments_in(tmp_path / "crawl" / "segments")
    crawl(tmp_path / "crawl", depth=2)
    assert segment.meta.state("fetch") == "done"


def test_segments_of_others_and_old_ones_are_left_alone(tmp_path: Path, server: SiteServer, seeds: Path) -> None:
    folder = tmp_path / "crawl"
    other = make_crawldb(tmp_path / "other", [server.url("/b")])
    make_segment(folder / "segments", [server.url("/b")], other)
    mine = make_crawldb(folder / "crawldb", [])
    make_segment(folder / "segments", [server.url("/b")], mine, now=datetime.now(UTC) - timedelta(days=8))
    crawl(folder, seeds, depth=1)
    assert server.log.paths() == ["/"]


def test_a_segment_deleted_by_hand_breaks_nothing(tmp_path: Path, server: SiteServer, seeds: Path) -> None:
    import shutil

    crawl(tmp_path / "crawl", seeds, depth=2)
    shutil.rmtree(segments_in(tmp_path / "crawl" / "segments")[0].path)
    age(tmp_path / "crawl", timedelta(days=1))
    crawl(tmp_path / "crawl", seeds, depth=2)
    assert pages(server) == dict.fromkeys(expected(2), 2)


SITE_TOML = """
[http]
"agent.name" = "test-bot"
"filter.ipaddress.exclude" = []
[fetcher]
"server.delay" = 0.05
[parse]
"workers" = 1
"""


def cron(folder: Path, seeds: Path, *words: str) -> subprocess.Popen[str]:
    """The command as cron runs it: no environment to speak of, / as the current folder."""
    command = [sys.executable, "-P", "-m", "nutchpy", "crawl", str(seeds), "-dir", str(folder), "--cron", *words]
    return subprocess.Popen(
        command, cwd="/", env={"LANG": "C"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def with_conf(folder: Path) -> Path:
    (folder / "conf").mkdir(parents=True)
    (folder / "conf" / "nutchpy-site.toml").write_text(SITE_TOML)
    return folder


@pytest.mark.slow
def test_as_cron_runs_it(tmp_path: Path, server: SiteServer, seeds: Path) -> None:
    folder = with_conf(tmp_path / "抓取 目录")
    first = cron(folder, seeds, "-depth", "2", "-numFetchers", "2")
    out, err = first.communicate(timeout=60)
    assert (first.returncode, out) == (0, "")
    assert len(err.splitlines()) == 1, err
    assert "2 rounds" in err
    log = (folder / "logs" / "nutchpy.log").read_text()
    rounds = [re.findall(rf"round {number}, (\w+): ", log) for number in (1, 2)]
    assert rounds == [["generate", "fetch", "parse", "updatedb", "invertlinks", "dedup"]] * 2
    assert log.count("; rules ") == 1
    assert len(log.splitlines()) < 20
    assert pages(server) == dict.fromkeys(expected(2), 1)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1.2, 2.0])
def test_kill_9_and_again(
    tmp_path: Path, server: SiteServer, seeds: Path, seconds: float, unbroken: tuple[int, dict[str, Any]]
) -> None:
    folder = with_conf(tmp_path / "crawl")
    killed = cron(folder, seeds, "-depth", "2", "-numFetchers", "1", "-D", f"db.fetch.interval.default={DAY}")
    time.sleep(seconds)
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=20)
    again = cron(folder, seeds, "-depth", "2", "-D", f"db.fetch.interval.default={DAY}")
    _, err = again.communicate(timeout=60)
    assert again.returncode == 0, err
    assert state(folder, server) == unbroken[1]
    assert set(pages(server)) == expected(2)


@pytest.mark.slow
def test_two_at_once(tmp_path: Path, server: SiteServer, seeds: Path) -> None:
    folder = with_conf(tmp_path / "crawl")
    first = cron(folder, seeds, "-depth", "2")
    deadline = time.monotonic() + 20
    while not server.log.paths() and time.monotonic() < deadline:
        time.sleep(0.02)
    second = cron(folder, seeds, "-depth", "2")
    third = cron(folder, seeds, "-depth", "2", "--skip-if-locked")
    _, refused = second.communicate(timeout=30)
    _, skipped = third.communicate(timeout=30)
    _, err = first.communicate(timeout=60)
    assert (first.returncode, second.returncode, third.returncode) == (0, 3, 0), (err, refused, skipped)
    assert f"pid {first.pid}" in refused
    assert pages(server) == dict.fromkeys(expected(2), 1)
