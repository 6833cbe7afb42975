"""A real documentation site, crawled in rounds with two fetch lists: complete, polite, restartable."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import docsite
import pytest

from nutchpy import open_crawl

pytestmark = pytest.mark.skipif(docsite.missing() is not None, reason=str(docsite.missing()))

DEPTH = 4
DELAY = 0.02
SHORT = (docsite.DISALLOWED, "/library/", "/c-api/")
"""Closed in the test of kills: what is left still lasts longer than a stage lives there."""


def stages(crawl: Path, segment: str) -> list[list[object]]:
    return [
        ["fetch", segment, "-threads", 10, "-D", f"fetcher.server.delay={DELAY}"],
        ["parse", segment],
        ["updatedb", crawl / "crawldb", segment],
        ["invertlinks", crawl / "linkdb", segment],
    ]


def whole_crawl(nutchpy, crawl: Path, seeds: list[str], depth: int = DEPTH) -> None:
    crawl.mkdir(parents=True)
    (crawl / "seeds.txt").write_text("".join(f"{seed}\n" for seed in seeds))
    nutchpy("inject", crawl / "crawldb", crawl / "seeds.txt")
    for _ in range(depth):
        generated = nutchpy("generate", crawl / "crawldb", crawl / "segments", "-numFetchers", 2)
        for words in stages(crawl, generated.stdout.strip()):
            nutchpy(*words)


def ask(crawl: Path, sql: str) -> list[dict]:
    with open_crawl(crawl) as opened:
        return opened.sql(sql).to_pylist()


def test_complete_and_polite(tmp_path: Path, nutchpy) -> None:
    crawl = tmp_path / "crawl"
    expected = docsite.reachable(DEPTH)
    allowed = {path for path in expected if not path.startswith(docsite.DISALLOWED)}
    with docsite.served(tmp_path / "nginx", ("127.0.0.1", "127.0.0.2")) as site:
        whole_crawl(nutchpy, crawl, site.seeds)
        requests = site.requests()

    for host in site.hosts:
        log = [request for request in requests if request.host == host]
        paths = Counter(request.path for request in log)
        assert set(paths) == allowed
        assert max(paths.values()) == 1
        gaps = [later.start - earlier.end for earlier, later in pairwise(sorted(log, key=lambda r: r.start))]
        assert min(gaps) >= DELAY - 0.002  # the log's clock has milliseconds

    served = Counter(request.status for request in requests)
    stored = {r["http_status"]: r["n"] for r in ask(crawl, "select http_status, count(*) as n from crawl_fetch where http_status is not null group by 1")}  # fmt: skip  # noqa: E501
    assert stored == served
    denied = ask(crawl, "select count(*) as n from crawldb where protocol_status = 'robots_denied'")[0]["n"]
    assert denied == len(site.hosts) * (len(expected) - len(allowed))
    depths = {r["url"]: r["depth"] for r in ask(crawl, "select url, depth from crawldb where status = 'db_fetched'")}
    port = site.port
    for path in allowed:
        if (url := f"http://127.0.0.1:{port}{path}") in depths:
            assert depths[url] == expected[path], path


KILLED = ("generate", "fetch", "parse", "updatedb", "invertlinks")


def test_killed_and_run_again_gives_the_same_tables(tmp_path: Path, nutchpy, environment) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    chance = random.Random(20260301)
    with docsite.served(tmp_path / "nginx", ("127.0.0.1",), SHORT) as site:
        whole_crawl(nutchpy, whole, site.seeds, depth=3)
        broken.mkdir()
        (broken / "seeds.txt").write_text("".join(f"{seed}\n" for seed in site.seeds))
        nutchpy("inject", broken / "crawldb", broken / "seeds.txt")
        for _ in range(3):
            generate = ["generate", broken / "crawldb", broken / "segments", "-numFetchers", 2]
            kill(generate, environment, chance.uniform(0.2, 1.2))
            segment = unfinished(broken) or nutchpy(*generate).stdout.strip()
            for words in stages(broken, segment):
                for _ in range(2):
                    kill(words, environment, chance.uniform(0.3, 2.5))
                nutchpy(*words)
    for table, columns in SAME.items():
        order = f"select {columns} from {table} order by all"
        assert ask(broken, order) == ask(whole, order), table


SAME = {
    "crawldb": "url, status, retries, fetch_interval, round(score, 4), signature, depth, http_status, protocol_status",
    "linkdb": "url, inlinks",
    "parse_data": "url, parse_status, title, outlinks",
    "parse_text": "url, text",
    "crawl_fetch": "url, status, http_status, protocol_status",
    "content": "url, content_type, content",
}


def unfinished(crawl: Path) -> str | None:
    """The segment that a killed generate had published after all."""
    states = ask(crawl, "select segment from segments where fetch_state is null")
    return str(crawl / "segments" / states[0]["segment"]) if states else None


def kill(words: list[object], environment: dict[str, str], after: float) -> None:
    """Start a command and kill it and nothing else; its workers must end by themselves."""
    command = [sys.executable, "-m", "nutchpy", *map(str, words)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            workers = children(process.pid)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            assert gone(workers), f"workers outlived their parent: {workers}"


def children(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def gone(pids: list[int], seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not any(Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids):
            return True
        time.sleep(0.1)
    return False
