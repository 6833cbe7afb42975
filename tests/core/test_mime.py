"""MIME types by content, header and URL: whom to believe when they disagree."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nutchpy.core.mime import is_binary, mime, sniff

URL = "http://example.org/x"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"<!DOCTYPE html><title>x</title>", "text/html"),
        (b"\n\t <HtMl>", "text/html"),
        (b"\xef\xbb\xbf<html lang=en>", "text/html"),
        ("<!doctype html>".encode("utf-16"), "text/html"),
        (b"<!-- c --><html>", "text/html"),
        (b"<!-- a comment and then something", "text/html"),
        (b"<b>x</b>", "text/html"),
        (b"<blink>", None),
        (b'<?xml version="1.0"?><note/>', "application/xml"),
        (b'<?xml version="1.0"?>\n<!-- c -->\n<rss version="2.0">', "application/rss+xml"),
        (b'<feed xmlns="http://www.w3.org/2005/Atom">', "application/atom+xml"),
        (b'<rdf:RDF xmlns:rdf="x" xmlns="http://purl.org/rss/1.0/">', "application/rss+xml"),
        (b'<?xml version="1.0"?><!DOCTYPE svg PUBLIC "x" "y"><svg width="1">', "image/svg+xml"),
        (b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "x" "y"><html>', "application/xhtml+xml"),
        (b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>", "application/xml"),
        (b"%PDF-1.7\n%", "application/pdf"),
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
        (b"GIF89a\1\0", "image/gif"),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
        (b"\0\0\0\x1cftypavif", "image/avif"),
        (b"PK\3\4\x14\0", "application/zip"),
        (b"\x1f\x8b\x08\0", "application/gzip"),
        (b"BMW builds cars", None),
        (b"MZ is a place", None),
        (b"BM\x36\0\0\0\0\0", "image/bmp"),
        (b"just words", None),
        (b"", None),
    ],
)
def test_sniff(body: bytes, expected: str | None) -> None:
    assert sniff(body) == expected


@pytest.mark.parametrize(
    ("header", "url", "body", "expected"),
    [
        ("text/html; charset=utf-8", URL, b"<p>x", "text/html"),
        ("text/html", URL, b"%PDF-1.4 ...", "application/pdf"),
        ("text/plain", URL, b"<!doctype html><p>", "text/html"),
        ("text/plain", URL, b"words", "text/plain"),
        ("application/msword", URL + ".doc", b"Only words, no document", "text/plain"),
        ("image/png", URL, b"Not Found", "text/plain"),
        ("application/pdf", URL, b"Please log in", "text/plain"),
        ("application/pdf", URL, b"\r\n%PDF-1.4 behind a line end", "application/pdf"),
        ("application/vnd.api+json", URL, b'{"data": []}', "application/vnd.api+json"),
        ("image/png", URL, b"", "image/png"),
        (None, URL, b"BMW", "image/bmp"),
        ("text/plain", URL, b"BMW", "text/plain"),
        ("text/plain", URL, b"\0\1\2\3", "application/octet-stream"),
        ("text/plain", URL, "words".encode("utf-16"), "text/plain"),
        ("text/html", URL, PNG, "image/png"),
        ("image/png", URL, b"<html>404", "text/html"),
        ("application/json", URL, b"<!doctype html>", "text/html"),
        ("application/json", URL, b'{"a": 1}', "application/json"),
        ("application/xhtml+xml", URL, b"<html xmlns='x'>", "application/xhtml+xml"),
        ("text/html", URL, b'<?xml version="1.0"?><html>', "text/html"),
        ("text/xml", URL, b'<?xml version="1.0"?><note>', "text/xml"),
        ("text/xml", URL, b"<rss>", "application/rss+xml"),
        ("application/rdf+xml", URL, b'<?xml version="1.0"?><rdf:RDF>', "application/rdf+xml"),
        ("application/epub+zip", URL, b"PK\3\4", "application/epub+zip"),
        ("application/octet-stream", "http://h/a.html", b"words", "text/html"),
        (None, "http://h/a.HTML?x=.pdf", b"words", "text/html"),
        (None, "http://h/a.pdf", b"<html>", "text/html"),
        (None, "http://example.zip", b"words", "text/plain"),
        (None, URL, b"words", "text/plain"),
        (None, URL, b"\0\1\2", "application/octet-stream"),
        (None, URL, b"", "application/octet-stream"),
        ("text/html", URL, b"", "text/html"),
        ("bogus", URL, b"words", "text/plain"),
        ("text/html, text/plain", URL, b"words", "text/plain"),
    ],
)
def test_trust(header: str | None, url: str, body: bytes, expected: str) -> None:
    assert mime(header, url, body) == expected


def test_without_magic_the_header_holds() -> None:
    assert mime("text/plain", URL, b"<html>", magic=False) == "text/plain"
    assert mime(None, "http://h/a.png", b"<html>", magic=False) == "image/png"
    assert mime(None, URL, b"<html>", magic=False) == "text/html"


def test_is_binary_knows_utf16() -> None:
    assert is_binary(b"a\0b")
    assert not is_binary("ab".encode("utf-16"))


@pytest.mark.parametrize("unit", [b"<!---->", b"<?x?>", b"<!DOCTYPE a[]>", b"<!DOCTYPE a[", b"<?xml>", b" <", b"<!--"])
def test_repeated_prologs_take_no_time(unit: bytes) -> None:
    start = time.process_time()
    sniff(unit * 400 + b"!")
    assert time.process_time() - start < 0.2


@given(st.text(), st.text(), st.binary())
def test_total(header: str, url: str, body: bytes) -> None:
    found = mime(header, url, body)
    assert "/" in found
    assert found == found.lower()
