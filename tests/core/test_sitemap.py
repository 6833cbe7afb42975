"""Sitemaps: kinds, the location rule, what is broken, bombs."""

from __future__ import annotations

import gzip
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nutchpy.core.sitemap import MOST_ENTRIES, Sitemap, SitemapEntry, locations, sitemap

PLACE = "http://a.org/map.xml"
PIECES = [b"<urlset>", b"<url>", b"<loc>", b"http://a.org/x", b"</loc>", b"</url>", b"<rss>", b"<item>", b"<link>"]
PIECES += [b"<feed>", b"<entry>", b"<link href='/x'/>", b"<guid>", b"&", b"\0", b"\x1f\x8b", b"\xff\xfe", b"<", b"\n"]


def read(body: str, place: str = PLACE, strict: bool = True) -> Sitemap:
    return sitemap(body.encode(), place, strict)


def urlset(*urls: str) -> str:
    return "<urlset>" + "".join(f"<url><loc>{url}</loc></url>" for url in urls) + "</urlset>"


@pytest.mark.parametrize(
    ("place", "url", "allowed"),
    [
        ("http://a.org/map.xml", "http://a.org/x/y", True),
        ("http://a.org/x/map.xml", "http://a.org/x/y", True),
        ("http://a.org/x/map.xml", "http://a.org/y", False),
        ("http://a.org/x/map.xml", "http://a.org/x/../y", False),
        ("http://a.org/map.xml", "https://a.org/", False),
        ("http://a.org:80/map.xml?q=/z/", "HTTP://A.org/", True),
        ("http://a.org/map.xml", "http://b.a.org/", False),
        ("http://a.org/map.xml", "http://a.org:8080/", False),
    ],
)
def test_location_rule(place: str, url: str, allowed: bool) -> None:
    assert bool(read(urlset(url), place).urls) is allowed
    assert len(read(urlset(url), place, strict=False).urls) == 1


@pytest.mark.parametrize(
    ("text", "location"),
    [
        (" http://a.org/x \n", "http://a.org/x"),
        ("http://a.org/?a=1&b=2", "http://a.org/?a=1&b=2"),
        ("http://a.org/?a=1&amp;b=2#frag", "http://a.org/?a=1&b=2"),
        ("<![CDATA[http://a.org/?a&b]]>", "http://a.org/?a&b"),
        ("http://a.org/ö x", "http://a.org/%C3%B6%20x"),
        ("/relative", None),
        ("javascript:x", None),
        ("", None),
        ("http://a.org/" + "x" * 9000, None),
    ],
)
def test_locations(text: str, location: str | None) -> None:
    assert list(locations(read(urlset(text)))) == ([location] if location else [])


def test_fields() -> None:
    body = """<urlset><url><loc>http://a.org/</loc><lastmod>2005-01</lastmod><changefreq> Daily</changefreq>
        <priority>.7</priority></url><url><loc>http://a.org/b</loc><lastmod>yesterday</lastmod>
        <changefreq>often</changefreq><priority>7</priority></url></urlset>"""
    assert list(read(body).urls) == [
        SitemapEntry("http://a.org/", "2005-01-01T00:00:00Z", "DAILY", 0.7),
        SitemapEntry("http://a.org/b"),
    ]


def test_extensions_are_not_locations() -> None:
    body = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="x"><url>
        <loc>http://a.org/</loc><image:image><image:loc>http://a.org/i.png</image:loc></image:image></url></urlset>"""
    assert list(locations(read(body))) == ["http://a.org/"]
    prefixed = """<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9"><s:url><s:loc>http://a.org/x</s:loc>
        </s:url></s:urlset>"""
    assert list(locations(sitemap(prefixed.encode(), PLACE, strict_namespace=True))) == ["http://a.org/x"]


@pytest.mark.parametrize(
    ("body", "kind", "found"),
    [
        ("<sitemapindex><sitemap><loc>http://b.org/1</loc></sitemap></sitemapindex>", "INDEX", ["http://b.org/1"]),
        (
            "<rss><channel><link>http://a.org/</link><item><link>x</link></item></channel></rss>",
            "RSS",
            ["http://a.org/x"],
        ),
        ("<feed><link href='/'/><entry><link href='e'/></entry></feed>", "ATOM", ["http://a.org/e"]),
        ("\ufeffhttp://a.org/1\r\nhttp://b.org/2\nnothing", "TEXT", ["http://a.org/1"]),
        ("<html><a href='http://a.org/'>", None, []),
        ("no URL here", None, []),
        ("", None, []),
    ],
)
def test_kinds(body: str, kind: str | None, found: list[str]) -> None:
    for form in (body.encode(), gzip.compress(body.encode())):
        answer = sitemap(form, PLACE)
        assert (answer.type, list(locations(answer))) == (kind, found)
        assert (answer.problem is None) is (kind is not None)


def test_what_came_of_a_broken_one_is_kept() -> None:
    whole = urlset("http://a.org/1", "http://a.org/2")
    cut = read(whole[: whole.index("2</loc>")])
    assert (cut.type, list(locations(cut))) == ("XML", ["http://a.org/1", "http://a.org/"])
    assert cut.problem
    packed = gzip.compress(urlset(*(f"http://a.org/{number}" for number in range(2000))).encode())
    half = sitemap(packed[: len(packed) // 2], PLACE)
    assert half.problem == "gzip cut off"
    assert 100 < len(half.urls) < 2000


def test_entries_are_limited() -> None:
    body = urlset(*(f"http://a.org/{number}" for number in range(MOST_ENTRIES + 5)))
    for found in (read(body), read(body.replace("<url><loc>", "").replace("</loc></url>", "\n")[8:])):
        assert len(found.urls) == MOST_ENTRIES
        assert found.problem


def test_a_bomb_is_cut() -> None:
    started = time.process_time()
    found = sitemap(gzip.compress(b"<urlset>" + b"<a>" * 40_000_000), PLACE)
    assert found.type is None
    assert time.process_time() - started < 5


@given(st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join), st.sampled_from([PLACE, "", "x:", "http://["]))
def test_any_bytes(body: bytes, place: str) -> None:
    sitemap(body, place)
    sitemap(body, place, strict=False, strict_namespace=True)
