"""Resolver: the fast way must answer what the standard way answers."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nutchpy.core.urls import Resolver, resolve

BASES = [
    "http://example.org",
    "https://user:pw@example.org:8080/a/b;c/d?q=/x#f/g",
    "http://example.org/a/?",
    "http://[::1]/a//b/../c",
    "http://example.org/%2e%2e/a/%2E/b",
    "file:///a/b",
    "mailto:a@b",
    "http://exa mple/",
    "nonsense",
]
REFERENCES = [
    "", "#", "#f", "?", "?q=1#f", "/", "//", "///x", "//other/x", "/../x", "x", "./x", "../../../x", "..", ".", "x/..",
    "http://o/", "https:x", "http:/x", "HTTP://O/x", "http:////o", "javascript:x", "x:y", "x/y:z", "1:2", ":", "a b",
    " x ", "\tx\n", "\\x", "/\\o/x", "é", "?é", "#é", "%zz", "x%2e%2e/y", "http://[bad/", "//[bad/", "http://a:99999/",
    "//", "/?", "..?x", "..#x", ";x", "*", "C:/x", "\x00", "\x7f", "\u200b", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("base", BASES)
def test_equals_resolve(base: str) -> None:
    resolver = Resolver(base)
    assert {ref: resolver(ref) for ref in REFERENCES} == {ref: resolve(base, ref) for ref in REFERENCES}


@given(st.sampled_from(BASES), st.text(alphabet="ab./?#:\\%2eé@[] \t", max_size=12))
def test_equals_resolve_on_anything(base: str, reference: str) -> None:
    assert Resolver(base)(reference) == resolve(base, reference)


_IN_FOLDERS = st.sampled_from(
    [
        "http://a.test/x/y.html",
        "http://a.test/x/z.html?q#f",
        "http://a.test/x?a/b",
        "https://a.test/x/y",
        "http://a.test",
        "http://a.test:81/x/.c/d",
        "http://a.test/a^b",
        "http://[::1]/a",
        "ftp://a.test/x/y",
        "file:///x/y",
        "about:blank",
    ]
)
PIECES = [
    "",
    "#",
    "?",
    "/",
    "//",
    "a",
    "b",
    ".",
    "..",
    ":",
    "http:",
    "b.test",
    "%2e",
    " ",
    "\\",
    "\t",
    "é",
    "<",
    "^",
    "@",
]
_PIECEWISE = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


@settings(max_examples=500)
@given(st.lists(st.tuples(_IN_FOLDERS, _PIECEWISE), min_size=1, max_size=10))
@example([("http://a.test/x/y.html", " "), ("http://a.test/x/z.html?q#f", " ")])
@example([("http://a.test/x/y.html", "http:?a"), ("http://a.test/x/z.html?q#f", "http:?a")])
@example([("http://a.test/x/y.html", "#a<b")])
@example([("http://a.test/x/y.html", "//b"), ("https://a.test/x/y", "//b")])
def test_what_was_asked_on_other_pages_of_a_folder_makes_no_difference(asked: list[tuple[str, str]]) -> None:
    for base, reference in asked:
        assert Resolver(base)(reference) == resolve(base, reference)
