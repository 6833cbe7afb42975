"""fetch against real servers on loopback addresses."""

from __future__ import annotations

import base64
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from nutchpy.conf.layers import Conf, defaults, load
from nutchpy.core.errors import ConfigError, LockedError, MissingError
from nutchpy.stages.context import Context, Outcome, Stop
from nutchpy.stages.fetch import FetchOptions, run
from nutchpy.stages.runner import run_stage
from nutchpy.storage.segment import Segment
from nutchpy.testing.crawls import add_fetch, make_segment, read_table
from nutchpy.testing.raw_server import RawServer, Reset
from nutchpy.testing.site import Page, Request, Site, html, missing, redirect, text
from nutchpy.testing.site_server import AccessLog, SiteServer

many_addresses = pytest.mark.skipif(sys.platform != "linux", reason="needs 127.0.0.2 and up, which Linux alone has")


def conf(**values: Any) -> Conf:
    base = {
        "http.agent.name": "test-bot",
        "http.filter.ipaddress.exclude": "",
        "fetcher.server.delay": 0.0,
        "fetcher.min.crawl.delay": 0.0,
        "fetcher.exceptions.per.queue.delay": 0.0,
        "http.timeout": 3000,
    }
    return defaults().with_values({**base, **{name.replace("__", "."): value for name, value in values.items()}})


def fetch(segment: Segment, stop: Stop | None = None, **values: Any) -> Outcome:
    settings = conf(**values)
    ctx = Context(settings, datetime.now(UTC), stop=stop or Stop())
    return run(FetchOptions.of(settings, segment=segment.path), ctx)


def rows(segment: Segment) -> dict[str, dict[str, Any]]:
    """crawl_fetch by path; no URL may stand there twice."""
    found = read_table(segment, "crawl_fetch")
    assert len({row["url"] for row in found}) == len(found)
    return {"/" + row["url"].split("/", 3)[3]: row for row in found}


def bodies(segment: Segment) -> dict[str, dict[str, Any]]:
    found = read_table(segment, "content")
    assert len({row["url"] for row in found}) == len(found)
    return {"/" + row["url"].split("/", 3)[3]: row for row in found}


@pytest.fixture
def serve() -> Iterator[Callable[..., SiteServer]]:
    servers: list[SiteServer] = []

    def start(answers: dict[str, Any] | Site, **options: Any) -> SiteServer:
        site = answers if isinstance(answers, Site) else Site(answers)
        server = SiteServer(site, **options)
        server.__enter__()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.close()


def segment_of(tmp_path: Path, server: SiteServer, *targets: Any) -> Segment:
    listed = [server.url(t) if isinstance(t, str) else {**t, "url": server.url(t["url"])} for t in targets]
    return make_segment(tmp_path / "segments", listed)


def test_pages_and_what_came_of_them(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    server = serve({"/": html("Home", "hi"), "/gone": missing(410), "/bad": missing(500), "/t": text("words")})
    segment = segment_of(tmp_path, server, "/", "/gone", "/missing", "/bad", "/t")
    before = datetime.now(UTC)
    outcome = fetch(segment)
    found = rows(segment)
    assert {path: (r["status"], r["protocol_status"], r["http_status"]) for path, r in found.items()} == {
        "/": ("fetch_success", "success", 200),
        "/gone": ("fetch_gone", "gone", 410),
        "/missing": ("fetch_gone", "notfound", 404),
        "/bad": ("fetch_retry", "exception", 500),
        "/t": ("fetch_success", "success", 200),
    }
    home = found["/"]
    assert home["ip"] == "127.0.0.1"
    assert home["content_type"] == "text/html"
    assert home["etag"]
    assert before <= home["fetch_time"] <= datetime.now(UTC)
    assert home["bytes"] > 0
    assert set(bodies(segment)) == {"/", "/t"}
    stored = bodies(segment)["/"]
    assert b"hi" in stored["content"]
    assert stored["fetch_time"] == home["fetch_time"]
    assert {"name": "Content-Type", "value": "text/html; charset=utf-8"} in stored["headers"]
    assert outcome.exit_code == 0
    assert outcome.counters["fetch_status:fetch_success"] == 2
    assert segment.meta.state("fetch") == "done"
    agents = {record.user_agent for record in server.log}
    assert all(agent.startswith("test-bot") for agent in agents)


def test_both_transports_and_their_same_answers(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    server = serve({"/": html("Home", "hi" * 1000), "/r": redirect("/"), "/bad": missing(503)})
    found = {}
    for name in ("curl", "requests"):
        segment = segment_of(tmp_path / name, server, "/", "/r", "/bad", "/none")
        fetch(segment, protocol__http=name)
        found[name] = {
            path: {k: row[k] for k in ("status", "protocol_status", "http_status", "redirect_to", "etag", "ip")}
            for path, row in rows(segment).items()
        }
    assert found["curl"] == found["requests"]


def test_an_agent_name_must_be_set(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    segment = segment_of(tmp_path, serve({"/": text("x")}), "/")
    with pytest.raises(ConfigError, match=r"http\.agent\.name"):
        fetch(segment, http__agent__name="")


def test_what_is_no_segment_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="nothing-here"):
        fetch(Segment(tmp_path / "nothing-here"))


def test_addresses_that_are_not_public_are_refused_by_default(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    server = serve({"/": text("x")})
    segment = segment_of(tmp_path, server, "/")
    fetch(segment, http__filter__ipaddress__exclude="loopback")
    row = rows(segment)["/"]
    assert (row["status"], row["protocol_status"]) == ("fetch_retry", "address_refused")
    assert "http.filter.ipaddress.exclude" in row["message"]
    assert len(server.log) == 0


def test_robots_txt_is_obeyed_and_asked_for_once(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    robots = "User-agent: test-bot\nDisallow: /no\nAllow: /no/but\n"
    server = serve({"/robots.txt": text(robots), "/a": text("a"), "/no/but": text("b"), "/no/x": text("x")})
    segment = segment_of(tmp_path, server, "/a", "/no/but", "/no/x", "/no")
    fetch(segment)
    found = rows(segment)
    assert {path: row["protocol_status"] for path, row in found.items()} == {
        "/a": "success",
        "/no/but": "success",
        "/no/x": "robots_denied",
        "/no": "robots_denied",
    }
    assert "line 2" in found["/no/x"]["message"]
    assert {path: (row["robots"], row["robots_rule"]) for path, row in found.items()} == {
        "/a": ("allowed", None),
        "/no/but": ("allowed", "robots.txt line 3: Allow: /no/but"),
        "/no/x": ("denied", "robots.txt line 2: Disallow: /no"),
        "/no": ("denied", "robots.txt line 2: Disallow: /no"),
    }
    assert sorted(server.log.paths()) == ["/a", "/no/but"]
    assert server.log.paths(robots=True).count("/robots.txt") == 1


@pytest.mark.parametrize(
    ("answer", "settings", "said"),
    [
        (missing(404), {}, ("allowed", "robots.txt answers 404")),
        (missing(403), {}, ("allowed", "robots.txt answers 403")),
        (missing(403), {"http__robots__403__allow": False}, ("denied", "robots.txt answers 403")),
        (text("Disallow"), {"http__robot__rules__allowlist": ["127.0.0.1"]}, ("exempt", None)),
        (text("x").after(5.0), {"http__timeout": 300}, ("unreachable", "robots.txt: no answer in 0.6 s")),
    ],
)
def test_what_robots_txt_said_is_recorded(
    tmp_path: Path, serve: Callable[..., SiteServer], answer: Page, settings: dict[str, Any], said: tuple[str, str]
) -> None:
    server = serve({"/robots.txt": answer, "/": text("x")})
    segment = segment_of(tmp_path, server, "/")
    fetch(segment, **settings)
    row = rows(segment)["/"]
    assert (row["robots"], row["robots_rule"]) == said


def test_what_is_no_web_page_has_no_verdict(tmp_path: Path) -> None:
    segment = make_segment(tmp_path / "segments", ["http://no.invalid/", "gopher://no.invalid/"])
    fetch(segment)
    found = {row["url"]: row for row in read_table(segment, "crawl_fetch")}
    assert [(row["robots"], row["robots_rule"]) for row in found.values()] == [(None, None)] * 2
    assert {url: row["protocol_status"] for url, row in found.items()} == {
        "http://no.invalid/": "dns_failed",
        "gopher://no.invalid/": "proto_not_found",
    }


def test_robots_txt_that_has_moved(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    moved = serve({"/elsewhere": text("User-agent: *\nDisallow: /\n")}, name="localhost")
    server = serve({"/robots.txt": redirect(moved.url("/elsewhere")), "/a": text("a")})
    segment = segment_of(tmp_path, server, "/a")
    fetch(segment)
    assert rows(segment)["/a"]["protocol_status"] == "robots_denied"


def test_a_delay_passes_between_pages_of_a_host(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    server = serve({f"/{n}": html(str(n), "x").after(0.05) for n in range(6)})
    segment = segment_of(tmp_path, server, *(f"/{n}" for n in range(6)))
    fetch(segment, fetcher__server__delay=0.2)
    pages = [record for record in server.log if record.target != "/robots.txt"]
    gaps = [later.started - earlier.ended for earlier, later in pairwise(pages)]
    assert len(gaps) == 5
    assert min(gaps) >= 0.2
    assert max(gaps) < 0.35


@many_addresses
def test_hosts_are_asked_side_by_side(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    log = AccessLog()
    site = Site({f"/{n}": text(str(n)) for n in range(5)})
    servers = [serve(site, bind=f"127.0.0.{n}", name=f"127.0.0.{n}", log=log) for n in range(1, 7)]
    segment = make_segment(tmp_path / "segments", [s.url(f"/{n}") for n in range(5) for s in servers])
    begin = time.monotonic()
    fetch(segment, fetcher__server__delay=0.2)
    assert time.monotonic() - begin < 5 * 0.2 * 1.5 + 0.5
    assert len(log.paths()) == 30


def test_threads_per_queue(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    server = serve({f"/{n}": html(str(n), "x").after(0.2) for n in range(9)})
    segment = segment_of(tmp_path, server, *(f"/{n}" for n in range(9)))
    begin = time.monotonic()
    fetch(segment, fetcher__threads__per__queue=3, fetcher__server__delay=5.0)
    assert 0.6 <= time.monotonic() - begin < 1.5


def test_redirects_are_recorded(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    targets = {
        "/perm": redirect("/target?b=2&a=1", 301),
        "/temp": redirect("target", 302),
        "/filtered": redirect("/picture.gif", 302),
        "/self": redirect("/self", 302),
        "/none": Page(status=302, validators=False),
        "/mail": redirect("mailto:x@y.z", 302),
    }
    server = serve(targets)
    segment = segment_of(tmp_path, server, *targets)
    outcome = fetch(segment)
    found = rows(segment)
    assert found["/perm"]["status"] == "fetch_redir_perm"
    assert found["/perm"]["redirect_to"] == server.url("/target?b=2&a=1")
    assert found["/temp"]["status"] == "fetch_redir_temp"
    assert found["/temp"]["redirect_to"] == server.url("/target")
    assert [found[p]["redirect_to"] for p in ("/filtered", "/self", "/none", "/mail")] == [None] * 4
    assert outcome.counters["redirects:recorded"] == 2
    assert outcome.counters["redirects:filtered"] == 1
    assert outcome.counters["redirects:to_itself"] == 1
    assert outcome.counters["redirects:no_target"] == 2
    assert set(bodies(segment)) == set(targets), "bodies of redirects are kept"


def test_redirects_are_followed_by_way_of_the_queue(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    chain = {f"/{n}": redirect(f"/{n + 1}", 302) for n in range(6)}
    server = serve({**chain, "/6": text("end"), "/two": redirect("/6", 301), "/also": redirect("/6", 301)})
    segment = segment_of(tmp_path, server, "/0", "/two", "/also")
    outcome = fetch(segment, http__redirect__max=3, fetcher__server__delay=0.05)
    found = rows(segment)
    assert {path: row["status"] for path, row in found.items()} == {
        **{f"/{n}": "fetch_redir_temp" for n in range(4)},
        "/two": "fetch_redir_perm",
        "/also": "fetch_redir_perm",
        "/6": "fetch_success",
    }
    assert found["/3"]["redirect_to"] == server.url("/4"), "beyond the limit the target is for a later round"
    assert found["/also"]["redirect_to"] == server.url("/6")
    assert (outcome.counters["redirects:followed"], outcome.counters["redirects:known"]) == (4, 1)
    pages = [record for record in server.log if record.target != "/robots.txt"]
    assert min(later.started - earlier.ended for earlier, later in pairwise(pages)) >= 0.05
    assert found["/6"]["score"] == found["/two"]["score"]


def test_a_redirect_into_the_fetch_list_is_not_fetched_twice(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    server = serve({"/a": redirect("/b"), "/b": text("b")})
    segment = segment_of(tmp_path, server, "/a", "/b")
    fetch(segment, http__redirect__max=3)
    assert sorted(server.log.paths()) == ["/a", "/b"]


def test_a_redirect_past_the_limit_may_be_dropped(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    server = serve({"/a": redirect("/b"), "/b": redirect("/c")})
    segment = segment_of(tmp_path, server, "/a")
    fetch(segment, http__redirect__max=1, http__redirect__max__exceeded__skip=True)
    assert rows(segment)["/b"]["redirect_to"] is None


@pytest.mark.parametrize(
    ("setting", "kept"), [("db.ignore.external.links", "/inside"), ("db.ignore.internal.links", "/outside")]
)
def test_links_to_be_ignored_are_ignored_as_redirects(
    tmp_path: Path, serve: Callable[..., SiteServer], setting: str, kept: str
) -> None:
    server = serve({"/inside": redirect("/x"), "/outside": redirect("http://other.example/")})
    segment = segment_of(tmp_path, server, "/inside", "/outside")
    fetch(segment, **{setting.replace(".", "__"): True})
    found = rows(segment)
    assert [path for path, row in found.items() if row["redirect_to"]] == [kept]
    [refused] = [row for path, row in found.items() if path != kept]
    assert refused["message"].startswith("redirect not taken, ")


def test_a_page_is_asked_for_only_if_it_has_changed(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    then = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    same = html("same", "x", last_modified=then)
    site = Site({"/etag": same, "/date": same, "/seen": same, "/changed": same, "/new": same, "/moved": same})
    server = serve(site)
    known = {"status": "db_fetched", "modified_time": then + timedelta(days=1)}
    segment = segment_of(
        tmp_path,
        server,
        {"url": "/etag", "etag": same.etag, **known},
        {"url": "/date", "last_modified": "Fri, 02 Jan 2026 03:04:05 GMT", **known},
        {"url": "/seen", **known},
        {"url": "/changed", "etag": '"old"', "last_modified": "Thu, 01 Jan 2026 00:00:00 GMT", **known},
        {"url": "/new"},
        {"url": "/moved", **known, "status": "db_redir_temp", "etag": same.etag},
    )
    fetch(segment)
    found = rows(segment)
    assert {path: row["status"] for path, row in found.items()} == {
        "/etag": "fetch_notmodified",
        "/date": "fetch_notmodified",
        "/seen": "fetch_notmodified",
        "/changed": "fetch_success",
        "/new": "fetch_success",
        "/moved": "fetch_success",
    }
    assert found["/etag"]["etag"] == found["/changed"]["etag"] == same.etag
    assert found["/date"]["last_modified"] == "Fri, 02 Jan 2026 03:04:05 GMT"
    assert set(bodies(segment)) == {"/changed", "/new", "/moved"}


def test_conditions_may_be_switched_off(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    page = html("same", "x")
    server = serve({"/": page})
    row = {"url": "/", "status": "db_fetched", "modified_time": datetime(2026, 1, 1, tzinfo=UTC), "etag": page.etag}
    segment = segment_of(tmp_path, server, row)
    fetch(segment, http__enable__if__modified__since__header=False)
    assert rows(segment)["/"]["status"] == "fetch_success"


def test_fetch_times_only_grow(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    ahead = datetime.now(UTC).replace(microsecond=17) + timedelta(days=2)
    segment = segment_of(tmp_path, serve({"/": text("x")}), {"url": "/", "fetch_time": ahead})
    fetch(segment)
    assert rows(segment)["/"]["fetch_time"] == ahead + timedelta(microseconds=1)


def test_cookies_of_the_seed_are_sent(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    seen: list[str | None] = []

    def answer(request: Request) -> Page:
        seen.append(request.headers.get("cookie"))
        return text("x")

    segment = segment_of(tmp_path, serve({"/": answer}), {"url": "/", "metadata": {"Cookie": "k=v"}})
    fetch(segment)
    assert seen == ["k=v"]


def test_a_host_that_fails_is_given_up_and_named(tmp_path: Path) -> None:
    def script(head: bytes) -> list[Any]:
        return [Reset()] if b"robots" not in head else [_answer(b"404 Not Found")]

    with RawServer(script) as server:
        listed = [server.url(f"/{n}") for n in range(12)]
        segment = make_segment(tmp_path / "segments", listed)
        outcome = fetch(segment, fetcher__max__exceptions__per__queue=3)
    assert len(rows(segment)) == 3
    assert {row["status"] for row in rows(segment).values()} == {"fetch_retry"}
    assert outcome.counters["dropped:exceptions"] == 9
    assert any("127.0.0.1 (9)" in line for line in outcome.summary)


def _answer(status: bytes) -> Any:
    from nutchpy.testing.raw_server import Send

    return Send(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def test_a_fetched_segment_is_left_alone(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    server = serve({"/": text("x")})
    segment = segment_of(tmp_path, server, "/")
    fetch(segment)
    parts = segment.files("crawl_fetch")
    outcome = fetch(segment)
    assert outcome.exit_code == 0
    assert "fetched already" in outcome.summary[0]
    assert segment.files("crawl_fetch") == parts
    assert len(server.log.paths()) == 1


def test_what_was_killed_after_its_last_page_is_ended(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    server = serve({"/0": text("x"), "/1": text("x")})
    segment = segment_of(tmp_path, server, "/0", "/1")
    for flush in (0, 1):
        url = server.url(f"/{flush}")
        add_fetch(segment, [url], content={url: b"x"}, flush=flush, state="running")
    assert "fetched already" in fetch(segment).summary[0]
    assert segment.meta.state("fetch") == "done"
    assert len(segment.files("crawl_fetch")) == len(segment.files("content")) == 1
    assert server.log.paths() == []


def test_a_signal_ends_the_fetch_and_the_next_goes_on(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    server = serve({f"/{n}": text(str(n)) for n in range(40)})
    segment = segment_of(tmp_path, server, *(f"/{n}" for n in range(40)))
    stop = Stop()
    threading.Timer(0.5, lambda: stop.set("SIGTERM")).start()
    begin = time.monotonic()
    outcome = fetch(segment, stop, fetcher__server__delay=0.1)
    assert time.monotonic() - begin < 2.0
    assert outcome.exit_code == 5
    first = set(rows(segment))
    assert 2 <= len(first) < 20
    assert segment.meta.state("fetch") == "interrupted"
    assert outcome.counters["dropped:interrupted"] == 40 - len(first)
    assert fetch(segment).exit_code == 0
    assert len(rows(segment)) == 40
    assert max(Counter(server.log.paths()).values()) == 1
    assert segment.meta.state("fetch") == "done"


def test_a_request_that_does_not_end_is_given_up_after_the_grace(
    tmp_path: Path, serve: Callable[..., SiteServer]
) -> None:
    server = serve({"/slow": text("x").after(20.0)})
    segment = segment_of(tmp_path, server, "/slow")
    stop = Stop()
    threading.Timer(0.3, lambda: stop.set("SIGINT")).start()
    begin = time.monotonic()
    fetch(segment, stop, fetcher__stop__grace=0.3, http__timeout=60000)
    assert time.monotonic() - begin < 3.0
    assert rows(segment) == {}


def test_the_time_limit(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    server = serve({f"/{n}": text(str(n)) for n in range(5)})
    segment = segment_of(tmp_path, server, *(f"/{n}" for n in range(5)))
    outcome = fetch(segment, fetcher__timelimit__mins=0)
    assert outcome.exit_code == 0
    assert outcome.counters["dropped:timelimit"] == 5
    assert segment.meta.state("fetch") == "done"
    assert any("time limit" in line for line in outcome.summary)


def test_two_fetches_do_not_share_a_list(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    segment = segment_of(tmp_path, serve({"/": text("x")}), "/")
    with segment.locked_list(0), pytest.raises(LockedError, match="list 0"):
        fetch(segment)


def test_small_parts_are_merged_at_the_end(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    server = serve({f"/{n}": text(str(n)) for n in range(20)})
    segment = segment_of(tmp_path, server, *(f"/{n}" for n in range(20)))
    fetch(segment, fetcher__flush__seconds=0.1, fetcher__server__delay=0.03)
    assert len(segment.files("crawl_fetch")) == len(segment.files("content")) == 1
    assert len(rows(segment)) == len(bodies(segment)) == 20
    assert segment.parts("crawl_fetch")[0][0].last > 1


def test_bodies_may_be_left_out(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    segment = segment_of(tmp_path, serve({"/": text("x")}), "/")
    fetch(segment, fetcher__store__content=False)
    assert rows(segment)["/"]["content_type"] == "text/plain"
    assert read_table(segment, "content") == []


@many_addresses
def test_a_process_per_list(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    log = AccessLog()
    site = Site({**{f"/{n}": text(str(n)) for n in range(10)}, "/r": redirect("http://127.0.0.2:1/")})
    one, two = (serve(site, bind=f"127.0.0.{n}", name=f"127.0.0.{n}", log=log) for n in (1, 2))
    lists = [[server.url(f"/{n}") for n in range(10)] for server in (one, two)]
    segment = make_segment(tmp_path / "segments", lists)
    outcome = fetch(segment)
    assert outcome.counters["fetch_status:fetch_success"] == 20
    assert outcome.counters["lists"] == 2
    assert sorted(log.paths()) == sorted(f"/{n}" for n in range(10) for _ in range(2))
    assert {name.list for name, _ in segment.parts("crawl_fetch")} == {0, 1}


@many_addresses
def test_an_error_of_a_process_is_the_stages(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    server = serve({"/": text("x")})
    segment = make_segment(tmp_path / "segments", [[server.url("/")], ["http://127.0.0.2:1/"]])
    with segment.locked_list(1), pytest.raises(LockedError, match="list 1"):
        fetch(segment)


def test_a_delay_passes_between_rounds_too(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    server = serve({f"/{n}": text(str(n)) for n in range(4)})
    for target in ("/0", "/1"):
        fetch(make_segment(tmp_path / "segments", [server.url(target)]), fetcher__server__delay=0.6)
    first, second = (record for record in server.log if record.target != "/robots.txt")
    assert 0.6 <= second.started - first.ended < 1.0


def test_a_delay_passes_after_a_kill(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    segment = segment_of(tmp_path, serve({"/": text("x")}), "/")
    segment.record("fetch", state="running")
    begin = time.monotonic()
    fetch(segment, fetcher__server__delay=0.5)
    assert time.monotonic() - begin >= 0.5


def test_pages_are_parsed_as_they_come(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    page = html("Title", 'Some words <a href="/a?x=1">a link</a>')
    server = serve(
        {"/": page, "/r": redirect("/"), "/t": text("plain words"), "/bin": Page(b"\0\1", "application/x-y")}
    )
    segment = segment_of(tmp_path, server, {"url": "/", "score": 2.0, "depth": 3}, "/r", "/t", "/bin", "/gone")
    outcome = fetch(segment, fetcher__parse=True)
    data = {row["url"]: row for row in read_table(segment, "parse_data")}
    assert set(data) == {server.url(path) for path in ("/", "/t", "/bin")}
    assert data[server.url()]["title"] == "Title"
    assert data[server.url("/bin")]["parse_status"] == "no_parser"
    assert [link["url"] for link in data[server.url()]["outlinks"]] == [server.url("/a?x=1")]
    words = {row["url"]: row["text"] for row in read_table(segment, "parse_text")}
    assert "plain words" in words[server.url("/t")]
    feed = read_table(segment, "crawl_parse")
    linked = [row for row in feed if row["kind"] == "linked"]
    assert [(row["url"], row["score"], row["depth"]) for row in linked] == [(server.url("/a?x=1"), 2.0, 4)]
    assert {row["url"] for row in feed if row["kind"] == "signature"} == set(data)
    assert [n for n, _ in segment.parts("crawl_parse")] == [n for n, _ in segment.parts("crawl_fetch")]
    assert outcome.counters["parsed:success"] == 2
    assert rows(segment)["/"]["status"] == "fetch_success"


def test_parsing_while_fetching_and_after_it_say_the_same(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    from nutchpy.stages.parse import ParseOptions
    from nutchpy.stages.parse import run as parse

    pages = {f"/{n}": html(f"T{n}", f"words {n} <a href=/{n + 1}>next</a> <a href=/{n + 2}>more</a>") for n in range(9)}
    server = serve(pages)
    tables = []
    for name, now in (("one", True), ("two", False)):
        segment = segment_of(tmp_path / name, server, *pages)
        fetch(segment, fetcher__parse=now)
        if not now:
            settings = conf()
            parse(ParseOptions.of(settings, segment=segment.path), Context(settings, datetime.now(UTC)))
        found = {table: read_table(segment, table) for table in ("parse_data", "parse_text", "crawl_parse")}
        tables.append({table: sorted(map(repr, rows)) for table, rows in found.items()})
    assert tables[0] == tables[1]
    assert len(tables[0]["parse_data"]) == 9


def test_robots_txt_may_be_kept(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    server = serve({"/robots.txt": text("User-agent: *\nAllow: /\n"), "/": text("x")})
    segment = segment_of(tmp_path, server, "/")
    fetch(segment, fetcher__store__robotstxt=True)
    assert bodies(segment)["/robots.txt"]["content"] == b"User-agent: *\nAllow: /\n"
    assert set(rows(segment)) == {"/"}


def test_the_list_may_be_normalized_and_filtered_once_more(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    server = serve({"/a": text("a"), "/x.gif": text("x")})
    segment = segment_of(tmp_path, server, "/b/../a", "/x.gif")
    outcome = fetch(segment, fetcher__filter__urls=True, fetcher__normalize__urls=True)
    assert server.log.paths() == ["/a"]
    assert set(rows(segment)) == {"/a"}
    assert outcome.counters["dropped:filtered"] == 1


def test_addresses_may_be_left_out(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    segment = segment_of(tmp_path, serve({"/": text("x")}), "/")
    fetch(segment, store__ip__address=False)
    assert rows(segment)["/"]["ip"] is None


def test_what_happened_is_recorded(tmp_path: Path, serve: Callable[..., SiteServer]) -> None:
    server = serve({"/a": redirect("/b"), "/b": redirect("/c"), "/c": html("C", "there")})
    segment = segment_of(tmp_path, server, "/a")
    fetch(segment, http__redirect__max=3, store__http__request=True)
    found = rows(segment)
    assert found["/c"]["redirected_from"] == [server.url("/a"), server.url("/b")]
    assert found["/a"]["redirected_from"] is None
    assert found["/c"]["http_version"] == "1.1"
    assert found["/a"]["connect_ms"] is None, "its robots.txt had opened the connection"
    assert found["/c"]["first_byte_ms"] <= found["/c"]["elapsed_ms"] + 1
    assert (found["/c"]["tls_ms"], found["/c"]["truncated"], found["/c"]["queue_delay"]) == (None, None, None)
    stored = bodies(segment)["/c"]
    assert stored["request_head"].startswith(b"GET /c HTTP/1.1\r\n")
    assert stored["response_head"].startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_signal_asks_what_is_waited_for(
    tmp_path: Path, serve: Callable[..., SiteServer], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    server = serve({f"/{n}": text("x") for n in range(4)})
    segment = segment_of(tmp_path, server, *[f"/{n}" for n in range(4)])
    asking = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGUSR1))
    asking.start()
    fetch(segment, fetcher__server__delay=0.4)
    assert len(rows(segment)) == 4
    assert any(line.startswith("queue 127.0.0.1: ") and "URLs queued" in line for line in caplog.messages)


def test_no_secret_is_stored_or_logged(
    tmp_path: Path,
    serve: Callable[..., SiteServer],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("SITE_PASSWORD", "s3cret-pw")
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "nutchpy-site.toml").write_text("""
        [host."127.0.0.1"]
        "http.auth.scheme" = "basic"
        "http.auth.username" = "s3cret-user"
        "http.auth.password" = "env:SITE_PASSWORD"
        "http.request.headers" = ["X-Key: env:SITE_PASSWORD"]
    """)
    words = ["http.agent.name=bot", "http.filter.ipaddress.exclude=", "store.http.request=true"]
    settings = load(folder, None, {}, [*words, "fetcher.server.delay=0", "fetcher.parse=true"])
    segment = segment_of(tmp_path / "crawl", serve({"/": html("Home", "hi")}), "/", "/none")
    ctx = Context(settings, datetime.now(UTC))
    run_stage("fetch", FetchOptions.of(settings, segment=segment.path), ctx)
    stored = [row for table in ("crawl_fetch", "content", "parse_data") for row in read_table(segment, table)]
    assert b"Authorization: (not kept)" in repr(stored).encode()
    texts = [path.read_bytes() for path in (tmp_path / "crawl").rglob("*") if path.is_file()]
    everything = repr(stored).encode() + b"".join(texts) + caplog.text.encode()
    basic = base64.b64encode(b"s3cret-user:s3cret-pw")
    assert (tmp_path / "crawl" / "runs.jsonl").exists()
    assert not [secret for secret in (b"s3cret", basic) if secret in everything]
