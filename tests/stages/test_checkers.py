"""The checkers: one line in, one line out, by the settings of the crawl."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import ConfigError, MissingError, UsageError
from nutchpy.stages import filterchecker, normalizerchecker, parsechecker, robotsparser
from nutchpy.stages.context import Context
from nutchpy.testing.site import Site, html, missing, redirect, text
from nutchpy.testing.site_server import SiteServer

CTX = Context(
    defaults().with_values({"http.agent.name": "tester", "http.filter.ipaddress.exclude": []}), datetime.now(UTC)
)


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda words: monkeypatch.setattr("sys.stdin", io.StringIO(words))


def test_filterchecker(stdin: Callable[[str], None]) -> None:
    stdin("http://a.test/\nhttp://a.test/logo.png\r\n\n")
    options = filterchecker.FilterCheckerOptions.of(CTX.conf)
    accepted, refused, empty = filterchecker.run(options, CTX).lines
    assert (accepted, refused, empty) == ("+http://a.test/", "-http://a.test/logo.png", "-")


def test_filterchecker_tells_why(stdin: Callable[[str], None]) -> None:
    url = "http://a.test/?" + "&".join(f"p{n}=1" for n in range(9))
    options = filterchecker.FilterCheckerOptions.of(CTX.conf, reasons=True)
    stdin(f"{url}\n")
    assert list(filterchecker.run(options, CTX).lines) == [f"-{url}\tlimits.query_params"]
    stdin(f"{url}\n")
    assert list(filterchecker.run(options, CTX).data) == [
        {"url": url, "accepted": False, "reason": "limits.query_params"}
    ]


def test_filterchecker_asks_one_filter(stdin: Callable[[str], None]) -> None:
    stdin("http://localhost/\n")
    options = filterchecker.FilterCheckerOptions.of(CTX.conf, filter_name="validator")
    assert list(filterchecker.run(options, CTX).lines) == ["-http://localhost/"]
    with pytest.raises(ConfigError, match="nosuch"):
        filterchecker.run(replace(options, filter_name="nosuch"), CTX)


def test_normalizerchecker(stdin: Callable[[str], None]) -> None:
    stdin("HTTP://A.Test:80/x/../y?PHPSESSID=0123456789abcdef0123456789abcdef#top\nhttp://\n")
    options = normalizerchecker.NormalizerCheckerOptions.of(CTX.conf)
    assert list(normalizerchecker.run(options, CTX).lines) == ["http://a.test/y", ""]


def test_normalizerchecker_takes_one_normalizer_and_a_scope(stdin: Callable[[str], None]) -> None:
    stdin("http://a.test/?b=2&a=1\n")
    options = normalizerchecker.NormalizerCheckerOptions.of(CTX.conf, normalizer="querystring", scope="inject")
    assert list(normalizerchecker.run(options, CTX).lines) == ["http://a.test/?a=1&b=2"]
    with pytest.raises(UsageError, match="outlink"):
        normalizerchecker.run(replace(options, scope="nosuch"), CTX)


def test_robotsparser(stdin: Callable[[str], None], tmp_path: Path) -> None:
    robots = tmp_path / "robots.txt"
    robots.write_text("User-agent: *\nDisallow: /\nUser-agent: tester\nDisallow: /private\n")
    stdin("http://a.test/private/x\nhttp://a.test/\n")
    options = robotsparser.RobotsParserOptions.of(CTX.conf, robots=robots)
    assert list(robotsparser.run(options, CTX).lines) == [
        "not allowed:\thttp://a.test/private/x\t(line 4: Disallow: /private)",
        "allowed:\thttp://a.test/",
    ]
    urls = tmp_path / "urls.txt"
    urls.write_text("http://a.test/\n")
    other = replace(options, urls=str(urls), agents=("other",))
    assert [found["allowed"] for found in robotsparser.run(other, CTX).data] == [False]
    with pytest.raises(MissingError):
        list(robotsparser.run(replace(options, urls=str(tmp_path / "nope")), CTX).lines)
    with pytest.raises(ConfigError, match="agent"):
        robotsparser.run(options, Context(defaults(), CTX.now))


# -- parsechecker, against a server


@pytest.fixture
def server() -> Any:
    site = Site(
        {
            "/robots.txt": text("User-agent: *\nDisallow: /private\n"),
            "/": html("Home", "<p>Hello <a href='/next?b=1'>next</a>"),
            "/gone": missing(410),
            "/moved": redirect("/"),
            "/loop": redirect("/loop", 302),
        }
    )
    with SiteServer(site) as running:
        yield running


def check(url: str | None, **options: Any) -> dict[str, Any]:
    [found] = parsechecker.run(parsechecker.ParseCheckerOptions.of(CTX.conf, url=url, **options), CTX).data
    return found


@pytest.mark.parametrize("transport", ["curl", "requests"])
def test_parsechecker(server: Any, transport: str) -> None:
    ctx = replace(CTX, conf=CTX.conf.with_values({"protocol.http": transport}))
    options = parsechecker.ParseCheckerOptions.of(ctx.conf, url=server.url("/"), dump_text=True)
    lines = list(parsechecker.run(options, ctx).lines)
    assert lines[:2] == [f"fetching: {server.url('/')}", "protocol status: success (200)"]
    assert "Title: Home" in lines
    assert f"  outlink: toUrl: {server.url('/next?b=1')} anchor: next" in lines
    assert lines[-1].splitlines()[-1] == "Hello next"


def test_parsechecker_shows_what_is_no_page(server: Any) -> None:
    assert check(server.url("/gone"))["protocol_status"] == "gone"
    assert check(server.url("/moved"))["http_status"] == 301
    assert check(server.url("/moved"), follow_redirects=True)["title"] == "Home"
    assert check(server.url("/loop"), follow_redirects=True)["http_status"] == 302


def test_parsechecker_obeys_robots_when_asked(server: Any) -> None:
    assert check(server.url("/private/x"), check_robots=True)["refused"] == "robots.txt line 2: Disallow: /private"
    assert "/private/x" not in server.log.paths()


def test_parsechecker_refuses(stdin: Callable[[str], None]) -> None:
    with pytest.raises(UsageError):
        check(None)
    nameless = Context(defaults(), CTX.now)
    lines = parsechecker.run(parsechecker.ParseCheckerOptions.of(defaults(), url="http://a.test/"), nameless).lines
    with pytest.raises(ConfigError, match=r"http\.agent\.name"):
        list(lines)
