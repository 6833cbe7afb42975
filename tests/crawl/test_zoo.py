"""Hostile servers and good ones, fetched together: each ends as it has to, and the good ones are fetched whole."""

from __future__ import annotations

import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from nutchpy.storage.segment import Segment
from nutchpy.testing.crawls import make_segment, read_table
from nutchpy.testing.raw_server import Action, Again, RawServer, Send
from nutchpy.testing.zoo import NO_ROBOTS, Animal, animals

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs 127.0.0.2 and up, which Linux alone has")

DELAY = 0.2
GOOD_HOSTS, GOOD_PAGES = 10, 20
MOST_MB = 400
SETTINGS = {
    "http.agent.name": "bot",
    "http.filter.ipaddress.exclude": "linklocal,127.0.0.1",
    "http.timeout": 1500,
    "http.time.limit": 4,
    "http.redirect.max": 3,
    "http.robots.503.defer.visits.delay": 100,
    "http.robots.503.defer.visits.retries": 1,
    "fetcher.server.delay": DELAY,
    "fetcher.exceptions.per.queue.delay": DELAY,
    "urlfilter.order": "",
}
_PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 16\r\n\r\n<title>x</title>"


class Fetch:
    """One run of the stage, in a process of its own."""

    def __init__(self, folder: Path, urls: Sequence[str], *more: str) -> None:
        self.segment: Segment = make_segment(folder, urls)
        words = [f"{name}={value}" for name, value in SETTINGS.items()]
        options = [word for setting in [*words, *more] for word in ("-D", setting)]
        command = [sys.executable, "-m", "nutchpy", "fetch", str(self.segment.path), "-threads", "150", *options]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as it:
            assert it.stderr is not None
            said: list[str] = []
            reader = threading.Thread(target=lambda: said.append(it.stderr.read()))  # type: ignore[union-attr]
            reader.start()
            self.peak_mb = 0.0
            while it.poll() is None:
                self.peak_mb = max(self.peak_mb, _peak_mb(it.pid))
                time.sleep(0.05)
            reader.join()
        self.log = said[0]
        assert it.returncode == 0, self.log
        self.rows: dict[str, dict[str, Any]] = {row["url"]: row for row in read_table(self.segment, "crawl_fetch")}


def _peak_mb(pid: int) -> float:
    """The most memory a process has had so far; not what wait4 says, which counts the parent it was forked from."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)


def _good(head: bytes) -> list[Action]:
    return [Send(NO_ROBOTS) if b"robots" in head[:20] else Send(_PAGE), Again()]


@pytest.fixture
def loop() -> Iterator[list[str]]:
    """Two hosts that send whoever comes to each other."""
    targets: list[str] = []

    def sends_to(other: int) -> Callable[[bytes], list[Action]]:
        def script(head: bytes) -> list[Action]:
            if b"robots" in head[:20]:
                return [Send(NO_ROBOTS)]
            answer = f"HTTP/1.1 302 x\r\nLocation: {targets[other]}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            return [Send(answer.encode())]

        return script

    with RawServer(sends_to(1), address="127.0.5.1") as one, RawServer(sends_to(0), address="127.0.5.2") as two:
        targets += [one.url("/ring"), two.url("/ring")]
        yield targets


@pytest.fixture(scope="module")
def good() -> Iterator[list[str]]:
    with ExitStack() as stack:
        urls = []
        for host in range(GOOD_HOSTS):
            server = stack.enter_context(RawServer(_good, address=f"127.0.3.{host + 1}"))
            urls += [server.url(f"/{page}") for page in range(GOOD_PAGES)]
        yield urls


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Animal, str]]]:
    folder: Path = tmp_path_factory.mktemp("tls")
    made = threading.Lock()

    def context() -> ssl.SSLContext:
        with made:
            command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=zoo"]
            subprocess.run([*command, "-keyout", "k.pem", "-out", "c.pem"], cwd=folder, check=True, capture_output=True)
        found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        found.load_cert_chain(folder / "c.pem", folder / "k.pem")
        return found

    with ExitStack() as stack:
        let_loose = {}
        for number, animal in enumerate(animals()):
            server = stack.enter_context(animal.serve(f"127.0.4.{number + 1}", context))
            let_loose[animal.name] = animal, animal.url(server)
        yield let_loose


@pytest.mark.parametrize("transport", ["curl", "requests"])
def test_each_ends_as_it_has_to_and_the_good_are_fetched(
    tmp_path: Path, zoo: dict[str, tuple[Animal, str]], good: list[str], loop: list[str], transport: str
) -> None:
    assert len(zoo) >= 40
    extra = [
        "http://127.0.4.250:1/nobody-listens",
        "http://localhost:9/a-name-of-a-refused-address",
        "http://no.invalid/",
    ]
    hostile = [url for _, url in zoo.values()]
    both = Fetch(tmp_path / "both", [*hostile, *good, *extra, loop[0]], f"protocol.http={transport}")
    found = {
        animal.name: (row["protocol_status"], row["http_status"], row["truncated"]) if row else (None, None, None)
        for animal, url in zoo.values()
        for row in [both.rows.get(url)]
    }
    unexpected = {
        animal.name: (found[animal.name], animal.expected, (both.rows.get(url) or {}).get("message"))
        for animal, url in zoo.values()
        if found[animal.name] not in (animal.expected, *animal.also)
    }
    assert not unexpected
    assert [both.rows[url]["protocol_status"] for url in extra] == ["connect_failed", "address_refused", "dns_failed"]
    assert both.rows["http://169.254.169.254/latest"]["protocol_status"] == "address_refused"
    assert [(both.rows[url]["protocol_status"], both.rows[url]["redirect_to"]) for url in loop] == [
        ("temp_moved", loop[1]),
        ("temp_moved", loop[0]),
    ]
    assert {both.rows[url]["protocol_status"] for url in good} == {"success"}
    assert both.peak_mb < MOST_MB
