from __future__ import annotations

import pytest

from nutchpy.core import java_regex
from nutchpy.core.java_tree import JavaRegexError, python
from nutchpy.core.regex_search import finder, replacer

FOUND = [
    (r"(?i)abc", "xABC"),
    (r"a(?i)b", "aB"),
    (r"a((?i)b)c", "aBc"),
    (r"a|(?i)b|c", "C"),
    (r"(?i:b)c", "Bc"),
    (r"[a-z&&[^aeiou]]", "b"),
    (r"[a-c[x-z]]", "y"),
    (r"[^a-c&&b-z]", "a"),
    (r"[]a]", "]"),
    (r"[a-]", "-"),
    (r"[&a]", "&"),
    (r"\Q.*\E", "x.*"),
    (r"a\Q+\E+", "a++"),
    (r"\p{Alpha}\p{Lu}\pN", "aB1"),
    (r"\P{Lower}", "A"),
    (r"\p{Lu}", "É"),
    (r"(?<year>\d{4})/\k<year>", "2024/2024"),
    (r"(/[^/]+)/[^/]+\1/[^/]+\1/", "http://h/a/b/a/c/a/"),
    (r"(a)\11", "aa1"),
    (r"a++b", "aab"),
    (r"(?>a|ab)c", "ac"),
    (r"(?x) a b # both", "ab"),
    (r"(?m)^b$", "a\nb"),
    (r"(?s)a.b", "a\nb"),
    (r"\x41\u0042\x{43}\0104\t", "ABCD\t"),
    (r"\cA", "\x01"),
    (r"a\Z", "a\n"),
    (r"(?<=a|bc)d", "bcd"),
    (r"(?<!a|bc)d", "xd"),
    (r"\R", "\r\n"),
    (r"\h\H\v", "\u3000x\u2028"),
    (r"\B", ""),
    (r"a{2,3}?b", "aab"),
    (r"/~user", "/~user"),
]
NOT_FOUND = [
    (r"a((?i)b)c", "aBC"),
    (r"(?i)é", "É"),
    (r"\d", "\u0663"),
    (r"\w", "é"),
    (r"\s", "\u00a0"),
    (r"a(?i)b(?-i)c", "aBC"),
    (r"[a-z&&[^aeiou]]", "a"),
    (r"(?i)[^a]", "aA"),
    (r"a++a", "aaa"),
    (r"(?>a|ab)c", "abc"),
    (r"a\z", "a\n"),
    (r"a.b", "a\nb"),
    (r"(?<!a|bc)d", "bcd"),
    (r"(?<=a|bc)d", "cd"),
    (r".*+a", "aaa"),
]


@pytest.mark.parametrize(("pattern", "text"), FOUND)
def test_java_finds_it(pattern: str, text: str) -> None:
    assert finder(pattern).find(text)


@pytest.mark.parametrize(("pattern", "text"), NOT_FOUND)
def test_java_does_not_find_it(pattern: str, text: str) -> None:
    assert not finder(pattern).find(text)


REFUSED = [
    "(",
    ")",
    "a**",
    "*",
    "[a",
    "a{",
    "a{2,1}",
    "[b-a]",
    r"\y",
    r"\1",
    r"(?<n>a)(?<n>b)",
    r"\k<n>",
    "(?u)a",
    "(?y)",
]
REFUSED += [
    r"\p{Nonsense}",
    r"\G",
    r"\X",
    "\\",
    r"\b{g}a",
    r"(?<=a+)b",
    r"\xg",
    "(?~a)",
    r"\Qa*\Ea**",
    "(?<1a>b)",
    r"\x{110000}",
]


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_java_refuses_or_we_lack_is_refused(pattern: str) -> None:
    with pytest.raises(JavaRegexError):
        finder(pattern)


def test_an_error_says_where() -> None:
    with pytest.raises(JavaRegexError, match="character 3"):
        finder("ab)c")


def test_deep_nesting_is_refused_and_not_a_crash() -> None:
    with pytest.raises(JavaRegexError, match="deep"):
        finder("(" * 50_000 + ")" * 50_000)


REPLACED = [
    (r"(a)(b)?", "$2$1", "ab a", "ba a"),
    (r"(?<x>a)", "<${x}>", "a", "<a>"),
    (r"(a)", "$12", "a", "a2"),
    (r"\?&", r"\?", "?&a", "?a"),
    (r"a", r"\\\$", "a", "\\$"),
    (r"a", r"\n", "a", "n"),
    (r"$0x", "", "x", "x"),
    (r"a*", "-", "aab", "--b-"),
    (r"x??", "/", "xy", "/x/y/"),
    (r"(?<!:)/{2,}", "/", "http://a//b///c:///d", "http://a/b/c://d"),
    (r"(?<=:)/{2,3}", "-", ":////", ":-/"),
]


@pytest.mark.parametrize(("pattern", "replacement", "text", "expected"), REPLACED)
def test_replace_all(pattern: str, replacement: str, text: str, expected: str) -> None:
    assert replacer(pattern, replacement)(text) == expected


@pytest.mark.parametrize("replacement", ["$", "$2", "${y}", "a\\", "$x"])
def test_bad_replacements_are_refused(replacement: str) -> None:
    with pytest.raises(JavaRegexError):
        replacer("(a)", replacement)


def test_fixed_beginnings_are_written_out() -> None:
    assert python(java_regex.parse("&{2,}").node) == r"\&\&\&*"
