"""How queries of links go out: in the page's charset, as the Encoding and URL standards have it."""

from __future__ import annotations

import unicodedata

import pytest

from nutchpy.plugins.parse import decoders, encoders
from nutchpy.plugins.parse.links import query_encoder
from nutchpy.testing.conformance import html


@pytest.mark.parametrize(
    ("charset", "text", "sent"),
    [
        ("windows-1252", "€ž", "%80%9E"),
        ("windows-1252", "a\x9dé", "a%9D%E9"),
        ("windows-1251", "я☃", "%FF%26%239731%3B"),
        ("GBK", "€中", "%80%D6%D0"),
        ("gb18030", "\ue5e5€", "%26%2358853%3B%A2%E3"),
        ("EUC-JP", "⑦ㇰ～", "%AD%A7%26%2312784%3B%A1%C1"),
        ("EUC-JP", "彅丂", "%F9%AC%26%2319970%3B"),
        ("Shift_JIS", "¥‾⑦", "\\~%87F"),
        ("ISO-2022-JP", "ｱ", '%1B$B%"%1B(B'),
        ("ISO-2022-JP", "\x0fé", "%26%2365533%3B%26%23233%3B"),
        ("EUC-KR", "가💩", "%B0%A1%26%23128169%3B"),
        ("x-user-defined", "\uf7ffé", "%FF%26%23233%3B"),
        ("UTF-16LE", "é", "é"),
    ],
)
def test_query_of_a_link(charset: str, text: str, sent: str) -> None:
    assert query_encoder(charset)(f"/é?{text}#é") == f"/é?{sent}#é"


@pytest.mark.parametrize("charset", ["windows-1252", "windows-1255", "EUC-JP", "GBK", "Shift_JIS", "Big5", "EUC-KR"])
def test_what_is_encoded_decodes_to_the_same(charset: str) -> None:
    encode = encoders.encoder(charset)
    for point in (*range(0x80, 0x3100), *range(0x4E00, 0x9FA0, 7)):
        try:
            octets = encode(chr(point))
        except UnicodeEncodeError:
            continue
        back = decoders.decoded(octets, charset)
        same = unicodedata.normalize("NFKC", back) == unicodedata.normalize("NFKC", chr(point))
        assert same or chr(point) in "¥‾¬−‖〜¦", (hex(point), octets)


def test_an_unknown_encoding_is_a_lookup_error() -> None:
    with pytest.raises(LookupError):
        encoders.encoder("utf-7")


def test_a_page_sends_every_reference_in_its_charset() -> None:
    body = (
        '<base href="/dir/?é"><link rel=canonical href="c?é"><meta http-equiv=refresh content="3;url=\'r?é \'">'
        '<a href=" a?\té ">x</a><a href="a b?c ">y</a>'
    ).encode("latin-1")
    page = html(body, "http://h.example/", [("Content-Type", "text/html; charset=iso-8859-1")])
    assert page.base == "http://h.example/dir/?%E9"
    assert page.canonical == "http://h.example/dir/c?%E9"
    assert page.refresh == (3.0, "http://h.example/dir/r?%E9")
    assert [link.url for link in page.outlinks if link.tag == "a"] == [
        "http://h.example/dir/a?%E9",
        "http://h.example/dir/a%20b?c",
    ]
