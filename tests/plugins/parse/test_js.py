"""Scripts: strings that are URLs."""

from __future__ import annotations

import time

from plugins.parse.pages import content

from nutchpy.plugins.parse.js import JavaScriptParser

SCRIPT = rb"""var a = "http://b.org/x"; b = '\/path\/y?z=1'; c = `//c.org/`; d = "no url"; e = "../up"; f = "page.html";
g = "/"; h = "a/b"; i = '\u002Fescaped'; // "http://d.org/comment"
"""


def test_strings() -> None:
    parse = JavaScriptParser().parse(content(SCRIPT, mime="text/javascript", url="http://a.org/js/s.js"))
    assert [link.url for link in parse.outlinks] == [
        "http://b.org/x",
        "http://a.org/path/y?z=1",
        "http://c.org/",
        "http://a.org/up",
        "http://a.org/js/page.html",
        "http://d.org/comment",
    ]
    assert parse.text == ""


def test_a_megabyte_of_quotes_takes_little_time() -> None:
    for piece in (b'"', b'"/a', b"'../", b'"a.html?', b"`http://", b'"a/b.'):
        started = time.process_time()
        page = content(piece * (1_000_000 // len(piece)), mime="text/javascript", url="http://a.org/js/s.js")
        len(JavaScriptParser().parse(page).outlinks)
        assert time.process_time() - started < 2, piece
