"""The simulated web is what its parameters say, the same each time."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from simweb import graph
from simweb.graph import Web, Writer


@pytest.mark.parametrize(
    "web",
    [
        Web(hosts=3_000, pages=30_000),
        Web(hosts=3_000, pages=30_000, zipf=0.6, largest=200),
        Web(hosts=300, pages=30_000, zipf=0),
    ],
)
def test_there_are_about_as_many_pages_as_asked_for(web: Web) -> None:
    counts = [web.count(number) for number in range(web.hosts)]
    assert sum(counts) == pytest.approx(web.pages, rel=0.1)
    assert counts == sorted(counts, reverse=True)
    assert counts[0] <= (web.largest or web.pages)


def test_a_million_hosts_cost_nothing() -> None:
    before = time.process_time()
    web = Web(hosts=1_000_000, pages=5_000_000)
    assert web.count(999_999) == 1
    assert web.number(web.host(999_999)) == 999_999
    assert Writer(web).html(999_999, 0)
    assert time.process_time() - before < 2


def test_names_and_paths_lead_back() -> None:
    web = Web(hosts=200, pages=2_000, per_domain=3, private=0.2, secure=0.5)
    for number in range(web.hosts):
        assert web.number(web.host(number)) == number
        for page in range(web.count(number)):
            assert web.page(number, web.path(number, page)) == page
    assert web.host(4) == "h4.d1.test"
    assert {web.origin(number).partition(":")[0] for number in range(20)} == {"http", "https"}
    unknown = ["h200.d66.test", "h4.d2.test", "h-1.d0.test", "x", "", "localhost"]
    assert [web.number(name) for name in unknown] == [None] * len(unknown)
    missing = ["/p/0", "/p/99999", "/p/x", "/q", "/private/", ""]
    assert [web.page(0, path) for path in missing] == [None] * len(missing)


def test_every_page_can_be_reached_from_the_first() -> None:
    web = Web(hosts=200, pages=2_000, links=0, across=0, fan=5)
    seen = {(0, 0)}
    rest = [(0, 0)]
    while rest:
        for to in web.linked(*rest.pop()):
            if to not in seen:
                seen.add(to)
                rest.append(to)
    assert len(seen) == sum(web.count(number) for number in range(web.hosts))


def test_links_lead_to_pages_that_are_there_and_mostly_to_big_hosts() -> None:
    web = Web(hosts=1_000, pages=10_000)
    found = [to for number in range(web.hosts) for to in web.linked(number, 0)]
    assert all(0 <= page < web.count(number) for number, page in found)
    inlinks = Counter(number for number, _ in found)
    assert sum(inlinks[n] for n in range(100)) > 3 * sum(inlinks[n] for n in range(800, 900))


def test_rates_are_kept() -> None:
    web = Web(hosts=10, pages=40_000, zipf=0, missing=0.1, busy=0.02, moved=0.05)
    fates = Counter(web.fate(number, page) for number in range(10) for page in range(1, 4_000))
    assert fates[graph.MISSING] / 40_000 == pytest.approx(0.1, rel=0.1)
    assert fates[graph.BUSY] / 40_000 == pytest.approx(0.02, rel=0.2)
    assert fates[graph.MOVED] / 40_000 == pytest.approx(0.05, rel=0.1)
    assert set(fates) == {graph.OK, graph.MISSING, graph.BUSY, graph.MOVED}
    assert all(web.target(1, page) < page for page in range(1, 1_000))


def test_pages_are_alike_each_time_and_never_among_themselves() -> None:
    web = Web(hosts=50, pages=1_000, zipf=0)
    writer, again = Writer(web), Writer(Web(hosts=50, pages=1_000, zipf=0))
    pages = [writer.html(number, page) for number in range(50) for page in range(20)]
    assert len(set(pages)) == 1_000
    assert pages[123] == again.html(6, 3)
    assert pages[123] != Writer(Web(seed=2, hosts=50, pages=1_000, zipf=0)).html(6, 3)
    sizes = sorted(map(len, pages))
    assert sizes[500] == pytest.approx(web.size, rel=0.1)
    assert sizes[-1] <= web.size * web.size_spread


def test_robots_txt_by_share_of_hosts() -> None:
    web = Web(hosts=10_000, closed=0.1, delayed=0.2, lawless=0.3)
    found = Counter((web.robots(number) or "none").partition("\n")[2] for number in range(web.hosts))
    shares = sorted(count / web.hosts for count in found.values())
    assert shares == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=0.02)
