"""Resolver: the fast way must answer what the standard way answers."""

from __future__ import annotations

import pytest
from hypothesis import given
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
