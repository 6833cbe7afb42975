"""XML as the web writes it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nutchpy.core import markup

PIECES = ["<", ">", "</", "/>", "<a", "<a>", "</a>", "<b x='1'>", "<!--", "-->", "<![CDATA[", "]]>", "<?", "?>", "<!"]
PIECES += ["<!DOCTYPE a [<!ENTITY x 'y'>", "]>", "&", "&amp;", "&x;", "text", '"', "[", "]", "\0", "&#1;"]


class Told:
    """What a handler was told, in words."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def start(self, name: str, attributes: str) -> None:
        self.words.append(f"+{name}{attributes}")

    def end(self, name: str) -> None:
        self.words.append(f"-{name}")

    def text(self, text: str) -> None:
        self.words.append(text)

    def broken(self, why: str) -> None:
        self.words.append("!")


def told(text: str) -> list[str]:
    handler = Told()
    markup.scan(text, handler)
    return handler.words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<a b='1'>x<c/>y</a>", ["+a b='1'", "x", "+c", "-c", "y", "-a"]),
        ("<a>&lt;&#65;&ouml;&amp;amp; & &b c=1&d=2;</a>", ["+a", "<Aö&amp; & &b c=1&d=2;", "-a"]),
        ("<!-- <a> --><![CDATA[<&amp;>]]><?pi <a>?>", ["<&amp;>"]),
        ("<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc'>]><a>&x;&y;</a>", ["+a", "&y;", "-a"]),
        ("<a><b>x</a>y", ["+a", "+b", "x", "!", "-b", "-a", "y"]),
        ("<a>x</b></a>", ["+a", "x", "!", "-a"]),
        ("<a>x</", ["+a", "x", "!", "-a"]),
        ("<a", ["!"]),
        ("a < b > c", ["a < b > c"]),
        ("<!-- <a>", []),
        ("", []),
    ],
)
def test_events(text: str, expected: list[str]) -> None:
    words = told(text)
    assert "".join(words) == "".join(expected)


class Nested(Told):
    """Holds the elements open at the moment."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def start(self, name: str, attributes: str) -> None:
        self.open.append(name)

    def end(self, name: str) -> None:
        assert self.open.pop() == name


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_elements_nest(text: str) -> None:
    """Each end is that of the innermost element, and in the end all are closed."""
    handler = Nested()
    markup.scan(text, handler)
    assert handler.open == []


@pytest.mark.parametrize("piece", [*PIECES, "<a b=", "<!DOCTYPE[", "<!ENTITY a "])
def test_a_megabyte_takes_little_time(piece: str) -> None:
    for text in (piece * (1_000_000 // len(piece)), f"{piece * (1_000_000 // len(piece))}>"):
        started = time.process_time()
        markup.scan(text, Told())
        assert time.process_time() - started < 3, piece


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"\xef\xbb\xbf<a>", "<a>"),
        ("<a>ö".encode("utf-16"), "<a>ö"),
        ("<?xml?>".encode("utf-16-le"), "<?xml?>"),
        (b"<?xml version='1.0' encoding='windows-1251'?>\xe4", "<?xml version='1.0' encoding='windows-1251'?>д"),
        (b"<?xml encoding='no-such'?>\xc3\xb6\xff", "<?xml encoding='no-such'?>ö\ufffd"),
        (b"<?xml encoding='utf-7'?>+AGE-", "<?xml encoding='utf-7'?>+AGE-"),
    ],
)
def test_decode(body: bytes, text: str) -> None:
    assert markup.decode(body) == text


def test_attributes() -> None:
    assert markup.attributes(" a='1' b = \"2&amp;\" a=3 c=d e x:y='z'") == {"a": "1", "b": "2&", "c": "d", "x:y": "z"}
