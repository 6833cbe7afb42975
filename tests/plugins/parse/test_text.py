"""Plain text: the text, its charset, the URLs in it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugins.parse.pages import content

from nutchpy.conf.layers import defaults
from nutchpy.core.parse import Outlink, ParseStatus
from nutchpy.plugins.parse.text import MAX_LINKS, TextParser, urls_in


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see http://a.org/x, and https://b.org.", ["http://a.org/x", "https://b.org/"]),
        ("(http://a.org/x) <http://b.org/y>", ["http://a.org/x", "http://b.org/y"]),
        ("http://a.org/x_(y) [http://b.org/z]", ["http://a.org/x_(y)", "http://b.org/z"]),
        ("HTTP://A.org/X ftp://f.org/a", ["http://a.org/X", "ftp://f.org/a"]),
        ("http://http://a.org", ["http://http//a.org"]),
        ("xhttp://a.org view-source:http://b.org mailto:a@b.org www.c.org", ["http://b.org/"]),
        ("http://[bad/ http:// http://é.org/日本", ["http://xn--9ca.org/%E6%97%A5%E6%9C%AC"]),
        ("", []),
    ],
)
def test_urls_in(text: str, expected: list[str]) -> None:
    assert list(urls_in(text)) == expected


def test_text_page() -> None:
    parser = TextParser.from_conf(defaults().with_values({"http.agent.name": "bot"}))
    headers = [("Content-Type", "text/plain; charset=koi8-r"), ("X-Robots-Tag", "bot: noindex")]
    page = parser.parse(content("Привет\r\nмир http://a.org/\0".encode("koi8-r"), mime="text/plain", headers=headers))
    assert page.status is ParseStatus.SUCCESS
    assert page.text == "Привет\nмир http://a.org/"
    assert list(page.outlinks) == [Outlink("http://a.org/", "", None, "text")]
    assert (page.charset, page.charset_reason, page.title) == ("KOI8-R", "header", "")
    assert page.robots == {"noindex"}


def test_links_are_bounded() -> None:
    assert len(list(urls_in("http://a.org/ " * (MAX_LINKS + 5)))) == MAX_LINKS


def test_rubbish_is_linear() -> None:
    start = time.process_time()
    for unit in ("http://", "http:", "http://a", "http://a.org/)))", "a", ")"):
        list(urls_in(unit * 100_000))
    assert time.process_time() - start < 4


@given(st.binary(max_size=200))
def test_total(body: bytes) -> None:
    page = TextParser().parse(content(body + b" http://a.org/\xff", mime="text/plain"))
    page.text.encode()
    assert all(link.url.startswith("http") for link in page.outlinks)
