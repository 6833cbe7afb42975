"""The resolver of many references: the answers of ``resolve``, whatever was asked before on other pages of a folder."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from nutchpy.core.urls import Resolver, resolve

BASES = st.sampled_from(
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
REFERENCES = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


@settings(max_examples=500)
@given(st.lists(st.tuples(BASES, REFERENCES), min_size=1, max_size=10))
@example([("http://a.test/x/y.html", " "), ("http://a.test/x/z.html?q#f", " ")])
@example([("http://a.test/x/y.html", "http:?a"), ("http://a.test/x/z.html?q#f", "http:?a")])
@example([("http://a.test/x/y.html", "#a<b")])
@example([("http://a.test/x/y.html", "//b"), ("https://a.test/x/y", "//b")])
def test_same_as_resolving_each(asked: list[tuple[str, str]]) -> None:
    for base, reference in asked:
        assert Resolver(base)(reference) == resolve(base, reference)
