from __future__ import annotations

import time
from pathlib import Path

import pytest

from nutchpy.conf.layers import Conf, defaults
from nutchpy.core.errors import ConfigError
from nutchpy.plugins.urlfilter.regex import RegexURLFilter

SOURCE = "/conf/regex-urlfilter.txt"


def rules(text: str, longest: int = -1) -> RegexURLFilter:
    return RegexURLFilter.from_text(text, SOURCE, longest)


def test_the_first_rule_that_matches_decides() -> None:
    given = rules("+keep\n-e\n+.")
    assert given.reject("http://a/keep") is None
    assert given.reject("http://a/e") == "regex-urlfilter.txt:2"
    assert given.reject("http://a/x") is None


def test_no_rule_that_matches_refuses() -> None:
    assert rules("+a").reject("b") == "no_match"
    assert rules("").reject("b") == "no_match"


def test_a_rule_is_found_anywhere() -> None:
    assert rules("-b").reject("abc") == "regex-urlfilter.txt:1"


def test_comments_blank_lines_and_line_ends() -> None:
    given = rules("\ufeff# comment\r\n\r\n indented is a comment too\r\n-b\r\n+.\r\n")
    assert given.reject("b") == "regex-urlfilter.txt:4"
    assert given.reject("a") is None


def test_white_space_at_the_end_belongs_to_the_rule() -> None:
    assert rules("-b \n+.").reject("b") is None


SECTIONS = "> www.example.org\n-skip\n<\n> EXAMPLE.com\n+skip\n<\n-skip\n+."


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://www.example.org/skip", "regex-urlfilter.txt:2"),
        ("http://sub.example.com/skip", None),
        ("http://example.com/skip", None),
        ("http://example.org/skip", "regex-urlfilter.txt:7"),
        ("http://example.org/", None),
        ("no url, skip", "regex-urlfilter.txt:7"),
    ],
)
def test_sections_are_for_a_host_or_a_registered_domain(url: str, reason: str | None) -> None:
    given = rules(SECTIONS)
    assert given.reject(url) == reason
    assert given.reject_all([url]) == [reason]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("+.\n*bad", r"regex-urlfilter.txt:2: a rule begins with \+ or -, not with '\*'"),
        ("\t+tab", r"regex-urlfilter.txt:1: a rule begins"),
        ("+.\n\n-(a", r"regex-urlfilter.txt:3: \(a: group is not closed at character 3"),
    ],
)
def test_a_bad_line_stops_with_file_and_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        rules(text)


def test_a_column_has_the_verdicts_of_its_urls() -> None:
    given = rules("-^ftp:\n+keep\n-(?i)\\.gif$\n-(/[^/]+)/[^/]+\\1/[^/]+\\1/\n-no\n+^http", longest=60)
    urls = [
        "ftp://a/",
        "http://a/keep.GIF",
        "http://a/b.GIF",
        "http://a/x/y/x/z/x/",
        "http://no/",
        "http://a/",
        "gopher:",
        "",
    ]
    assert given.reject_all(urls) == [given.reject(url) for url in urls]
    assert given.reject_all([*urls, "http://a/" + "b" * 60]) == [*given.reject_all(urls), "length"]
    assert given.reject_all([]) == []


def test_a_long_url_is_refused_before_a_costly_rule_sees_it() -> None:
    given = rules("-(a+)+$\n+.", longest=2048)
    start = time.process_time()
    assert given.reject("a" * 100_000 + "!") == "length"
    assert time.process_time() - start < 0.1


def shipped(**values: str) -> RegexURLFilter:
    return RegexURLFilter.from_conf(defaults().with_values(values))


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("http://example.org/", None),
        ("http://example.org/list?id=1&page=2", None),
        ("http://example.org/mail@home!", None),
        ("ftp://example.org/", "-^(?:file|ftp|mailto):"),
        ("http://example.org/a.JPEG", r"-(?i)\.(?:gif|"),
        ("http://example.org/a.js?v=2", None),
        ("http://example.org/a/b/a/c/a/", "-.*(/[^/]+)/"),
        ("http://example.org/a/b/c/d/e/f/", None),
        ("", "no_match"),
    ],
)
def test_the_shipped_rules(url: str, line: str | None) -> None:
    reason = shipped().reject(url)
    if line is None or line == "no_match":
        assert reason == line
        return
    assert reason is not None
    name, _, number = reason.rpartition(":")
    assert name == "regex-urlfilter.txt"
    text = (Path(__file__).parents[3] / "nutchpy/conf/files/regex-urlfilter.txt").read_text()
    assert text.split("\n")[int(number) - 1].startswith(line)


def test_rules_in_the_setting_come_before_the_file(tmp_path: Path) -> None:
    (tmp_path / "regex-urlfilter.txt").write_text("-.")
    conf = Conf(defaults().layers, tmp_path)
    assert RegexURLFilter.from_conf(conf).reject("a") == "regex-urlfilter.txt:1"
    inline = conf.with_values({"urlfilter.regex.rules": "+b\n-."})
    assert RegexURLFilter.from_conf(inline).reject("a") == "urlfilter.regex.rules:2"
    assert RegexURLFilter.from_conf(inline).reject("b") is None


def test_the_limit_of_length_is_the_limits_filters() -> None:
    conf = defaults().with_values({"urlfilter.limits.max.url.length": "10"})
    assert RegexURLFilter.from_conf(conf).reject("http://a.example/") == "length"


def test_a_url_on_which_a_rule_runs_out_of_time_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    given = RegexURLFilter.from_text("-\\.gif$\n+(?=(a+)+!)a\n+.", SOURCE, seconds=0.01)
    bad = "http://a/" + "a" * 1500
    assert given.reject(bad) == "regex-urlfilter.txt:2.timeout"
    assert given.reject_all(["b", bad, "b.gif", bad, "b!"]) == [
        None,
        "regex-urlfilter.txt:2.timeout",
        "regex-urlfilter.txt:1",
        "regex-urlfilter.txt:2.timeout",
        None,
    ]
    assert [record.message.count("regex-urlfilter.txt:2") for record in caplog.records] == [1]


def test_rules_that_would_hang_do_not() -> None:
    conf = defaults().with_values({"urlfilter.regex.rules": "-(x+x+)+y\n-^(.*?a){30}!\n+(a|aa)+$\n+."})
    start = time.process_time()
    assert RegexURLFilter.from_conf(conf).reject("http://a/" + "a" * 1000 + "x" * 1000) is None
    assert time.process_time() - start < 1
