"""fetch killed at random moments, parent or worker or both, and given again: nothing lost, nothing doubled."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from nutchpy.storage.check import BAD, check_segment
from nutchpy.storage.segment import Segment
from nutchpy.testing.crawls import make_segment, read_table
from nutchpy.testing.site import Site, html, missing, redirect
from nutchpy.testing.site_server import SiteServer

PAGES = 60
SETTINGS = {
    "http.agent.name": "test-bot",
    "http.filter.ipaddress.exclude": "",
    "fetcher.server.delay": "0.02",
    "fetcher.flush.seconds": "0.15",
    "fetcher.max.exceptions.per.queue": "-1",
    "fetcher.exceptions.per.queue.delay": "0",
}
ROUNDS = 4
LONGEST_LIFE = 15.0
"""Seconds by which a worker may outlive its parent, on a machine that has other things to do; else it is one or two."""

pytestmark = pytest.mark.slow


def command(segment: Segment, *more: str) -> list[str]:
    words = [f"{name}={value}" for name, value in SETTINGS.items()] + list(more)
    return [sys.executable, "-m", "nutchpy", "fetch", str(segment.path), *(w for s in words for w in ("-D", s))]


def site() -> Site:
    answers = {f"/{n}": html(str(n), f"page {n} " * 50) for n in range(PAGES)}
    return Site({**answers, "/3": missing(500), "/4": missing(404), "/5": redirect("/6")})


def segment_of(folder: Path, server: SiteServer, lists: int) -> Segment:
    """One host a list."""
    local = server.url().replace("127.0.0.1", "localhost")
    both = [[server.url(f"/{n}") for n in range(PAGES)], [f"{local}{n}" for n in range(PAGES)]]
    return make_segment(folder, both if lists == 2 else [both[0] + both[1]])


def run_and_kill(words: list[str], server: SiteServer, chance: random.Random) -> str:
    """Start, wait for a random number of requests and a moment, kill the parent, a child, or all; who it was."""
    asked = len(server.log) + chance.randrange(-10, 2 * PAGES)
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as parent:
        while len(server.log) < asked and parent.poll() is None:
            time.sleep(0.005)
        try:
            parent.wait(chance.uniform(0.0, 0.4))
        except subprocess.TimeoutExpired:
            return _kill(parent, chance.choice(["parent", "child", "all"]), chance)
    assert parent.returncode == 0
    return "nobody"


def _kill(parent: subprocess.Popen[bytes], victims: str, chance: random.Random) -> str:
    children = psutil.Process(parent.pid).children(recursive=True)
    if victims == "child" and children:
        chance.choice(children).kill()
    else:
        for child in children if victims == "all" else ():
            child.kill()
        os.kill(parent.pid, signal.SIGKILL)
    code = parent.wait(30)
    assert code in (0, -signal.SIGKILL), "a worker killed once is no failure"
    dead = time.monotonic()
    _, alive = psutil.wait_procs(children, timeout=LONGEST_LIFE)
    assert alive == []
    return f"{victims}, outlived by {time.monotonic() - dead:.1f} s"


@pytest.mark.parametrize(("seed", "parse"), [(1, False), (2, True)])
def test_fetch_survives_kills(tmp_path: Path, seed: int, parse: bool) -> None:
    chance = random.Random(seed)
    more = [f"fetcher.parse={str(parse).lower()}"]
    with SiteServer(site()) as server:
        segment = segment_of(tmp_path / "segments", server, 2)
        for _ in range(ROUNDS):
            run_and_kill(command(segment, *more), server, chance)
            check(segment, parse)
        complete(segment, parse, *more)


def test_fetch_survives_many_kills(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """By hand, on a machine that is idle: ``bin/test tests/crash/test_fetch_killed.py --kills 50 -s``."""
    kills = request.config.getoption("kills")
    if not kills:
        pytest.skip("--kills N says how many")
    with SiteServer(site()) as server:
        done, seed = 0, 0
        while done < kills:
            done += _killed_once(tmp_path / str(seed), server, seed)
            seed += 1


def _killed_once(folder: Path, server: SiteServer, seed: int) -> bool:
    """A fetch of its own kind, killed once and given again; whether there was something to kill."""
    chance = random.Random(seed)
    parse, transport, lists = chance.random() < 0.4, chance.choice(["curl", "requests"]), chance.choice([1, 2, 2])
    more = [f"fetcher.parse={str(parse).lower()}", f"protocol.http={transport}"]
    segment = segment_of(folder, server, lists)
    victims = run_and_kill(command(segment, *more), server, chance)
    there = len(check(segment, parse))
    complete(segment, parse, *more)
    print(f"{seed}: {transport}, {lists} lists, {parse=}: killed {victims}, {there} of {2 * PAGES} there")
    return victims != "nobody"


def complete(segment: Segment, parse: bool, *more: str) -> None:
    """The same command again ends it, and all is whole."""
    subprocess.run(command(segment, *more), check=True, timeout=150, capture_output=True)
    assert len(check(segment, parse)) == 2 * PAGES
    assert segment.meta.state("fetch") == "done"
    assert list(check_segment(segment)) == []
    assert not list(segment.path.rglob("*.tmp"))


def check(segment: Segment, parse: bool) -> list[str]:
    """At every moment: one row per URL, a body for every success, parse rows only for what was fetched, no damage."""
    assert [one for one in check_segment(segment) if one.severity in BAD] == []
    fetched = read_table(segment, "crawl_fetch")
    urls: list[str] = [row["url"] for row in fetched]
    assert len(urls) == len(set(urls))
    bodies = [row["url"] for row in read_table(segment, "content")]
    assert len(bodies) == len(set(bodies))
    successes = {row["url"] for row in fetched if row["status"] == "fetch_success"}
    assert successes <= set(bodies)
    parsed = [row["url"] for row in read_table(segment, "parse_data")]
    assert len(parsed) == len(set(parsed))
    assert set(parsed) <= successes
    assert parse or not parsed
    return urls
