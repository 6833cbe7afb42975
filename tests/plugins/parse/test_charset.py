"""Which charset a body is in: the order of evidence, and bytes that try to mislead."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nutchpy.plugins.parse.charset import charset, detect, is_utf8
from nutchpy.plugins.parse.labels import decode, whatwg_name

META = b'<meta charset="iso-8859-2">'
RUSSIAN = "Привет мир, это проверка кодировки страниц. " * 3


@pytest.mark.parametrize(
    ("header", "body", "expected"),
    [
        ("text/html; charset=koi8-r", b"\xef\xbb\xbf" + META, ("UTF-8", "bom")),
        ("text/html; charset=koi8-r", b"\xff\xfea\0", ("UTF-16LE", "bom")),
        ("text/html; charset=koi8-r", META, ("KOI8-R", "header")),
        ("text/html; charset=nonsense", META, ("ISO-8859-2", "meta")),
        ("text/html; charset=unicode_escape", b"x", ("windows-1252", "default")),
        (None, META, ("ISO-8859-2", "meta")),
        (None, b'<?xml version="1.0" encoding="euc-jp"?><html>', ("EUC-JP", "meta")),
        (None, "<\0?\0x\0".encode("latin-1"), ("UTF-16LE", "meta")),
        (None, b'<meta charset="utf-16">', ("UTF-8", "meta")),
        (None, b'<meta charset="x-user-defined">', ("windows-1252", "meta")),
        (None, b'<meta charset="utf-7"> a', ("windows-1252", "default")),
        (None, "<p>žluťoučký".encode(), ("UTF-8", "utf8")),
        (None, "<p>žluťoučký".encode()[:-1], ("UTF-8", "utf8")),
        (None, RUSSIAN.encode("windows-1251"), ("windows-1251", "detected")),
        (None, RUSSIAN.encode("koi8-r"), ("KOI8-R", "detected")),
        (None, "日本語のテキスト".encode("iso2022_jp"), ("ISO-2022-JP", "detected")),
        (None, "é and \x1b[0m".encode(), ("UTF-8", "utf8")),
        (None, b"plain", ("windows-1252", "default")),
        (None, b"", ("windows-1252", "default")),
    ],
)
def test_order_of_evidence(header: str | None, body: bytes, expected: tuple[str, str]) -> None:
    assert charset(header, body) == expected


def test_text_has_no_meta_and_xml_defaults_to_utf8() -> None:
    assert charset(None, META, "text/plain") == ("windows-1252", "default")
    assert charset(None, b'<?xml version="1.0"?><a/>', "application/rss+xml") == ("UTF-8", "default")
    assert charset(None, b'<?xml version="1.0" encoding="gbk"?><a/>', "text/xml") == ("GBK", "meta")


def test_default_is_a_parameter() -> None:
    assert charset(None, b"plain", default="UTF-8") == ("UTF-8", "default")


@pytest.mark.parametrize(
    ("text", "codec", "name"),
    [
        ("日本語のテキストです。これは試験です。" * 3, "cp932", "Shift_JIS"),
        ("日本語のテキストです。これは試験です。" * 3, "euc-jp", "EUC-JP"),
        ("这是一个测试文本，编码检测。" * 3, "gbk", "gb18030"),
        ("這是一個測試文本，編碼檢測。" * 3, "big5", "Big5"),
        ("한국어 텍스트 테스트입니다." * 3, "cp949", "EUC-KR"),
        ("Les élèves français étaient très contents d'être là. " * 3, "cp1252", "windows-1252"),
    ],
)
def test_detection(text: str, codec: str, name: str) -> None:
    assert detect(text.encode(codec)) == name


def test_utf8_is_checked_whole() -> None:
    assert is_utf8("é".encode() + b"\xc3")
    assert not is_utf8(b"\xc3(")
    assert not is_utf8(b"\xed\xa0\x80")


def test_labels_follow_the_standard() -> None:
    assert whatwg_name(" Latin1 ") == "windows-1252"
    assert whatwg_name("gb2312") == "GBK"
    assert whatwg_name("hz-gb-2312") == "replacement"
    assert whatwg_name("x-sjis") == "Shift_JIS"
    assert whatwg_name("idna") is None
    assert whatwg_name("utf-7") is None


def test_decode_never_raises_and_drops_the_mark() -> None:
    assert decode(b"\xef\xbb\xbfa\xff", "UTF-8") == "a\ufffd"
    assert decode(b"\xff\xfea\0\0", "UTF-16LE") == "a\ufffd"
    assert decode(b"anything", "replacement") == "\ufffd"


@given(st.text(max_size=30), st.binary(max_size=300), st.sampled_from(["text/html", "text/plain", "text/xml"]))
def test_total(header: str, body: bytes, mime: str) -> None:
    name, reason = charset(f"text/html;charset={header}", body, mime)
    assert reason in {"bom", "header", "meta", "utf8", "detected", "default"}
    assert whatwg_name(name) == name
    assert isinstance(decode(body, name), str)


@given(st.lists(st.sampled_from([b"<meta", b" charset=", b'"', b"'", b"utf-8", b">", b"<!--", b"-->", b"/", b"="])))
def test_prescan_survives_any_markup(pieces: list[bytes]) -> None:
    name, _ = charset(None, b"".join(pieces))
    assert name in {"UTF-8", "windows-1252"}


def test_long_rubbish_is_linear() -> None:
    start = time.process_time()
    for unit in (b"<meta ", b"<meta charset", b"<meta a=", b"<a b='", b"<!--", b"charset ", b"<?xml ", b"<", b"<meta/"):
        charset(None, unit * 50_000)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("name", "body", "text"),
    [
        ("windows-1252", b"\x80\x81\x9f", "€\x81Ÿ"),
        ("windows-874", b"\x81\xa1\xdb", "\x81ก\ufffd"),
        ("windows-1255", b"\xca\xd9", "\u05ba\ufffd"),
        ("KOI8-U", b"\xae\xbe\xa4", "ўЎє"),
        ("GBK", b"\x80\x81\x30\x81\x30", "€\x80"),
        ("GBK", b"\xff<b", "\ufffd<b"),
        ("Shift_JIS", b"\x87\x40\x81\x60", "①～"),
        ("Shift_JIS", b"\x81<b", "\ufffd<b"),
        ("Shift_JIS", b"\x82\xa0\x82", "あ\ufffd"),
        ("EUC-JP", b"\xad\xa1\xa1\xc1\xa4\xa2", "①～あ"),
        ("EUC-JP", b"\xf9\xa1\xfc\xe3", "纊髜"),
        ("EUC-JP", b"\xa9\xa1<b", "\ufffd<b"),
        ("EUC-KR", b"\x81\x41\xc9<b", "갂\ufffd<b"),
        ("Big5", b"\x87\x40\xa4", "\u43f0\ufffd"),
    ],
)
def test_bytes_mean_what_the_encoding_standard_says(name: str, body: bytes, text: str) -> None:
    assert decode(body, name) == text


@given(
    st.binary(max_size=40), st.sampled_from(["windows-1253", "EUC-JP", "Shift_JIS", "GBK", "gb18030", "EUC-KR", "Big5"])
)
def test_any_bytes_decode_and_ascii_stays(body: bytes, name: str) -> None:
    text = decode(body + b"\0" * 4 + b"<p>", name)
    assert text.endswith("<p>")
