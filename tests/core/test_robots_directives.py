from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nutchpy.core.robots_directives import RobotsDirectives, from_headers, from_meta, x_robots

DATE = 1277452800  # 25 June 2010, 08:00 UTC


def header(*values: str) -> frozenset[str]:
    return x_robots([("X-Robots-Tag", value) for value in values], ["MyBot/1.0", "otherbot"])


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("noindex", {"noindex"}),
        ("NOINDEX, NoFollow", {"noindex", "nofollow"}),
        ("none", {"noindex", "nofollow"}),
        ("noarchive;nosnippet noindex", {"noarchive", "nosnippet", "noindex"}),
        ("nocache", {"noarchive"}),
        ("all, index, follow", set()),
        ("mybot: noindex, nofollow", {"noindex", "nofollow"}),
        ("googlebot: noindex, nofollow", set()),
        ("googlebot: noindex, mybot: nofollow", {"nofollow"}),
        ("noarchive, googlebot: noindex", {"noarchive"}),
        ("*: noindex", {"noindex"}),
        ("max-snippet: 20, noindex", {"noindex"}),
        ("max-snippet:-1", set()),
        ("noindex: nofollow", {"noindex", "nofollow"}),
        ("noindexer", set()),
        (", ,:;", set()),
        ("", set()),
    ],
)
def test_header(value: str, names: set[str]) -> None:
    assert header(value) == names


def test_headers_add_up_and_scope_ends_with_its_header() -> None:
    assert header("googlebot: nofollow", "noindex", "otherbot: noarchive") == {"noindex", "noarchive"}
    assert x_robots([("x-robots-tag", "noindex"), ("Robots", "nofollow")], []) == {"noindex"}


@pytest.mark.parametrize(
    "value",
    [
        "unavailable_after: 25 Jun 2010 00:00:00 PST, nofollow",
        "nofollow, unavailable_after: Fri, 25 Jun 2010 08:00:00 GMT",
        "mybot: unavailable_after: 2010-06-25T08:00:00Z, nofollow",
        "mybot/2.0: unavailable_after: 2010-06-25T10:00+02, nofollow",
    ],
)
def test_unavailable_after(value: str) -> None:
    found = from_headers([("X-Robots-Tag", value)], ["mybot"])
    assert found == RobotsDirectives(frozenset({"unavailable_after", "nofollow"}), DATE)
    assert "noindex" not in found.at(DATE)
    assert "noindex" in found.at(DATE + 1)


@pytest.mark.parametrize("date", ["2031-03-04", "4 Mar 2031", "Mar 4, 2031", "Tuesday, 04-Mar-31", "2031-03-04T00:00Z"])
def test_unavailable_after_may_lack_its_time(date: str) -> None:
    found = from_headers([("X-Robots-Tag", f"noindex, unavailable_after: {date}, nofollow")], [])
    assert found == RobotsDirectives(frozenset({"noindex", "unavailable_after", "nofollow"}), 1930348800)


@pytest.mark.parametrize("date", ["soon", "31/12/2030 10:00:00", "2030-13-31T10:00:00[Europe/Rome]"])
def test_unavailable_after_that_is_no_date_changes_nothing(date: str) -> None:
    found = from_headers([("X-Robots-Tag", f"unavailable_after: {date}, noindex")], [])
    assert found == RobotsDirectives(frozenset({"unavailable_after", "noindex"}))


def test_the_earliest_date_counts() -> None:
    tags = [("robots", "unavailable_after: 2030-01-01 00:00"), ("robots", "unavailable_after: 2010-06-25 08:00")]
    assert from_meta(tags, []).unavailable_after == DATE


@pytest.mark.parametrize(
    ("name", "content", "names"),
    [
        ("robots", "noindex,nofollow", {"noindex", "nofollow"}),
        ("ROBOTS", "NONE", {"noindex", "nofollow"}),
        (" mybot ", "noarchive", {"noarchive"}),
        ("googlebot", "noindex", set()),
        ("description", "noindex", set()),
        ("robots", "googlebot: noindex", {"noindex"}),
    ],
)
def test_meta(name: str, content: str, names: set[str]) -> None:
    assert from_meta([(name, content)], ["MyBot"]).names == names


def test_meta_and_header_are_joined() -> None:
    joined = from_meta([("robots", "noindex")], []) | from_headers([("X-Robots-Tag", "nofollow")], [])
    assert joined.at(0) == {"noindex", "nofollow"}


@settings(max_examples=60)
@given(st.text(max_size=200))
def test_total(value: str) -> None:
    header(value)


def test_long_value_takes_linear_time() -> None:
    start = time.process_time()
    header("unavailable_after: ," * 20_000)
    header("a" * 500_000, ":," * 200_000)
    assert time.process_time() - start < 2
