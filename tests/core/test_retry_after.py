from __future__ import annotations

import pytest

from nutchpy.core.retry_after import retry_after

NOW = 784_111_777.0  # Sun, 06 Nov 1994 08:49:37 GMT


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Sun, 06 Nov 1994 08:50:37 GMT", 60.0),
        ("Sun, 06 Nov 1994 08:00:00 GMT", 0.0),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("9" * 40, None),
        ("\u0661\u0662", None),
    ],
)
def test_both_forms(value: str, seconds: float | None) -> None:
    assert retry_after(503, [("retry-After", value)], NOW) == seconds


def test_only_answers_that_put_off_have_one() -> None:
    assert retry_after(429, [("Retry-After", "7")], NOW) == 7.0
    assert [retry_after(status, [("Retry-After", "7")], NOW) for status in (200, 301, 404, 500, None)] == [None] * 5
    assert retry_after(503, [], NOW) is None


def test_a_date_counts_from_the_answers_own() -> None:
    wrong_clock = [("Date", "Sun, 06 Nov 1994 10:00:00 GMT"), ("Retry-After", "Sun, 06 Nov 1994 10:00:30 GMT")]
    assert retry_after(503, wrong_clock, NOW) == 30.0
