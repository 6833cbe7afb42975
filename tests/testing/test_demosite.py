"""The demo site: its links hold, its levels are there, and each misbehaviour is met where the home page leads."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from urllib.parse import urldefrag, urljoin

import pytest

from nutchpy.testing.demosite.pages import archive_site, handbook_site, journal_site
from nutchpy.testing.site import HTML, Page, Request, Site

HANDBOOK, JOURNAL, ARCHIVE = "http://handbook.test", "http://journal.test", "http://archive.test"
LINK = re.compile(r"""<(?:a|img)[^>]* (?:href|src)=["']([^"']+)""")
BASE = re.compile(r"""<base href="([^"]+)""")


@pytest.fixture
def sites() -> dict[str, Site]:
    return {
        HANDBOOK: handbook_site(HANDBOOK, JOURNAL, ARCHIVE),
        JOURNAL: journal_site(HANDBOOK, JOURNAL),
        ARCHIVE: archive_site(HANDBOOK, ARCHIVE),
    }


def get(sites: dict[str, Site], url: str) -> Page:
    base = "/".join(url.split("/")[:3])
    return sites[base].answer(Request("GET", url.removeprefix(base), {}))


def links(url: str, page: Page) -> list[str]:
    if not page.content_type.startswith("text/html"):
        return []
    markup = page.body.decode("iso-8859-1" if "iso" in page.content_type else "utf-8")
    base = BASE.search(markup)
    found = [urldefrag(urljoin(base[1] if base else url, unescape(link))).url for link in LINK.findall(markup)]
    return [*found, *(urljoin(url, value) for name, value in page.headers if name == "Location")]


def reach(sites: dict[str, Site], rounds: int) -> dict[str, int]:
    """Depth by URL of what a reader finds from the home page who keeps off the calendar."""
    depths, latest = {f"{HANDBOOK}/": 0}, [f"{HANDBOOK}/"]
    for depth in range(1, rounds + 1):
        found = [link for url in latest for link in links(url, get(sites, url)) if "/calendar?" not in link]
        latest = [url.replace("caf%C3%A9", "café") for url in dict.fromkeys(found) if url not in depths]
        depths.update(dict.fromkeys(latest, depth))
        latest = [url.replace("é", "%C3%A9") for url in latest if "PHPSESSID" not in url]
    return depths


def test_about_a_hundred_pages_on_five_levels(sites: dict[str, Site]) -> None:
    depths = reach(sites, 6)
    pages = [url for url in depths if get(sites, url.replace("é", "%C3%A9")).content_type == HTML]
    assert 100 <= len(pages) <= 180
    assert depths[f"{HANDBOOK}/islands/oxer/history/sources"] == 4


def test_only_the_missing_are_missing(sites: dict[str, Site]) -> None:
    statuses = {url: get(sites, url.replace("é", "%C3%A9")).status for url in reach(sites, 6)}
    missing = {url.removeprefix(HANDBOOK) for url, status in statuses.items() if status >= 400}
    assert missing == {"/missing-chart", "/withdrawn/reef"}
    assert Counter(statuses.values()).keys() == {200, 301, 302, 308, 404, 410}


def test_flaky_page_is_well_the_second_time(sites: dict[str, Site]) -> None:
    assert [get(sites, f"{HANDBOOK}/flaky").status for _ in range(3)] == [503, 200, 200]


def test_copies_are_copies(sites: dict[str, Site]) -> None:
    assert get(sites, f"{ARCHIVE}/copy/birds/marsh-lamp").body == get(sites, f"{HANDBOOK}/birds/marsh-lamp").body


def test_shop_gives_every_visitor_other_links(sites: dict[str, Site]) -> None:
    first, second = (links(JOURNAL, get(sites, f"{JOURNAL}/shop/")) for _ in range(2))
    assert len(first) == len(second) == 4
    assert not set(first) & set(second)
    assert all(get(sites, url).status == 200 for url in first)


def test_calendar_has_no_end(sites: dict[str, Site]) -> None:
    assert links(JOURNAL, get(sites, f"{JOURNAL}/calendar?week=900")) == [f"{JOURNAL}/calendar?week=901"]


def test_latin_1_page_says_so(sites: dict[str, Site]) -> None:
    page = get(sites, f"{ARCHIVE}/caf%C3%A9.html")
    assert b"Caf\xe9" in page.body
    assert page.content_type.endswith("iso-8859-1")
