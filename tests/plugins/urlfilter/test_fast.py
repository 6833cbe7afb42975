from __future__ import annotations

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import ConfigError
from nutchpy.plugins.urlfilter.fast import FastURLFilter

RULES = """\
Host www.example.org            # one host
  DenyPath ^/private/
Domain example.org
  DenyPathQuery [?&]print=1
  DenyPath (?i)\\.PDF$
Domain example.com
  DenyPath .*
Domain .
  DenyPath ^/tmp/
"""
CASES = [
    ("http://www.example.org/private/a", "fast:2"),
    ("http://example.org/private/a", None),
    ("http://sub.example.org/a?b=1&print=1", "fast:4"),
    ("http://sub.example.org/a.pdf?x", "fast:5"),
    ("http://sub.example.org/a?x=.pdf", None),
    ("http://notexample.org/a?print=1", None),
    ("http://example.com", "fast:7"),
    ("http://a.b.example.com/x", "fast:7"),
    ("http://other.net/tmp/", "fast:9"),
    ("file:/tmp/a", "fast:9"),
    ("file:/home/a", None),
    ("nonsense", "malformed"),
]


@pytest.mark.parametrize(("url", "reason"), CASES)
def test_rules(url: str, reason: str | None) -> None:
    assert FastURLFilter.from_text(RULES, "fast").reject(url) == reason


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("DenyPath a", "fast:1: a rule before the first Host or Domain"),
        ("Domain .\n  (/[^/]+)/[^/]+\\1/", "fast:2: neither Host"),
        ("Domain .\n  DenyPath (", "fast:2: \\(: group is not closed"),
        ("Host", "fast:1: neither Host"),
    ],
)
def test_a_bad_line_stops_with_file_and_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        FastURLFilter.from_text(text, "fast")


def test_lengths() -> None:
    names = ("url.max.length", "url.path.max.length", "url.query.max.length")
    values = dict(zip([f"urlfilter.fast.{name}" for name in names], ("40", "10", "5"), strict=True))
    given = FastURLFilter.from_conf(defaults().with_values(values))
    assert given.reject("http://example.org/123456789?12345") is None
    assert given.reject("http://example.org/123456789?123456") == "query_length"
    assert given.reject("http://example.org/1234567890") == "path_length"
    assert given.reject("http://example.org/" + "a" * 30) == "length"


def test_a_url_on_which_a_rule_runs_out_of_time_is_refused() -> None:
    rules = {"urlfilter.fast.rules": "Domain .\n  DenyPath (?=(a+)+!)a", "urlfilter.rule.timeout": 0.01}
    given = FastURLFilter.from_conf(defaults().with_values(rules))
    assert given.reject("http://example.org/" + "a" * 1500) == "urlfilter.fast.rules:2.timeout"
    assert given.reject("http://example.org/b") is None
