"""The three engines say the same, and none hangs."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nutchpy.core import java_regex
from nutchpy.core.java_needs import may_be_empty
from nutchpy.core.java_tree import JavaRegexError, compiled
from nutchpy.core.regex_engines import Engines, OutOfTime, re2_pattern
from nutchpy.core.regex_search import finder, replacer

ATOMS = [
    "a",
    "b",
    "/",
    ".",
    "[ab]",
    "[^a]",
    "(a|b)",
    "(?:a|ab)",
    r"\w",
    r"\b",
    r"\B",
    "^",
    "$",
    "(?i:A)",
    "é",
    r"\p{Lu}",
    "(a)",
]
SUFFIXES = ["", "", "", "*", "+", "?", "*?", "+?", "{2}", "{1,3}", "{0,2}?", "{2,}"]
patterns = st.lists(st.tuples(st.sampled_from(ATOMS), st.sampled_from(SUFFIXES)), min_size=1, max_size=5).map(
    lambda parts: "".join(atom + (suffix if atom not in ("^", "$") else "") for atom, suffix in parts)
)
texts = st.lists(st.sampled_from(["a", "b", "A", "/", "é", "É", "ab", "_", "\n", "\r", "\u2028"]), max_size=8).map(
    "".join
)
HANGING = [r"(a+)+$", r"(a|aa)+$", r"(a+a+)+y", r"^(.*?a){25}b!", r".*a.*a.*a.*a.*a.*a.*!"]
HANGING_BEYOND_RE2 = [r"(?=(a+)+!)a", r"(a|aa)+(?<!b)$", r"((a|aa)+)!\1"]
LONG = "http://example.org/" + "a" * 1500 + "b"


def engines_of(pattern: str) -> Engines:
    return Engines(java_regex.parse(pattern))


@given(pattern=patterns, text=texts)
@settings(max_examples=400)
def test_all_engines_find_the_same(pattern: str, text: str) -> None:
    engines = engines_of(pattern)
    expected = compiled(engines.expression).search(text) is not None
    assert engines.search(text) is expected
    assert (engines.limited.search(text) is not None) is expected


@given(pattern=patterns, text=texts)
@settings(max_examples=400)
def test_all_engines_replace_the_same(pattern: str, text: str) -> None:
    engines = engines_of(f"({pattern})")
    python = compiled(engines.expression)
    if not may_be_empty(engines.expression.node):
        assert engines.replace(r"<\g<1>>", text) == python.sub(r"<\g<1>>", text)


@pytest.mark.parametrize("pattern", HANGING)
def test_re2_takes_what_would_hang(pattern: str) -> None:
    start = time.process_time()
    assert not finder(pattern).find(LONG)
    assert replacer(pattern, "-")(LONG) == LONG
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize("pattern", HANGING_BEYOND_RE2)
def test_the_rest_runs_out_of_time(pattern: str) -> None:
    assert re2_pattern(java_regex.parse(pattern).node) is None
    with pytest.raises(OutOfTime):
        finder(pattern, seconds=0.01).find(LONG)
    with pytest.raises(OutOfTime):
        replacer(pattern, "-", seconds=0.01).rewrite(LONG)
    with pytest.raises(OutOfTime):
        replacer(f"(?:{pattern})?", "-", seconds=0.01).rewrite(LONG)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("a.*b", False),
        ("[^x]+x:", False),
        ("(?i)(sid=.*?)(&|$)", True),
        ("a{2,}/", False),
        ("a+$", True),
        ("a*q", False),
    ],
)
def test_long_texts_leave_pythons_engine(pattern: str, found: bool) -> None:
    start = time.process_time()
    assert finder(pattern).find("http://example.org/?sid=" + "a" * 300_000) is found
    assert time.process_time() - start < 1


def test_text_that_is_no_unicode() -> None:
    assert finder("(a+)+\ud800").find("a\ud800")
    assert not finder("(a+)+b").find("a\ud800")


def test_what_re2_finds_too_large_has_a_time_limit() -> None:
    engines = engines_of(r"((a{1,100}){1,100}){1,100}b")
    assert engines.linear is None
    assert not engines_of(r"(\w{1,900}x){1,3}").search("a")


def test_what_python_refuses_is_refused() -> None:
    with pytest.raises(JavaRegexError):
        finder("(?<=a|b*)c")
