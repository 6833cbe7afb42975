from __future__ import annotations

import pytest

from nutchpy.core.redirects import redirect

PAGE = "http://h.example/a/b?q#f"


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308, 399])
def test_redirect_statuses(status: int) -> None:
    assert redirect(status, [("Location", "/x")], PAGE) == "http://h.example/x"


@pytest.mark.parametrize("status", [200, 201, 304, 305, 306, 404, 500])
def test_other_statuses_redirect_nowhere(status: int) -> None:
    assert redirect(status, [("Location", "/x")], PAGE) is None


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("c", "http://h.example/a/c"),
        ("?r", "http://h.example/a/b?r"),
        ("//other.example/", "http://other.example/"),
        ("https://h.example", "https://h.example/"),
        (" /x\t", "http://h.example/x"),
        ("/ä b", "http://h.example/%C3%A4%20b"),
        ("HTTP://H.Example:80/", "http://h.example/"),
        ("", None),
        ("  ", None),
        ("http://", None),
        ("mailto:x@y", None),
        ("javascript:alert(1)", None),
        ("file:///etc/passwd", None),
        ("ftp://h.example/x", None),
        ("http://[::1", None),
    ],
)
def test_locations(location: str, target: str | None) -> None:
    assert redirect(301, [("location", location)], PAGE) == target


def test_first_location_counts_and_none_is_none() -> None:
    assert redirect(302, [("Location", "/1"), ("Location", "/2")], PAGE) == "http://h.example/1"
    assert redirect(302, [("Content-Location", "/1")], PAGE) is None
