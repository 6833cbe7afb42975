from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nutchpy.core import java_regex
from nutchpy.core.java_tree import compiled
from nutchpy.core.regex_search import finder, replacer

PATTERNS = [
    r"^(?:file|ftp|mailto):",
    r"(?i)\.(?:gif|jpg|js)$",
    r".*(/[^/]+)/[^/]+\1/[^/]+\1/",
    r".",
    r"[?*!@=]",
    r"(?i)(;?\b_?(l|j|bv_)?(sid|phpsessid|sessionid)=.*?)(\?|&|#|$)",
    r"#.*?(\?|&|$)",
    r"\?&",
    r"&{2,}",
    r"[\?&\.]$",
    r"^file://+",
    r"(?<!:)/{2,}",
    r"(?<=[a-z])/{1,3}x?",
    r"a|b?",
    r"^(a|b)+c{2}$",
    r"(?i)SID=\d+",
    r"(ab|a)(bc)?$",
    r"\b/\B",
    r"^$",
    r"x*$",
    r"(?m)^a",
]
PIECES = [
    "a",
    "b",
    "c",
    "/",
    "//",
    ":",
    "?",
    "&",
    "#",
    ".",
    "=",
    "sid=",
    "SID=1",
    "file:",
    ".gif",
    ".JS",
    "\n",
    "x",
    "é",
]
texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@pytest.mark.parametrize("pattern", PATTERNS)
@given(texts=st.lists(texts, min_size=1, max_size=6))
def test_a_guard_changes_no_answer(pattern: str, texts: list[str]) -> None:
    search = finder(pattern)
    plain = compiled(java_regex.parse(pattern))
    expected = [place for place, text in enumerate(texts) if plain.search(text)]
    assert [place for place, text in enumerate(texts) if search.find(text)] == expected
    assert search.matching(texts) == expected


@pytest.mark.parametrize("pattern", PATTERNS)
@given(texts=st.lists(texts, min_size=1, max_size=6))
def test_a_column_is_rewritten_like_its_texts(pattern: str, texts: list[str]) -> None:
    substitution = replacer(pattern, "<$0>")
    column = list(texts)
    substitution.apply(column)
    assert column == [substitution(text) for text in texts]


@given(text=texts)
def test_lookbehind_behind_fixed_characters_means_the_same(text: str) -> None:
    assert replacer("(?<!:)/{2,}", "-")(text) == re.sub("(?<!:)/{2,}", "-", text)
    assert replacer("(?<!:)/{2,3}", "-")(text) == re.sub("(?<!:)/{2,3}", "-", text)
