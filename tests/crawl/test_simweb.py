"""Crawls by name, round after round, over a simulated web behind a proxy whose log has the last word."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from simweb import graph
from simweb.graph import Web
from simweb.server import Hit, Running, serving

from nutchpy.storage.database import Database
from nutchpy.testing.crawls import make_segment, read_db, read_table

DEPTH = 4
DELAY = 0.1
CRAWL_DELAY = 0.3
WEB = Web(
    seed=5,
    hosts=150,
    pages=2_000,
    zipf=0.5,
    largest=15,
    fan=4,
    links=2,
    across=2,
    latency=0.01,
    missing=0.04,
    busy=0.02,
    unavailable=0.02,
    reset=0.03,
    slow=0.02,
    slow_seconds=0.3,
    moved=0.06,
    private=0.04,
    closed=0.05,
    delayed=0.1,
    crawl_delay=CRAWL_DELAY,
)
STATUSES = {
    graph.OK: ("success", "db_fetched"),
    graph.SLOW: ("success", "db_fetched"),
    graph.MISSING: ("notfound", "db_gone"),
    graph.BUSY: ("exception", "db_unfetched"),
    graph.UNAVAILABLE: ("exception", "db_unfetched"),
    graph.RESET: ("exception", "db_unfetched"),
}
MOVED = {301: ("moved", "db_redir_perm"), 302: ("temp_moved", "db_redir_temp")}
DENIED = ("robots_denied", "db_gone")

Page = tuple[int, int]


@pytest.fixture(scope="module")
def web() -> Iterator[Running]:
    with serving(WEB) as running:
        yield running


def settings(running: Running, **more: object) -> list[str]:
    """By name, the shipped address filter on, through a proxy on loopback."""
    values = {
        "http.filter.ipaddress.exclude": "loopback,private",
        "http.proxy.host": "127.0.0.1",
        "http.proxy.port": running.port,
        "http.proxy.resolve": "remote",
        "db.ignore.external.links": "false",
        "fetcher.server.delay": DELAY,
        "fetcher.adaptive.delay": "false",
        "fetcher.max.exceptions.per.queue": -1,
        **{name.replace("__", "."): value for name, value in more.items()},
    }
    return [word for name, value in values.items() for word in ("-D", f"{name}={value}")]


def denied(page: Page) -> bool:
    rules = WEB.robots(page[0])
    return rules is not None and ("Disallow: /\n" in rules or WEB.fate(*page) == graph.PRIVATE)


def links(page: Page) -> list[tuple[Page, int]]:
    """Where a page leads, and how much farther from the seeds that is."""
    fate = WEB.fate(*page)
    if denied(page) or fate in (graph.MISSING, graph.BUSY, graph.UNAVAILABLE, graph.RESET):
        return []
    if fate == graph.MOVED:
        return [((page[0], WEB.target(*page)), 0)]
    return [(to, 1) for to in WEB.linked(*page)]


def expected(seed: Page) -> tuple[set[Page], set[Page]]:
    """The pages that a crawl attempts, and those that it knows of."""
    known, done = {seed: 0}, set()
    for _ in range(DEPTH):
        for page in [page for page, depth in known.items() if depth < DEPTH and page not in done]:
            done.add(page)
            for to, farther in links(page):
                known[to] = min(known.get(to, DEPTH), known[page] + farther)
    return done, set(known)


def statuses(page: Page) -> tuple[str, str]:
    if denied(page):
        return DENIED
    fate = WEB.fate(*page)
    if fate == graph.MOVED:
        return MOVED[301 if page[1] % 2 else 302]
    return STATUSES[graph.OK if fate == graph.PRIVATE else fate]


def pages_of(hits: list[Hit]) -> dict[str, list[Hit]]:
    """The requests for pages, by host, in order."""
    hosts: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        if hit.path != "/robots.txt":
            hosts[hit.host].append(hit)
    return {host: sorted(found, key=lambda hit: hit.started) for host, found in hosts.items()}


def shortest_rest(before: Hit) -> float:
    """How long the host is left alone after that request, at least."""
    number = WEB.number(before.host)
    assert number is not None
    asked = 1.0 if before.status in (429, 503) else 0.0
    return max(asked, CRAWL_DELAY if "Crawl-delay" in (WEB.robots(number) or "") else DELAY)


@pytest.mark.parametrize("transport", ["curl", "requests"])
def test_a_crawl_by_name_fetches_each_page_once_as_politely_as_asked(
    web: Running, transport: str, tmp_path: Path, nutchpy: Any
) -> None:
    web.hits.clear()
    (tmp_path / "seeds").write_text(WEB.url(0))
    crawl = tmp_path / "crawl"
    more = settings(web, protocol__http=transport)
    nutchpy("crawl", tmp_path / "seeds", "-dir", crawl, "-depth", DEPTH, "-threads", 40, "--follow-external", *more)
    hits = list(web.hits)
    done, known = expected((0, 0))
    assert len(done) > 300

    asked = Counter((hit.host, hit.path) for hit in hits if hit.path != "/robots.txt")
    assert asked == Counter((WEB.host(n), WEB.path(n, page)) for n, page in done if not denied((n, page)))

    rows = read_db(Database(crawl / "crawldb", "crawldb"))
    assert set(rows) == {WEB.url(*page) for page in known}
    told = {page: (rows[WEB.url(*page)]["protocol_status"], rows[WEB.url(*page)]["status"]) for page in done}
    assert told == {page: statuses(page) for page in done}
    assert {WEB.fate(*page) for page in done} == {*STATUSES, graph.MOVED, graph.PRIVATE}

    for found in pages_of(hits).values():
        for before, after in pairwise(found):
            assert after.started - before.ended >= shortest_rest(before) - 0.001, (before, after)


AUDITED = """
import sys
asked = sys.argv.pop(1)
def note(event, arguments):
    looked_up = event in ("socket.getaddrinfo", "socket.gethostbyname")
    if looked_up and arguments[0] not in ("127.0.0.1", b"127.0.0.1"):
        open(asked, "a").write(f"{event} {arguments}\\n")
sys.addaudithook(note)
from nutchpy.cli.main import main
main()
"""


def audited(folder: Path, environment: dict[str, str], urls: list[str], more: list[str]) -> tuple[dict[str, str], str]:
    """Fetch; what came of each URL, and the names that were looked up meanwhile."""
    segment = make_segment(folder / "segments", urls)
    words = [sys.executable, "-c", AUDITED, str(folder / "asked"), "fetch", str(segment.path), *more]
    (folder / "asked").touch()
    subprocess.run(words, env=environment, cwd="/", check=True, capture_output=True, timeout=60)
    found = {row["url"]: row["protocol_status"] for row in read_table(segment, "crawl_fetch")}
    return found, (folder / "asked").read_text()


@pytest.mark.parametrize("transport", ["curl", "requests"])
@pytest.mark.parametrize("mode", ["byHost", "byDomain", "byIP"])
def test_names_behind_a_trusted_proxy_are_not_looked_up(
    web: Running, transport: str, mode: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    urls = [WEB.url(number) for number in range(12)]
    more = settings(web, protocol__http=transport, fetcher__queue__mode=mode)
    found, asked = audited(tmp_path, environment, urls, more)
    assert found == {url: statuses((number, 0))[0] for number, url in enumerate(urls)}
    assert asked == ""


def test_a_proxy_that_is_not_trusted_with_names_is_given_none_that_we_cannot_judge(
    web: Running, tmp_path: Path, environment: dict[str, str]
) -> None:
    web.hits.clear()
    found, asked = audited(tmp_path, environment, [WEB.url(0)], settings(web, http__proxy__resolve="local"))
    assert found == {WEB.url(0): "dns_failed"}
    assert WEB.host(0) in asked
    assert not web.hits
