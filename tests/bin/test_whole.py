"""bin/demo and bin/crawl with the real stages: the demo tells its whole story; a killed loop goes on where it was."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from nutchpy import open_crawl
from nutchpy.testing.site import Site, html
from nutchpy.testing.site_server import SiteServer

_SPEC = importlib.util.spec_from_file_location("bin_project", Path(__file__).with_name("project.py"))
assert _SPEC is not None
project = importlib.util.module_from_spec(_SPEC)
assert _SPEC.loader is not None
_SPEC.loader.exec_module(project)

Mortal = Callable[..., "subprocess.Popen[bytes]"]

ENV = {"NUTCHPY_VENV": sys.prefix}
SETTINGS = [
    *("-D", "http.agent.name=test", "-D", "http.filter.ipaddress.exclude=", "-D", "fetcher.server.delay=0"),
    *("-D", "parse.workers=1"),
]

pytestmark = pytest.mark.slow


def test_demo_crawls_and_answers(tmp_path: Path) -> None:
    done = project.run(project.BIN / "demo", str(tmp_path / "抓取 目录"), env=ENV)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("$ nutchpy sql ") == 5
    assert "\033[" not in done.stdout
    (folder,) = (tmp_path / "抓取 目录").iterdir()
    assert f"Everything lies in {folder}" in done.stdout
    with open_crawl(folder / "crawl") as crawl:
        states = dict(
            zip(*crawl.sql("select status, count(*) as n from crawldb group by 1").to_pydict().values(), strict=True)
        )
        private = crawl.sql("select protocol_status from crawldb where url like '%/private/%'").to_pylist()
        sessions = crawl.sql("select url from crawldb where url ilike '%phpsessid%' or url like '%ballot%'").to_pylist()
        cafe = crawl.sql("select text from pages where url like '%caf%'").to_pylist()
    assert states["db_fetched"] > 90
    assert states["db_duplicate"] == 8
    assert states["db_gone"] == 4
    assert (states["db_redir_perm"], states["db_redir_temp"]) == (3, 1)
    assert private == [{"protocol_status": "robots_denied"}]
    assert sessions == []
    assert "crêpes à la mode" in cafe[0]["text"]


@pytest.fixture
def site() -> Site:
    """A home page and eight leaves, one of them slow enough to be killed at."""
    leaves = {f"/{n}": html(f"Leaf {n}", f"<p>leaf {n}</p>") for n in range(8)}
    home = html("Home", "".join(f'<a href="{path}">{path}</a>' for path in leaves))
    return Site({"/": home, **leaves, "/7": html("Slow", "<p>slow</p>").after(1.5)})


def test_killed_loop_goes_on_where_it_was(site: Site, tmp_path: Path, mortal: Mortal) -> None:
    with SiteServer(site) as server:
        (tmp_path / "seeds.txt").write_text(f"{server.url()}\n")
        words = [*SETTINGS, "-s", str(tmp_path / "seeds.txt"), str(tmp_path / "crawl")]
        command = [project.BIN / "crawl", *words, "2"]
        loop = mortal(subprocess.Popen(command, env={**os.environ, **ENV}, stderr=subprocess.DEVNULL))
        _until(lambda: "/7" in server.log.paths())
        _kill_all(loop)
        again = project.run(project.BIN / "crawl", *words, "1", env=ENV)
        asked = Counter(server.log.paths())
    assert again.returncode == 0, again.stderr
    assert "finishing what the run before left" in again.stderr
    assert "nothing due" in again.stderr
    assert set(asked) == set(site)
    with open_crawl(tmp_path / "crawl") as crawl:
        rows = crawl.sql("select status, retries from crawldb").to_pylist()
        texts = crawl.sql("select count(*) as n, count(distinct url) as urls from parse_text").to_pylist()
    assert rows == [{"status": "db_fetched", "retries": 0}] * 9
    assert texts == [{"n": 9, "urls": 9}]


def test_stage_of_a_killed_loop_ends_and_the_next_loop_waits_for_it(site: Site, tmp_path: Path, mortal: Mortal) -> None:
    """kill -9 for the loop alone: its fetch, which would go on for ten minutes, publishes what it has and ends."""
    with SiteServer(site) as server:
        (tmp_path / "seeds.txt").write_text("".join(f"{server.url(path)}\n" for path in site))
        words = [*SETTINGS, "-s", str(tmp_path / "seeds.txt"), str(tmp_path / "crawl")]
        command = [project.BIN / "crawl", *words, "1", "-D", "fetcher.server.delay=60"]
        loop = mortal(subprocess.Popen(command, env={**os.environ, **ENV}, stderr=subprocess.DEVNULL))
        _until(lambda: not set(site).isdisjoint(server.log.paths()))
        (stage,) = psutil.Process(loop.pid).children()
        loop.kill()
        loop.wait()
        again = project.run(project.BIN / "crawl", *words, "0", env=ENV)
        asked = Counter(server.log.paths())
    assert again.returncode == 0, again.stderr
    assert not stage.is_running()
    assert {path: asked[path] for path in site} == dict.fromkeys(site, 1)


def _until(true: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _kill_all(loop: subprocess.Popen[bytes]) -> None:
    """kill -9 for the loop and whatever it started."""
    for process in [*psutil.Process(loop.pid).children(recursive=True), loop]:
        process.kill()
    loop.wait()
