"""XML of any vocabulary."""

from __future__ import annotations

from plugins.parse.pages import content

from nutchpy.core.parse import ParseStatus
from nutchpy.plugins.parse.xml import XmlParser

BOMB = '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><a>&b; und &ouml;</a>'
BOOK = """<?xml version="1.0" encoding="iso-8859-1"?><book xmlns:xlink="http://www.w3.org/1999/xlink"><title>T\xe9</title>
<style>p {}</style><p xlink:href="/p">One</p><p>http://b.org/x.</p></book>"""


def test_text_title_and_links() -> None:
    parse = XmlParser().parse(content(BOOK.encode("latin-1"), mime="application/xml", url="http://a.org/"))
    assert (parse.title, parse.charset, parse.charset_reason) == ("Té", "windows-1252", "meta")
    assert parse.text.splitlines() == ["Té", "One", "http://b.org/x."]
    assert [link.url for link in parse.outlinks] == ["http://a.org/p", "http://b.org/x"]


def test_entities_of_the_document_are_not_expanded() -> None:
    assert XmlParser().parse(content(BOMB.encode(), mime="text/xml")).text == "und ö"


def test_any_bytes() -> None:
    for body in (b"", b"\0<a", b"<" * 1000, b"\xff\xfe<", b"</a></b>x"):
        assert XmlParser().parse(content(body, mime="text/xml")).status is ParseStatus.SUCCESS
