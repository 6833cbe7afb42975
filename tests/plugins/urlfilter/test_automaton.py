from __future__ import annotations

import time

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import ConfigError
from nutchpy.core.java_tree import JavaRegexError
from nutchpy.plugins.urlfilter.automaton import AutomatonURLFilter
from nutchpy.plugins.urlfilter.automaton_syntax import whole_matcher


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("a|b", "b", True),
        ("a", "ab", False),
        ("^a$", "^a$", True),
        ("a.c", "a\nc", True),
        ("a@z", "a and z", True),
        ("a#?", "a", True),
        ("#", "", False),
        ('"a|b*"', "a|b*", True),
        ("()", "", True),
        ("(ab){2,3}", "abab", True),
        ("a{2}", "aaa", False),
        ("a{1,}", "aaa", True),
        ("a+?", "", True),
        ("[a-c]", "b", True),
        ("[^a-c]", "b", False),
        (r"[\]\-]+", "-]", True),
        (r"\&\~\.", "&~.", True),
        ("", "", True),
    ],
)
def test_syntax(pattern: str, text: str, matches: bool) -> None:
    assert whole_matcher(pattern).find(text) is matches


@pytest.mark.parametrize("pattern", ["a&b", "~a", "<1-9>", "(a", "a)", "[a", "*", '"a', "a{x}", "[b-a]", "\\", "{1}"])
def test_what_is_refused(pattern: str) -> None:
    with pytest.raises(JavaRegexError):
        whole_matcher(pattern)


def test_rules_and_their_names() -> None:
    given = AutomatonURLFilter.from_text("-a.*\n+.*", "x/automaton-urlfilter.txt", longest=10)
    assert given.reject("abc") == "automaton-urlfilter.txt:1"
    assert given.reject("b") is None
    assert given.reject("b" * 11) == "length"
    assert given.reject_all(["abc", "b"]) == ["automaton-urlfilter.txt:1", None]


def test_a_bad_rule_stops_with_its_line() -> None:
    with pytest.raises(ConfigError, match=r"list:2: a&b: intersection"):
        AutomatonURLFilter.from_text("+a\n-a&b", "list")


def test_the_shipped_rules() -> None:
    given = AutomatonURLFilter.from_conf(defaults())
    assert given.reject("http://a/b?c=d") is None
    assert given.reject("http://a/b.GIF") == "automaton-urlfilter.txt:9"


def test_expressions_that_would_hang_do_not() -> None:
    given = AutomatonURLFilter.from_text("-(a|aa)+!\n+((a+)+b)*(a|aa)*", "automaton")
    start = time.process_time()
    assert given.reject("a" * 2000) is None
    assert time.process_time() - start < 1
