"""fetch, given URLs: what would be stored of them."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import ConfigError, UsageError
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.fetch import FetchOptions
from nutchpy.stages.runner import run_stage
from nutchpy.testing.raw_server import RawServer, Send
from nutchpy.testing.site import Site, html, redirect, text
from nutchpy.testing.site_server import SiteServer


@pytest.fixture
def server() -> Iterator[SiteServer]:
    site = {
        "/": html("Home", "hi"),
        "/r": redirect("/"),
        "/robots.txt": text("User-agent: *\nDisallow: /no\n"),
    }
    with SiteServer(Site(site)) as it:
        yield it


def fetch(*urls: str, crawl: Path | None = None, head: bool = False, body: bool = False, **values: Any) -> Outcome:
    base = {"http.agent.name": "t", "http.filter.ipaddress.exclude": "", "fetcher.server.delay": 0.0}
    conf = defaults().with_values({**base, **{name.replace("__", "."): value for name, value in values.items()}})
    options = FetchOptions(urls[0], urls[1:], head=head, body=body)
    return run_stage("fetch", options, Context(conf, datetime.now(UTC), crawl_dir=crawl))


def objects(outcome: Outcome) -> dict[str, dict[str, Any]]:
    return {row["url"].partition("/")[2].partition("/")[2].partition("/")[2]: row for row in outcome.data}


def test_what_would_be_stored_is_told(server: SiteServer) -> None:
    found = objects(fetch(server.url("/r"), server.url("/no"), http__redirect__max=2))
    assert {path: row["protocol_status"] for path, row in found.items()} == {
        "r": "moved",
        "no": "robots_denied",
        "": "success",
    }
    assert found["r"]["redirect_to"] == server.url("/")
    assert found[""]["redirected_from"] == [server.url("/r")]
    assert "hi" in found[""]["content"]["text"]
    assert found[""]["content"]["request_head"].startswith("GET / HTTP/1.1")
    assert found["no"]["content"] is None
    assert (found["no"]["robots"], found["no"]["robots_rule"]) == ("denied", "robots.txt line 2: Disallow: /no")
    assert "/no" not in [record.target for record in server.log]


def test_in_words(server: SiteServer) -> None:
    lines = list(fetch(server.url("/")).lines)
    assert lines[0] == f"url: {server.url('/')}"
    assert "status: fetch_success" in lines
    assert "robots: allowed" in lines
    assert any(line.startswith("  Content-Type: text/html") for line in lines)
    heads = list(fetch(server.url("/"), head=True).lines)
    assert (heads[0], "HTTP/1.1 200 OK" in heads) == ("GET / HTTP/1.1", True)
    (body,) = fetch(server.url("/"), body=True).lines
    assert body.startswith("<!doctype html>")
    assert list(fetch(server.url("/no"), body=True).lines) == [
        f"{server.url('/no')}: robots_denied robots.txt line 2: Disallow: /no"
    ]


def test_the_delay_is_kept_between_urls_of_a_host(server: SiteServer) -> None:
    fetch(server.url("/"), server.url("/r"), server.url("/x"), fetcher__server__delay=0.3)
    pages = sorted((r for r in server.log if r.target != "/robots.txt"), key=lambda record: record.started)
    assert [after.started - before.ended >= 0.3 for before, after in pairwise(pages)] == [True] * 2


def test_bytes_that_are_no_text() -> None:
    packed = gzip.compress(b"text")
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    with RawServer([Send(head + packed)]) as raw:
        as_sent = objects(fetch(raw.url("/"), http__content__decode=False, http__robot__rules__allowlist="127.0.0.1"))
        decoded = objects(fetch(raw.url("/"), http__robot__rules__allowlist="127.0.0.1"))
        (line,) = fetch(
            raw.url("/"), body=True, http__content__decode=False, http__robot__rules__allowlist="127.0.0.1"
        ).lines
    assert base64.b64decode(as_sent[""]["content"]["base64"]) == packed
    assert decoded[""]["content"]["text"] == "text"
    assert line.encode("utf-8", "surrogateescape") == packed


@pytest.mark.parametrize("transport", ["curl", "requests"])
def test_what_a_server_says_does_nothing_to_a_terminal(transport: str) -> None:
    odd = b"X-Lat: caf\xe9\r\nX-Utf: caf\xc3\xa9\r\nX-E: \x1b[31mred\x1b]0;t\x07\r\n"
    head = b"HTTP/1.1 200 OK\r\n" + odd + b"Content-Length: 2\r\n\r\nhi"
    values: dict[str, Any] = {"protocol__http": transport, "http__robot__rules__allowlist": "127.0.0.1"}
    with RawServer([Send(head)]) as raw:
        words = list(fetch(raw.url("/"), **values).lines)
        row = objects(fetch(raw.url("/"), **values))[""]
    assert "  X-Lat: café" in words
    assert "  X-Utf: café" in words
    assert "  X-E: \\x1b[31mred\\x1b]0;t\\x07" in words
    assert all(line.isprintable() for line in words)
    assert ["X-Lat", "café"] in row["content"]["headers"]
    json.dumps(row["content"], ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("fetcher.threads.fetch", 0),
        ("fetcher.threads.fetch", -1),
        ("fetcher.threads.per.queue", 0),
        ("fetcher.queue.depth.multiplier", 0),
        ("fetcher.dns.threads", 0),
        ("fetcher.server.delay", -3.0),
        ("fetcher.server.delay", math.nan),
    ],
)
def test_numbers_that_no_fetch_can_work_with(server: SiteServer, setting: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{setting} is {value}; it must be at least"):
        fetch(server.url("/"), **{setting.replace(".", "__"): value})
    assert server.log.paths() == []


def test_no_crawl_is_touched(server: SiteServer, tmp_path: Path) -> None:
    fetch(server.url("/"), crawl=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [("crawl/segments/1", "http://x.test/"), ("http://[/",)])
def test_what_makes_no_sense(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        fetch(*words)


def test_files_and_folders_when_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "x.html").write_text("<title>x</title>")
    values: dict[str, Any] = {"protocol__file": "file", "file__root": str(tmp_path), "fetcher__server__delay": 5.0}
    urls = [f"{tmp_path.as_uri()}/", (tmp_path / "x.html").as_uri(), (tmp_path / "none").as_uri()]
    outcome = fetch(*urls, **values)
    found = {row["url"]: row for row in outcome.data}
    assert [found[url]["protocol_status"] for url in urls] == ["success", "success", "notfound"]
    assert found[urls[0]]["content_type"] == found[urls[1]]["content_type"] == "text/html"
    (refused,) = fetch(urls[1]).data
    assert refused["protocol_status"] == "proto_not_found"
