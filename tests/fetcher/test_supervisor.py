"""Real worker processes over real servers: killed, stopped, orphaned."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from nutchpy.conf.layers import Conf, defaults
from nutchpy.core.errors import NutchpyError
from nutchpy.fetcher.lists import Task
from nutchpy.fetcher.status import FetchStatus
from nutchpy.fetcher.supervisor import MOST_RESTARTS, Supervisor
from nutchpy.stages.context import Stop
from nutchpy.storage.segment import Segment
from nutchpy.testing.crawls import make_segment, read_table
from nutchpy.testing.site import Site, text
from nutchpy.testing.site_server import SiteServer

PAGES = 30


@pytest.fixture
def server() -> Iterator[SiteServer]:
    with SiteServer(Site({f"/{n}": text(str(n)) for n in range(PAGES)})) as running:
        yield running


def conf(delay: float) -> Conf:
    return defaults().with_values(
        {
            "http.agent.name": "test-bot",
            "http.filter.ipaddress.exclude": "",
            "fetcher.server.delay": delay,
            "fetcher.flush.seconds": 0.2,
            "urlfilter.order": "",
            "urlnormalizer.order": "",
        }
    )


def tasks(segment: Segment, delay: float = 0.05) -> list[Task]:
    return [Task(segment, number, 2, conf(delay)) for number in range(2)]


def segment_of(tmp_path: Path, server: SiteServer) -> Segment:
    local = server.url().replace("127.0.0.1", "localhost")
    return make_segment(
        tmp_path / "segments",
        [[server.url(f"/{n}") for n in range(PAGES)], [f"{local}{n}" for n in range(PAGES)]],
    )


def is_worker(process: psutil.Process) -> bool:
    try:
        return "nutchpy.fetcher.worker" in process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False  # ended while it was looked at


def workers() -> list[psutil.Process]:
    return list(filter(is_worker, psutil.Process().children()))


def kill(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        process.kill()


def supervisor(segment: Segment, stop: Stop, reports: list[FetchStatus], delay: float = 0.05) -> Supervisor:
    return Supervisor(tasks(segment, delay), 2, 1.0, stop, time.monotonic, reports.append)


def when(condition: object, then: object) -> threading.Thread:
    """Do something as soon as something is so."""

    def watch() -> None:
        until = time.monotonic() + 20
        while not condition() and time.monotonic() < until:  # type: ignore[operator]
            time.sleep(0.01)
        then()  # type: ignore[operator]

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_a_killed_worker_is_begun_again_and_resumes(tmp_path: Path, server: SiteServer) -> None:
    segment = segment_of(tmp_path, server)
    reports: list[FetchStatus] = []
    killer = when(lambda: len(segment.parts("crawl_fetch")) >= 3, lambda: kill(workers()[0]))
    results = supervisor(segment, Stop(), reports).run()
    killer.join()
    fetched = [row["url"] for row in read_table(segment, "crawl_fetch")]
    assert len(fetched) == len(set(fetched)) == 2 * PAGES
    assert sorted(fetched) == sorted(row["url"] for row in read_table(segment, "content"))
    asked = Counter(server.log.paths())
    assert max(asked.values()) <= 3, "one more for what was under way or not published"
    assert len(results) == 2
    assert reports
    assert max(report.pages for report in reports) > PAGES


def test_a_worker_killed_again_and_again_is_an_error(tmp_path: Path, server: SiteServer) -> None:
    segment = segment_of(tmp_path, server)
    stopped = threading.Event()

    def kill_all() -> None:
        while not stopped.wait(0.05):
            for worker in workers():
                kill(worker)

    killer = threading.Thread(target=kill_all)
    killer.start()
    try:
        with pytest.raises(NutchpyError, match=f"killed {MOST_RESTARTS + 1} times"):
            supervisor(segment, Stop(), []).run()
    finally:
        stopped.set()
        killer.join()
    assert workers() == []


def test_a_stop_reaches_all_workers(tmp_path: Path, server: SiteServer) -> None:
    segment = segment_of(tmp_path, server)
    stop = Stop()
    stopper = when(lambda: len(server.log.paths()) > 4, lambda: stop.set("SIGTERM"))
    begin = time.monotonic()
    results = supervisor(segment, stop, [], delay=0.5).run()
    stopper.join()
    assert time.monotonic() - begin < 10
    assert {result.reason for result in results} == {"interrupted"}
    assert len(read_table(segment, "crawl_fetch")) == len(server.log.paths())
    assert workers() == []


_PARENT = """
import sys, time
from pathlib import Path
from nutchpy.conf.layers import defaults
from nutchpy.fetcher.lists import Task
from nutchpy.fetcher.supervisor import Supervisor
from nutchpy.stages.context import Stop
from nutchpy.storage.segment import Segment
values = {"http.agent.name": "b", "http.filter.ipaddress.exclude": "", "fetcher.server.delay": 0.5}
values |= {"urlfilter.order": "", "urlnormalizer.order": ""}
conf = defaults().with_values(values)
tasks = [Task(Segment(Path(sys.argv[1])), n, 2, conf) for n in range(2)]
Supervisor(tasks, 2, 10.0, Stop(), time.monotonic, lambda status: None).run()
"""


def test_no_worker_outlives_its_parent(tmp_path: Path, server: SiteServer) -> None:
    segment = segment_of(tmp_path, server)
    with subprocess.Popen([sys.executable, "-c", _PARENT, str(segment.path)]) as parent:
        until = time.monotonic() + 20
        while len(server.log.paths()) < 4 and time.monotonic() < until:
            time.sleep(0.02)
        children = psutil.Process(parent.pid).children(recursive=True)
        assert len(children) == 2
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        _, alive = psutil.wait_procs(children, timeout=5)
        assert alive == []
    fetched = {row["url"] for row in read_table(segment, "crawl_fetch")}
    assert len(fetched) >= 2, "what they had they published"
