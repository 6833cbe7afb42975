"""One page: from its body to what the tables and the crawldb are told."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Content, Headers
from nutchpy.core.parse import ParseStatus
from nutchpy.parsing import rows
from nutchpy.parsing.outlinks import Link
from nutchpy.parsing.page import PageInput, PageParser, ParsedPage

PAGE = "http://a.test/p"
HTML = """<html lang=en><title>T</title><meta name=description content=About><link rel=canonical href=/c>
<a href=/x>X</a> <a href=http://b.test/>B</a> <a href=mailto:a@b>M</a>"""


def page(body: str | bytes = HTML, mime: str = "text/html", headers: Headers = (), **values: Any) -> PageInput:
    data = body.encode() if isinstance(body, str) else body
    content = Content(PAGE, PAGE, mime, headers, data, datetime(2026, 1, 1, tzinfo=UTC))
    return PageInput(replace(content, **values), 1.0, 2)


def parsed(conf: Conf, body: str | bytes = HTML, **values: Any) -> ParsedPage:
    return PageParser(conf).parse(page(body, **values))


def test_ordinary_page(conf: Conf) -> None:
    found = parsed(conf)
    assert (found.status, found.title, found.language, found.charset) == ("success", "T", "en", "windows-1252")
    assert found.text == "T\nX B M"
    assert [(link.url, link.anchor, link.rel) for link in found.outlinks] == [
        ("http://a.test/c", "", "canonical"),
        ("http://a.test/x", "X", None),
        ("http://b.test/", "B", None),
    ]
    assert found.signature == hashlib.md5(HTML.encode()).digest()
    third = pytest.approx(1 / 3)
    assert found.links == [
        Link("http://a.test/c", "a.test", third, 3),
        Link("http://a.test/x", "a.test", third, 3),
        Link("http://b.test/", "b.test", third, 3),
    ]
    assert found.content_meta == {"content_type": "text/html", "charset_reason": "default"}
    assert found.parse_meta == {"canonical": "http://a.test/c"}


def test_noindex_takes_text_and_title_and_leaves_links(conf: Conf) -> None:
    found = parsed(conf, "<meta name=robots content=noindex><title>T</title>x<a href=y>z</a>")
    assert (found.text, found.title, found.parse_meta["robots"]) == ("", "", "noindex")
    assert len(found.outlinks) == 1


def test_nofollow_takes_links_and_not_the_refresh(conf: Conf) -> None:
    html = "<meta name=robots content=nofollow><meta http-equiv=refresh content='5;url=/r'><a href=y>z</a>"
    found = parsed(conf, html)
    assert (found.status, found.text, found.outlinks) == ("success_redirect", "z", [])
    assert found.links == [Link("http://a.test/r", "a.test", 1.0, 2)]
    assert found.parse_meta == {"robots": "nofollow", "refresh": "5; http://a.test/r"}


def test_refresh_to_itself_links_nothing(conf: Conf) -> None:
    parser = PageParser(conf)
    assert parser.parse(page("<meta http-equiv=refresh content=300>")).links == []
    assert parser.take_counters()["outlinks_dropped:self"] == 1


def test_x_robots_tag(conf: Conf) -> None:
    assert parsed(conf, headers=[("X-Robots-Tag", "none")]).outlinks == []


def test_plain_text_has_links_too(conf: Conf) -> None:
    found = parsed(conf, "see http://b.test/x.", mime="text/plain")
    assert (found.text, [link.url for link in found.links]) == ("see http://b.test/x.", ["http://b.test/x"])


@pytest.mark.parametrize(
    ("values", "status"),
    [({"mime": "image/png"}, "no_parser"), ({"body": b""}, "empty"), ({"mime": ""}, "no_parser")],
)
def test_unparsed_pages_have_a_signature_all_the_same(conf: Conf, values: dict[str, Any], status: str) -> None:
    found = parsed(conf, **values)
    assert found.status == status
    assert found.signature is not None
    assert len(found.signature) == 16
    assert (found.text, found.links, found.outlinks) == ("", (), ())


def test_truncated_pages_are_skipped_by_setting(conf: Conf) -> None:
    found = parsed(conf, truncated="length")
    assert (found.status, found.message, found.signature) == ("truncated", "truncated: length", None)
    assert parsed(conf.with_values({"parser.skip.truncated": False}), truncated="length").status == "success"


def test_metadata_for_the_crawldb(conf: Conf) -> None:
    conf = conf.with_values(
        {
            "htmlparsefilter.order": ["metatags"],
            "metatags.names": ["description"],
            "db.parsemeta.to.crawldb": ["metatag.description", "absent"],
        }
    )
    found = parsed(conf)
    assert found.metadata == {"metatag.description": "About"}
    assert found.parse_meta == {"canonical": "http://a.test/c", "metatag.description": "About"}


def test_filters_get_one_soup_if_they_ask(wild_conf: Conf) -> None:
    parser = PageParser(wild_conf.with_values({"htmlparsefilter.order": ["asks"]}))
    assert parser.parse(page()).parse_meta["asked"] == "T"
    assert parser.parse(page("x", mime="text/plain")).status == "no_parser"


def test_a_filter_that_raises_costs_its_addition(wild_conf: Conf) -> None:
    parser = PageParser(wild_conf.with_values({"htmlparsefilter.order": ["asks", "metatags"]}))
    found = parser.parse(page("<meta name=description content=D>no title"))
    assert found.parse_meta == {"metatag.description": "D"}
    assert parser.take_counters()["plugin_errors:asks"] == 1


def test_a_parser_that_raises_costs_the_page(wild_conf: Conf) -> None:
    parser = PageParser(wild_conf)
    assert parser.parse(page("fail", mime="text/wild")).status is ParseStatus.EXCEPTION
    assert parser.parse(page("deep", mime="text/wild")).status is ParseStatus.EXCEPTION
    assert parser.take_counters()["plugin_errors:wild"] == 2


def test_a_signature_that_fails_its_contract_costs_the_page_its_fingerprint(wild_conf: Conf) -> None:
    parser = PageParser(wild_conf.with_values({"db.signature.class": "forgetful"}))
    assert parser.parse(page()).signature == hashlib.md5(HTML.encode()).digest()
    assert parser.parse(page(b"", mime="image/png")).signature == hashlib.md5(PAGE.encode()).digest()
    assert parser.take_counters()["plugin_errors:forgetful"] == 2


def test_counters_say_what_happened(conf: Conf) -> None:
    parser = PageParser(conf)
    parser.parse(page("<a href=/p>self</a><a href=/x>x</a>"))
    parser.parse(page(b"", mime="image/png"))
    assert dict(parser.take_counters()) == {
        "parsed:success": 1,
        "parsed:empty": 1,
        "outlinks": 1,
        "outlinks_dropped:self": 1,
    }
    assert not dict(parser.take_counters())


def test_rows_of_the_tables(conf: Conf) -> None:
    parser = PageParser(conf.with_values({"db.parsemeta.to.crawldb": ["canonical"]}))
    pages = [parser.parse(page()), parser.parse(page(b"x", mime="image/png")), parser.parse(page(truncated="time"))]
    tables = {name: table.to_pylist() for name, table in rows.tables(pages).items()}
    assert list(tables) == ["parse_text", "parse_data", "crawl_parse"]
    assert [row["text"] for row in tables["parse_text"]] == ["T\nX B M"]
    assert [row["parse_status"] for row in tables["parse_data"]] == ["success", "no_parser", "truncated"]
    assert tables["parse_data"][0]["outlinks"][1] == {"url": "http://a.test/x", "anchor": "X", "rel": None}
    assert tables["parse_data"][0]["content_meta"] == [("charset_reason", "default"), ("content_type", "text/html")]
    assert tables["parse_data"][1]["content_meta"] is None
    assert tables["parse_data"][1]["message"] == "no parser for image/png"
    assert [(row["kind"], row["url"]) for row in tables["crawl_parse"]] == [
        ("signature", PAGE),
        ("linked", "http://a.test/c"),
        ("linked", "http://a.test/x"),
        ("linked", "http://b.test/"),
        ("signature", PAGE),
    ]
    assert rows.tables(pages, store_text=False)["parse_text"].num_rows == 0
    assert all(table.num_rows == 0 for table in rows.tables([]).values())


def test_texts_that_utf8_cannot_hold_are_mended(wild_conf: Conf) -> None:
    found = PageParser(wild_conf.with_values({"htmlparsefilter.order": ["asks"]})).parse(page())
    tables = rows.tables([replace(found, title="\ud800t")])
    assert tables["parse_data"]["title"].to_pylist() == ["?t"]
    assert dict(tables["parse_data"]["parse_meta"].to_pylist()[0])["odd"] == "?"
