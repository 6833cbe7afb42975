"""Who parses which MIME type: claims with wildcards, the mapping of the settings, handing on."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nutchpy.conf.layers import Conf, defaults
from nutchpy.core.content import Content
from nutchpy.core.errors import ConfigError
from nutchpy.core.parse import ParseStatus
from nutchpy.extension.chains import Parsers

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def conf(*plugins: str) -> Conf:
    return defaults().with_values({"parse.plugins": list(plugins)})


def first(parsers: Parsers, mime: str) -> str | None:
    found = parsers.find(mime)
    return found[0] if found else None


@pytest.mark.parametrize(
    ("mime", "name"),
    [
        ("text/html; charset=utf-8", "html"),
        ("application/xhtml+xml", "html"),
        ("application/rss+xml", "feed"),
        ("Image/SVG+xml", "xml"),
        ("application/x-unheard-of+xml", "xml"),
        ("application/pdf", "pdf"),
        ("application/zip", "zip"),
        ("application/gzip", "sitemap"),
        ("text/javascript", None),
        ("image/png", None),
        ("", None),
    ],
)
def test_claims(mime: str, name: str | None) -> None:
    assert first(Parsers.from_conf(conf()), mime) == name


def test_the_settings_map_types_to_parsers() -> None:
    parsers = Parsers.from_conf(conf("image/svg+xml=", "application/*+json = text", "text/*=text, html"))
    assert first(parsers, "image/svg+xml") is None
    assert first(parsers, "application/ld+json") == "text"
    assert first(parsers, "text/html") == "text"
    assert first(parsers, "application/xhtml+xml") == "html"


@pytest.mark.parametrize("words", ["text/html", "html=html", "text/html=js"])
def test_a_mapping_that_cannot_be(words: str) -> None:
    with pytest.raises(ConfigError, match="parse.plugins"):
        Parsers.from_conf(conf(words))


@pytest.mark.parametrize(
    ("body", "links", "text"),
    [
        (b"<urlset><url><loc>http://a.org/1</loc></url></urlset>", ["http://a.org/1"], ""),
        (b"<rss><channel><item><title>T</title><link>/2</link></item></channel></rss>", ["http://a.org/2"], "T"),
        (b"<book href='/3'>words</book>", ["http://a.org/3"], "words"),
    ],
)
def test_a_parser_leaves_what_is_not_its_own_to_the_next(body: bytes, links: list[str], text: str) -> None:
    parse = Parsers.from_conf(conf()).parse(Content("http://a.org/", "http://a.org/", "text/xml", (), body, NOW))
    assert ([link.url for link in parse.outlinks], parse.text) == (links, text)


def test_when_all_refuse() -> None:
    page = Content("http://a.org/", "http://a.org/", "application/json", (), b"{}", NOW)
    parse = Parsers.from_conf(conf()).parse(page)
    assert (parse.status, parse.message) == (ParseStatus.NO_PARSER, "no feed")
