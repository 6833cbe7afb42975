"""Dates of sitemaps and feeds: the W3C profile of ISO 8601, and RFC 822 with a zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from nutchpy.core.http_date import http_date

_LONGEST: Final = 64
_W3C: Final = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d{1,9})?)?\s?(Z|z|[+-]\d\d(?::?\d\d)?)?)?)?)?",
    re.ASCII,
)
_HAS_ZONE: Final = re.compile(r"(?:[A-Za-z]|[+-]\d\d:?\d\d)$", re.ASCII)


def w3c_date(text: str) -> datetime | None:
    """``2005``, ``2005-01``, ``2005-01-01`` or with a time, in UTC where no zone stands; None for anything else."""
    match = _W3C.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) if part else 0 for part in match.groups()[:6])
    try:
        local = datetime(year, month or 1, day or 1, hour, minute, min(second, 59), tzinfo=UTC)
        return local - _offset(match[7] or "Z")
    except (ValueError, OverflowError):
        return None


def feed_date(text: str) -> datetime | None:
    """A date of a feed: RFC 822 with its zone (without one it could be any hour), or W3C."""
    text = text.strip()
    if len(text) <= _LONGEST and _HAS_ZONE.search(text) and (seconds := http_date(text)) is not None:
        return datetime.fromtimestamp(seconds, UTC) if 0 <= seconds < 1 << 37 else None
    return w3c_date(text)


def iso(moment: datetime | None) -> str | None:
    """``2005-01-01T00:00:00Z``."""
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def _offset(zone: str) -> timedelta:
    if zone in "Zz":
        return timedelta()
    size = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]) if len(zone) > 3 else 0)
    return size if zone[0] == "+" else -size
