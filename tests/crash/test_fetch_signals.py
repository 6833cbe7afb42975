"""Signals to a fetch as a user gives them, with one process and with two: SIGUSR1, Ctrl-C, Ctrl-C once more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import psutil
import pytest

from nutchpy.storage.segment import Segment
from nutchpy.testing.crawls import make_segment, read_table
from nutchpy.testing.raw_server import Action, RawServer, Send, Wait
from nutchpy.testing.zoo import NO_ROBOTS

PAGES = 30
SETTINGS = ("http.agent.name=b", "http.filter.ipaddress.exclude=", "fetcher.server.delay=0.3", "http.timeout=60000")
_PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 16\r\n\r\n<title>x</title>"
Mortal = Callable[..., "subprocess.Popen[Any]"]

pytestmark = pytest.mark.slow


class Server:
    """Answers at once, until it is told to ``hold``: then what is asked waits for ``seconds``."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.held = Event()
        self._raw = RawServer(self._answer)
        self.close = self._raw.close
        self.requests = self._raw.requests
        self.url = self._raw.url

    def hold(self, seconds: float) -> None:
        self.held.clear()
        self.seconds = seconds

    def _answer(self, head: bytes) -> Sequence[Action]:
        if b"robots" in head[:20]:
            return [Send(NO_ROBOTS)]
        if self.seconds:
            self.held.set()
        return [Wait(self.seconds), Send(_PAGE)]


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def segment_of(folder: Path, server: Server, lists: int) -> Segment:
    local = server.url("/").replace("127.0.0.1", "localhost")
    both = [[server.url(f"/{n}") for n in range(PAGES)], [f"{local}{n}" for n in range(PAGES)]]
    return make_segment(folder, both[:lists])


def command(segment: Segment) -> list[str]:
    words = [word for setting in SETTINGS for word in ("-D", setting)]
    return [sys.executable, "-m", "nutchpy", "fetch", str(segment.path), *words]


def started(segment: Segment, server: Server, log: Path, mortal: Mortal) -> subprocess.Popen[Any]:
    """A fetch that is under way, in a process group of its own, as a terminal's foreground job is."""
    with log.open("w") as said:
        process = mortal(subprocess.Popen(command(segment), stderr=said, start_new_session=True), 200)
    until(lambda: len(server.requests) > 4)
    return process


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def complete(segment: Segment) -> None:
    """The same command ends what was left."""
    subprocess.run([*command(segment), "-D", "fetcher.server.delay=0.0"], check=True, capture_output=True, timeout=150)
    urls = [row["url"] for row in read_table(segment, "crawl_fetch")]
    assert len(urls) == len(set(urls)) == PAGES * segment.meta.lists
    assert segment.meta.state("fetch") == "done"


@pytest.mark.parametrize("lists", [1, 2])
def test_sigusr1_names_the_queues_of_all_processes(tmp_path: Path, server: Server, mortal: Mortal, lists: int) -> None:
    segment, log = segment_of(tmp_path / "segments", server, lists), tmp_path / "log"
    process = started(segment, server, log, mortal)
    names = ["queue 127.0.0.1: ", "queue localhost: "][:lists]

    def asked() -> bool:
        process.send_signal(signal.SIGUSR1)  # a worker that is still loading its modules has nothing to tell
        time.sleep(0.3)
        return all(name in log.read_text() for name in names)

    until(asked)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(60) == 5


@pytest.mark.parametrize("lists", [1, 2])
def test_ctrl_c_lets_requests_in_flight_end(tmp_path: Path, server: Server, mortal: Mortal, lists: int) -> None:
    segment, log = segment_of(tmp_path / "segments", server, lists), tmp_path / "log"
    process = started(segment, server, log, mortal)
    server.hold(1.0)
    assert server.held.wait(60)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) == 5
    server.hold(0.0)
    asked = {head.split()[1].decode() for head in server.requests if b"robots" not in head[:20]}
    found = read_table(segment, "crawl_fetch")
    assert {row["url"].rpartition("/")[2] for row in found} == {path[1:] for path in asked}
    assert {row["status"] for row in found} == {"fetch_success"}
    assert segment.meta.state("fetch") == "interrupted"
    assert "give the same command again" in log.read_text()
    complete(segment)


@pytest.mark.parametrize("lists", [1, 2])
def test_a_second_ctrl_c_ends_at_once(tmp_path: Path, server: Server, mortal: Mortal, lists: int) -> None:
    segment, log = segment_of(tmp_path / "segments", server, lists), tmp_path / "log"
    process = started(segment, server, log, mortal)
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) == (lists if lists > 1 else 0)
    server.hold(120.0)
    assert server.held.wait(60)
    os.killpg(process.pid, signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.7)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(8) == 5, "fetcher.stop.grace is ten"
    assert "what was published is kept" in log.read_text()
    _, alive = psutil.wait_procs(children, timeout=15)
    assert alive == []
    server.hold(0.0)
    complete(segment)
