"""Feeds: entries as links, titles as anchors; what is no feed is left to others."""

from __future__ import annotations

import json

import pytest
from plugins.parse.pages import content

from nutchpy.core.parse import Parse, ParseStatus
from nutchpy.plugins.parse.feed import FeedParser

RSS = """<?xml version="1.0"?><rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"
 xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>News &amp; more</title><link>http://a.org/</link>
<atom:link href="http://a.org/feed" rel="self"/><description>All of it</description><language>de</language>
<image><title>Logo</title><link>http://a.org/logo</link></image>
<item><title><![CDATA[One <b>bold</b>]]></title><link>/one?a=1&amp;b=2</link>
<description>&lt;p&gt;First&lt;/p&gt;text</description>
<media:title>not this</media:title><enclosure url="http://a.org/one.mp3" type="audio/mpeg"/></item>
<item><title>Two</title><guid isPermaLink="true">http://a.org/two</guid></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>F</title><link rel="self" href="/feed"/><link href="/"/>
<link rel="next" href="/feed?page=2"/>
<entry><title type="html">E &amp;amp; F</title><link href="e"/><link rel="edit" href="edit"/>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>One</p><p>Two <a href="x">x</a></p></div></content>
<author><name>Nobody</name></author></entry></feed>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel>
<title>C</title><link>http://a.org/</link></channel><item><title>I</title><link>http://a.org/i</link></item></rdf:RDF>"""
JSON = {
    "version": "https://jsonfeed.org/version/1.1",
    "title": "J",
    "home_page_url": "http://a.org/",
    "next_url": "/feed?2",
    "items": [
        {"url": "/i", "title": "I", "content_html": "<p>Text</p>", "attachments": [{"url": "/i.mp3"}, 7]},
        {"url": 3, "content_text": "alone"},
        "nothing",
    ],
}


def parsed(body: bytes | str, mime: str = "application/xml") -> Parse:
    return FeedParser().parse(
        content(body if isinstance(body, bytes) else body.encode(), mime=mime, url="http://a.org/f/x")
    )


def links(parse: Parse) -> list[tuple[str, str]]:
    return [(link.url, link.anchor) for link in parse.outlinks]


def test_rss() -> None:
    parse = parsed(RSS, "application/rss+xml")
    assert (parse.status, parse.title, parse.language) == (ParseStatus.SUCCESS, "News & more", "de")
    assert links(parse) == [
        ("http://a.org/", "News & more"),
        ("http://a.org/one?a=1&b=2", "One bold"),
        ("http://a.org/one.mp3", "One bold"),
        ("http://a.org/two", "Two"),
    ]
    assert parse.text.splitlines() == ["News & more", "All of it", "One bold", "First text", "Two"]


def test_atom() -> None:
    parse = parsed(ATOM)
    assert links(parse) == [("http://a.org/", "F"), ("http://a.org/feed?page=2", "F"), ("http://a.org/f/e", "E & F")]
    assert parse.text.splitlines() == ["F", "E & F", "One Two x"]


def test_rss_1() -> None:
    assert links(parsed(RDF)) == [("http://a.org/", "C"), ("http://a.org/i", "I")]


def test_json_feed() -> None:
    parse = parsed(json.dumps(JSON), "application/feed+json")
    assert links(parse) == [
        ("http://a.org/", "J"),
        ("http://a.org/feed?2", "J"),
        ("http://a.org/i", "I"),
        ("http://a.org/i.mp3", "I"),
    ]
    assert parse.text.splitlines() == ["J", "I", "Text", "alone"]


@pytest.mark.parametrize(
    ("body", "mime"),
    [
        ("<html><rss>", "text/xml"),
        ("", "text/xml"),
        ("{}", "application/json"),
        ("[" * 100_000, "application/json"),
        ('{"items": []}', "application/json"),
        ("\ufeff{", "application/json"),
    ],
)
def test_what_is_no_feed(body: str, mime: str) -> None:
    assert parsed(body, mime).status is ParseStatus.NO_PARSER


def test_a_broken_feed_gives_what_came() -> None:
    cut = RSS[: RSS.index("<description>&lt;")]
    assert ("http://a.org/one?a=1&b=2", "One bold") in links(parsed(cut))
    assert parsed("<rss><channel><item><title>A & B<item><link>http://b.org/").status is ParseStatus.SUCCESS
