"""The site server: real HTTP by raw sockets and http.client, the access log, changes while it serves."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from urllib.request import urlopen

import pytest

from nutchpy.testing.site import Page, Site, html, in_turn, redirect, text
from nutchpy.testing.site_server import AccessLog, SiteServer

OLD = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def site() -> Site:
    return Site(
        {
            "/": html("Home", "<p>" + "long enough to be coded " * 40, last_modified=OLD),
            "/old": redirect("/", 302),
            "/q?a=1": text("exact"),
            "/q": lambda request: text(f"by path: {request.target}"),
            "/slow": text("late").after(0.3),
        }
    )


def ask(server: SiteServer, target: str, method: str = "GET", **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)) as client:
        client.request(method, target, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = client.getresponse()
        return response, response.read()


def test_pages_redirects_and_misses(site: Site) -> None:
    with SiteServer(site) as server:
        assert ask(server, "/")[1].startswith(b"<!doctype html>")
        moved, body = ask(server, "/old")
        assert (moved.status, moved.getheader("Location"), body) == (302, "/", b"")
        assert ask(server, "/nowhere")[0].status == 404
        assert ask(server, "/q?a=1")[1] == b"exact"
        assert ask(server, "/q?a=2")[1] == b"by path: /q?a=2"


def test_validators_make_304(site: Site) -> None:
    with SiteServer(site) as server:
        first, _ = ask(server, "/")
        etag, modified = first.getheader("ETag"), first.getheader("Last-Modified")
        assert etag
        assert modified
        assert ask(server, "/", If_None_Match=etag)[0].status == 304
        assert ask(server, "/", If_Modified_Since=modified)[0].status == 304
        assert ask(server, "/", If_None_Match='"other"', If_Modified_Since=modified)[0].status == 200
        assert ask(server, "/", If_Modified_Since="nonsense")[0].status == 200
        site["/"] = html("Home", "changed", last_modified=OLD)
        assert ask(server, "/", If_None_Match=etag)[0].status == 200
        assert [record.conditional for record in server.log] == [False, True, True, True, True, True]


def test_gzip_only_when_asked_for(site: Site) -> None:
    with SiteServer(site) as server:
        plain, body = ask(server, "/")
        coded, small = ask(server, "/", Accept_Encoding="gzip, br")
        assert plain.getheader("Content-Encoding") is None
        assert coded.getheader("Content-Encoding") == "gzip"
        assert len(small) < len(body)
        assert gzip.decompress(small) == body


def test_head_has_no_body(site: Site) -> None:
    with SiteServer(site) as server:
        response, body = ask(server, "/", method="HEAD")
        assert body == b""
        assert int(response.getheader("Content-Length") or 0) > 400


def test_connection_is_kept(site: Site) -> None:
    with SiteServer(site) as server:
        client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        for _ in range(3):
            client.request("GET", "/")
            client.getresponse().read()
        assert client.sock is not None
        client.close()
        assert server.log.paths() == ["/", "/", "/"]


def test_answers_may_differ_from_time_to_time() -> None:
    site = Site({"/flaky": in_turn(Page(status=503), text("well again"))})
    with SiteServer(site) as server:
        assert [ask(server, "/flaky")[0].status for _ in range(3)] == [503, 200, 200]
        del site["/flaky"]
        assert ask(server, "/flaky")[0].status == 404


def test_log_tells_what_was_asked_and_when(site: Site) -> None:
    log = AccessLog()
    before = time.time()
    with SiteServer(site, log=log, name="localhost") as one, SiteServer(site, log=log) as other:
        ask(one, "/slow", User_Agent="probe")
        ask(other, "/robots.txt")
        slow, robots = log
        assert (slow.server, slow.host) == (f"http://localhost:{one.port}", f"127.0.0.1:{one.port}")
        assert (slow.target, slow.status, slow.bytes, slow.user_agent) == ("/slow", 200, 4, "probe")
        assert slow.ended - slow.started >= 0.3
        assert before <= slow.wall <= robots.wall
        assert log.paths() == ["/slow"]
        assert log.paths(robots=True) == ["/slow", "/robots.txt"]


def test_closing_hangs_up_on_waiting_clients() -> None:
    site = Site({"/never": text("x").after(60)})
    server = SiteServer(site)
    with server:
        client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        client.request("GET", "/never")
        idle = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        idle.connect()
        time.sleep(0.1)
        started = time.monotonic()
    assert time.monotonic() - started < 2
    with contextlib.suppress(ConnectionError, http.client.HTTPException):
        client.getresponse()
    client.close()
    idle.close()


def test_command_serves_the_demo_site_until_told_to_stop(tmp_path: Path) -> None:
    log = tmp_path / "access.jsonl"
    command = [sys.executable, "-m", "nutchpy.testing.site_server", "--ports", "0", "0", "0", "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        seeds = [process.stdout.readline().strip() for _ in range(3)]
        with urlopen(seeds[1], timeout=5) as response:
            assert b"Lantern Journal" in response.read()
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(5) == 0
    assert [json.loads(line)["target"] for line in log.read_text().splitlines()] == ["/"]
