"""Retry-After (RFC 9110 §10.2.3): how long a server asks to be left alone. Pure; time is an argument."""

from __future__ import annotations

from typing import Final

from nutchpy.core.content import Headers, header
from nutchpy.core.http_date import http_date

_MOST_DIGITS: Final = 12
_ASKING: Final = frozenset({429, 503})


def retry_after(http_status: int | None, headers: Headers, now: float) -> float | None:
    """Seconds from now (since 1970), of an answer 429 or 503; None when it does not say, or not in a way to be read.

    A date counts from the answer's own Date, so that a server whose clock is wrong is not waited for too long.
    """
    value = header(headers, "retry-after") if http_status in _ASKING else None
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value) if len(value) <= _MOST_DIGITS else None
    date = http_date(value)
    if date is None:
        return None
    sent = header(headers, "date")
    since = http_date(sent) if sent is not None else None
    return max(0.0, date - (now if since is None else since))
