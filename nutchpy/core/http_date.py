"""Dates of HTTP headers: the three forms of RFC 9110 §5.6.7, and what servers send in their stead.

Lenient about weekday, order of words, separators and zone; strict about ranges. A date without a zone is UTC, never
local time; an unknown zone is no date. Locale and clock play no part.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

_LENGTH_LIMIT: Final = 80
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEST: Final = {"est": 5, "edt": 4, "cst": 6, "cdt": 5, "mst": 7, "mdt": 6, "pst": 8, "pdt": 7}
_UTC: Final = ("", "z", "gmt", "utc", "ut")
_MONTH: Final = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_TIME: Final = r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d{1,9})?)?"
_ZONE: Final = r"\s*(?P<zone>[a-z]{0,3})?\s*(?P<offset>[+-]\d\d(?::?\d\d)?)?(?:\s*\([^()]*\))?"
_WEEKDAY: Final = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\.?\s*,?\s*)?"
_FORMS: Final = tuple(
    re.compile(form, re.ASCII | re.IGNORECASE)
    for form in (
        # Sun, 06 Nov 1994 08:49:37 GMT, and Sunday, 06-Nov-94 08:49:37 GMT
        rf"{_WEEKDAY}(?P<day>\d{{1,2}})(?:\s+|-){_MONTH}(?:,?\s+|-)(?P<year>\d{{4}}|\d\d),?\s+{_TIME}{_ZONE}",
        # Sun Nov  6 08:49:37 1994 (asctime)
        rf"{_WEEKDAY}{_MONTH}\s+(?P<day>\d{{1,2}})\s+{_TIME}{_ZONE}\s+(?P<year>\d{{4}})",
        # Nov 6, 1994 08:49:37
        rf"{_WEEKDAY}{_MONTH}\s+(?P<day>\d{{1,2}}),?\s+(?P<year>\d{{4}}),?\s+{_TIME}{_ZONE}",
        # 1994-11-06T08:49:37Z
        rf"(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d)(?:t|\s+){_TIME}{_ZONE}",
    )
)


def http_date(text: str) -> int | None:
    """Seconds since 1970 (UTC), or None when ``text`` is no date."""
    text = text.strip()
    if len(text) > _LENGTH_LIMIT:
        return None
    for form in _FORMS:
        match = form.fullmatch(text)
        if match:
            return _epoch(match)
    return None


def _epoch(match: re.Match[str]) -> int | None:
    offset = _offset(match["zone"], match["offset"])
    if offset is None:
        return None
    # A leap second has no POSIX time of its own: it counts as the second before.
    second = 59 if match["second"] == "60" else int(match["second"] or 0)
    try:
        when = datetime(
            _year(match["year"]),
            _month(match["month"]),
            int(match["day"]),
            int(match["hour"]),
            int(match["minute"]),
            second,
            tzinfo=UTC,
        )
    except ValueError:
        return None
    return int(when.timestamp()) - offset


def _year(text: str) -> int:
    """Two digits mean 1970 to 2069, as RFC 6265 has it."""
    year = int(text)
    if len(text) == 4:
        return year
    return year + (1900 if year >= 70 else 2000)


def _month(text: str) -> int:
    return int(text) if text.isdigit() else _MONTHS.index(text[:3].lower()) + 1


def _offset(zone: str | None, offset: str | None) -> int | None:
    """Seconds east of Greenwich; None when the zone is unknown or impossible."""
    name = (zone or "").lower()
    if name in _WEST:
        return None if offset else -_WEST[name] * 3600
    if name not in _UTC:
        return None
    if not offset:
        return 0
    hours, minutes = int(offset[1:3]), int(offset[-2:]) if len(offset) > 3 else 0
    seconds = hours * 3600 + minutes * 60
    return None if hours > 14 or minutes > 59 else seconds if offset[0] == "+" else -seconds
