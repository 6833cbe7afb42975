"""A fetch that is sent elsewhere by what it fetches: no redirect leads it to a refused address or to a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nutchpy.conf.layers import Value, defaults
from nutchpy.stages.context import Context
from nutchpy.stages.fetch import FetchOptions, run
from nutchpy.testing.crawls import make_segment, read_table
from nutchpy.testing.raw_server import Action, RawServer, Send
from nutchpy.testing.zoo import NO_ROBOTS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs 127.0.0.2, which Linux alone has")

TO_THE_SECRET = (
    *("http://127.0.0.2:{port}/x", "HTTP://127.0.0.2:{port}/", "//127.0.0.2:{port}/", "\\\\127.0.0.2:{port}\\"),
    *("http:\\\\127.0.0.2:{port}/", "http:///127.0.0.2:{port}/", "\thttp://127.0.0.2:{port}/", "/\\127.0.0.2:{port}/"),
    *("http://2130706434:{port}/", "http://0x7f000002:{port}/", "http://0177.2:{port}/", "http://127.2:{port}/"),
    *("http://127.0.0.2.:{port}/", "http://[::ffff:127.0.0.2]:{port}/", "http://[64:ff9b::7f00:2]:{port}/"),
    *("http://127.0.0.1@127.0.0.2:{port}/", "http://127.0.0.1:80@127.0.0.2:{port}/", "https://127.0.0.2:{port}/"),
    *("http://①②⑦.0.0.2:{port}/", "http://%31%32%37.0.0.2:{port}/"),
)
TO_ELSEWHERE = (
    *("file:///{secret}", "file://localhost/{secret}", "FILE:///{secret}", "file:/{secret}", "file:{secret}"),
    *(
        "ftp://127.0.0.2:{port}/",
        "gopher://127.0.0.2:{port}/",
        "data:text/html,x",
        "javascript:x",
        "view-source:file:///",
    ),
)


def fetched(tmp_path: Path, urls: Sequence[str], transport: str) -> dict[str, str]:
    """Protocol status by URL. Files and FTP are to be fetched, too, if only it came to that."""
    values: dict[str, Value] = {
        "http.agent.name": "bot",
        "http.filter.ipaddress.include": ["127.0.0.1"],
        "http.redirect.max": 3,
        "protocol.http": transport,
        "protocol.file": "file",
        "protocol.ftp": "ftp",
        "file.root": "/",
        "fetcher.server.delay": 0.0,
        "fetcher.exceptions.per.queue.delay": 0.0,
        "fetcher.max.exceptions.per.queue": -1,
        "urlfilter.order": "",
    }
    conf = defaults().with_values(values)
    segment = make_segment(tmp_path / transport, urls)
    run(FetchOptions.of(conf, segment=segment.path), Context(conf, datetime.now(UTC)))
    return {row["url"]: row["protocol_status"] for row in read_table(segment, "crawl_fetch")}


@pytest.mark.parametrize("transport", ["curl", "requests"])
def test_redirects(tmp_path: Path, transport: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    with RawServer([Send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")], address="127.0.0.2") as private:
        targets = [target.format(port=private.port, secret=secret) for target in (*TO_THE_SECRET, *TO_ELSEWHERE)]

        def answer(head: bytes) -> list[Action]:
            if b"/robots.txt" in head[:20]:
                return [Send(NO_ROBOTS)]
            location = targets[int(head.split()[1][1:])]
            return [Send(f"HTTP/1.1 302 x\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode())]

        with RawServer(answer) as server:
            found = fetched(tmp_path, [server.url(f"/{n}") for n in range(len(targets))], transport)
        sources = [found.pop(server.url(f"/{n}")) for n in range(len(targets))]
        assert set(sources) == {"temp_moved"}
        assert set(found.values()) == {"address_refused"}, found
        assert len(found) >= 5, "as many as there are normal forms of them"
        assert all(url.startswith("http") for url in found)
        assert private.accepted == 0


@pytest.mark.parametrize("transport", ["curl", "requests"])
@pytest.mark.parametrize("target", ["http://127.0.0.2:{port}/robots.txt", "file:///{secret}"])
def test_redirects_of_robots_txt(tmp_path: Path, transport: str, target: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("User-agent: *\nDisallow: /\n")
    with RawServer([Send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")], address="127.0.0.2") as private:
        location = target.format(port=private.port, secret=secret)

        def answer(head: bytes) -> list[Action]:
            moved = f"HTTP/1.1 302 x\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
            return [Send(moved if b"/robots.txt" in head[:20] else b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")]

        with RawServer(answer) as server:
            found = fetched(tmp_path, [server.url("/page")], transport)
        assert private.accepted == 0
    expected = "address_refused" if target.startswith("http") else "success"
    assert found == {server.url("/page"): expected}, "one that leads nowhere on the web is no robots.txt"
