"""Sitemaps met in a crawl."""

from __future__ import annotations

import gzip

from plugins.parse.pages import content

from nutchpy.conf.layers import defaults
from nutchpy.core.parse import Parse, ParseStatus
from nutchpy.plugins.parse.sitemap import SitemapParser

URLSET = b"<urlset><url><loc>http://a.org/s/1</loc></url><url><loc>http://a.org/2</loc></url></urlset>"


def parsed(body: bytes, mime: str = "application/xml", strict: bool = True) -> Parse:
    conf = defaults().with_values({"parser.sitemap.strict": strict})
    return SitemapParser.from_conf(conf).parse(content(body, mime=mime, url="http://a.org/s/map.xml"))


def test_urls_of_the_sitemaps_directory() -> None:
    assert [(link.url, link.tag) for link in parsed(URLSET).outlinks] == [("http://a.org/s/1", "url")]
    assert len(parsed(URLSET, strict=False).outlinks) == 2


def test_index() -> None:
    body = b"<sitemapindex><sitemap><loc>http://b.org/1.xml</loc></sitemap></sitemapindex>"
    assert [(link.url, link.tag) for link in parsed(body).outlinks] == [("http://b.org/1.xml", "sitemap")]


def test_gzip() -> None:
    assert len(parsed(gzip.compress(URLSET), "application/gzip").outlinks) == 1
    assert len(parsed(gzip.compress(b"http://a.org/s/1\n"), "application/gzip").outlinks) == 1


def test_other_documents_are_left_to_others() -> None:
    for body, mime in ((b"<rss/>", "text/xml"), (gzip.compress(b"tar"), "application/gzip"), (b"", "text/xml")):
        assert parsed(body, mime).status is ParseStatus.NO_PARSER
