"""Dates of HTTP headers: the forms of RFC 9110, Nutch's cases, and wrong ones."""

from __future__ import annotations

from conformance import corpora

from nutchpy.core.http_date import http_date

EXPECTED_FAILURES: dict[str, str] = {}

_RULED = {
    "Mon, 21 Oct 2019 03:18:16 PDT": 1571653096,
    "2019-07-03T10:28:14": 1562149694,
    "Fri, 31 Dec 9999 23:59:59 GMT": 253402300799,
    "Sun, 06 Nov 1994 08:49:60 GMT": 784111799,
}
"""Where the case gives a rule with a choice: what we chose."""


def passes(case: corpora.Case) -> bool:
    expected = _RULED[case["input"]] if "rule" in case else case["epoch"]
    return http_date(case["input"]) == expected


def test_http_dates() -> None:
    corpora.check("http_dates", passes, EXPECTED_FAILURES)
