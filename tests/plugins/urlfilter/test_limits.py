from __future__ import annotations

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.plugins.urlfilter.limits import LimitsURLFilter

HOST = "http://example.org"
CASES = [
    (f"{HOST}/", None),
    (f"{HOST}/" + "a" * (2048 - len(HOST) - 1), None),
    (f"{HOST}/" + "a" * (2048 - len(HOST)), "length"),
    (f"{HOST}/?" + "&".join(f"p{n}={n}" for n in range(8)), None),
    (f"{HOST}/?" + "&".join(f"p{n}={n}" for n in range(9)), "query_params"),
    (f"{HOST}/?&&&&&&&&&&&&&a=1", None),
    (f"{HOST}/a&b&c&d&e&f&g&h&i&j", None),
    (f"{HOST}/?a=1#" + "&" * 20, None),
    (f"{HOST}/a/b/a/c/", None),
    (f"{HOST}/a/b/a/c/a", None),
    (f"{HOST}/a/b/a/c/a/", "repeated_segments"),
    (f"{HOST}/a/a/a/index.html", "repeated_segments"),
    (f"{HOST}/a/b/c/a/b/c/a/b/c/", "repeated_segments"),
    (f"{HOST}/b/?p=/a/a/a/a/", None),
    (f"{HOST}/a//b//c//d//", None),
    ("https://a/x/x/x/", "repeated_segments"),
    ("http://a/x/x/x/", "repeated_segments"),
    ("ftp://a/x/x/x/", "repeated_segments"),
    ("file:/x/x/x/", "repeated_segments"),
    ("file:///x/x/x/", "repeated_segments"),
    ("", None),
]


@pytest.mark.parametrize(("url", "reason"), CASES)
def test_default_limits(url: str, reason: str | None) -> None:
    limits = LimitsURLFilter.from_conf(defaults())
    assert limits.reject(url) == reason
    assert limits.reject_all([url]) == [reason]


def test_minus_one_is_no_limit() -> None:
    limits = LimitsURLFilter(-1, -1, -1)
    urls = [f"{HOST}/{'a/' * 5000}?{'&p' * 5000}"]
    assert limits.reject(urls[0]) is None
    assert limits.reject_all(urls) == [None]


def test_no_parameter_and_no_repetition_can_be_asked_for() -> None:
    limits = LimitsURLFilter(params=0, repeats=1)
    assert limits.reject(f"{HOST}/?a") == "query_params"
    assert limits.reject(f"{HOST}/?") is None
    assert limits.reject(f"{HOST}/a/b/a/") == "repeated_segments"
    assert limits.reject(f"{HOST}/a/b/a") is None
