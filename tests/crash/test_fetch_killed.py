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

pytestmark = pytest.mark.slow


def command(segment: Segment, parse: bool) -> list[str]:
    words = [f"{name}={value}" for name, value in SETTINGS.items()] + ([] if not parse else ["fetcher.parse=true"])
    return [sys.executable, "-m", "nutchpy", "fetch", str(segment.path), *(w for s in words for w in ("-D", s))]


def site() -> Site:
    answers = {f"/{n}": html(str(n), f"page {n} " * 50) for n in range(PAGES)}
    return Site({**answers, "/3": missing(500), "/4": missing(404), "/5": redirect("/6")})


def run_and_kill(segment: Segment, parse: bool, chance: random.Random) -> None:
    """Start, wait a random while, kill the parent, a child, or all of them."""
    with subprocess.Popen(command(segment, parse), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as parent:
        try:
            parent.wait(chance.uniform(0.6, 2.2))
        except subprocess.TimeoutExpired:
            children = psutil.Process(parent.pid).children(recursive=True)
            victims = chance.choice(["parent", "child", "all"])
            for child in children if victims == "all" else children[: victims == "child"]:
                child.kill()
            if victims != "child":
                os.kill(parent.pid, signal.SIGKILL)
            parent.wait(30)
            _, alive = psutil.wait_procs(children, timeout=8)
            assert alive == []


@pytest.mark.parametrize(("seed", "parse"), [(1, False), (2, True)])
def test_fetch_survives_kills(tmp_path: Path, seed: int, parse: bool) -> None:
    chance = random.Random(seed)
    with SiteServer(site()) as server:
        local = server.url().replace("127.0.0.1", "localhost")
        lists = [[server.url(f"/{n}") for n in range(PAGES)], [f"{local}{n}" for n in range(PAGES)]]
        segment = make_segment(tmp_path / "segments", lists)
        for _ in range(4):
            run_and_kill(segment, parse, chance)
            check(segment, parse)
        begin = time.monotonic()
        subprocess.run(command(segment, parse), check=True, timeout=60, capture_output=True)
        assert time.monotonic() - begin < 30
    check(segment, parse)
    assert len(read_table(segment, "crawl_fetch")) == 2 * PAGES
    assert segment.meta.state("fetch") == "done"
    assert not list(segment.path.rglob("*.tmp"))


def check(segment: Segment, parse: bool) -> None:
    """At every moment: one row per URL, a body for every success, parse rows only for what was fetched."""
    fetched = read_table(segment, "crawl_fetch")
    urls = [row["url"] for row in fetched]
    assert len(urls) == len(set(urls))
    bodies = [row["url"] for row in read_table(segment, "content")]
    assert len(bodies) == len(set(bodies))
    successes = {row["url"] for row in fetched if row["status"] == "fetch_success"}
    assert successes <= set(bodies)
    parsed = [row["url"] for row in read_table(segment, "parse_data")]
    assert len(parsed) == len(set(parsed))
    assert set(parsed) <= successes
    assert parse or not parsed
