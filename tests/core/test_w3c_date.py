"""Dates of sitemaps and feeds."""

from __future__ import annotations

import pytest

from nutchpy.core.w3c_date import feed_date, iso, w3c_date


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2005", "2005-01-01T00:00:00Z"),
        ("2005-07", "2005-07-01T00:00:00Z"),
        ("2005-07-09", "2005-07-09T00:00:00Z"),
        (" 2005-07-09T10:11Z ", "2005-07-09T10:11:00Z"),
        ("2005-07-09T10:11:12.345+02:00", "2005-07-09T08:11:12Z"),
        ("2005-07-09 10:11:12-0530", "2005-07-09T15:41:12Z"),
        ("2005-07-09T10:11:12", "2005-07-09T10:11:12Z"),
        ("0001-01-01T00:00:00+10:00", None),
        ("2005-13", None),
        ("2005-02-30", None),
        ("2005-07-09T25:00Z", None),
        ("0000", None),
        ("yesterday", None),
        ("", None),
        ("2005-07-09T10:11:12+99:99", "2005-07-05T05:32:12Z"),
    ],
)
def test_w3c(text: str, expected: str | None) -> None:
    assert iso(w3c_date(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thu, 05 Jan 2017 13:34:51 +0100", "2017-01-05T12:34:51Z"),
        ("05 Jan 17 13:34:54 GMT", "2017-01-05T13:34:54Z"),
        ("05 Jan 17 13:34:55", None),
        ("2017-01-05T13:34:51+01:00", "2017-01-05T12:34:51Z"),
        ("", None),
    ],
)
def test_feed(text: str, expected: str | None) -> None:
    assert iso(feed_date(text)) == expected
