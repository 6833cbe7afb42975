"""The limits URL filter: URLs too long, with too many parameters, or whose path goes in circles.

In place of Nutch's rule against all query strings: what makes them endless is refused, each kind under its own name.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf


class LimitsURLFilter:
    """Refuses as ``length``, ``query_params`` or ``repeated_segments``; a limit of -1 is none."""

    def __init__(self, length: int = -1, params: int = -1, repeats: int = -1) -> None:
        self._length = _limit(length)
        self._params = _limit(params)
        self._repeats = _limit(repeats)
        # What a web URL has behind "https://": a slash before the first directory, and one behind each.
        self._slashes = self._repeats + 2

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """From the settings ``urlfilter.limits.max.*``."""
        return cls(
            conf.integer("urlfilter.limits.max.url.length"),
            conf.integer("urlfilter.limits.max.query.params"),
            conf.integer("urlfilter.limits.max.repeated.segments"),
        )

    def reject(self, url: str) -> str | None:
        """None, or the name of the limit."""
        if len(url) > self._length:
            return "length"
        if url.count("&") >= self._params and parameters(url) > self._params:
            return "query_params"
        if url.count("/", 8) < self._slashes and url.startswith("http"):
            return None
        return "repeated_segments" if repetitions(url, self._repeats) > self._repeats else None

    def reject_all(self, urls: Sequence[str]) -> list[str | None]:
        """``reject`` over a column; those far from all limits are done with in one look."""
        length, params, slashes, reject = self._length, self._params, self._slashes, self.reject
        return [
            None
            if url.count("/", 8) < slashes and url[:4] == "http" and len(url) <= length and url.count("&") < params
            else reject(url)
            for url in urls
        ]


def _limit(value: int) -> int:
    return value if value >= 0 else sys.maxsize


def parameters(url: str) -> int:
    """Parameters in the query, empty ones not counted."""
    query = url.partition("#")[0].partition("?")[2]
    return sum(1 for part in query.split("&") if part)


def repetitions(url: str, allowed: int) -> int:
    """How often the most frequent directory name stands in the path; 0 when no more than ``allowed`` anyway.

    The last segment is no directory.
    """
    segments = url.partition("#")[0].partition("?")[0].split("/")
    directories = segments[3:-1] if segments[1:2] == [""] else segments[1:-1]
    if len(directories) - len(set(directories)) < allowed:
        return 0
    return max(Counter(filter(None, directories)).values(), default=0)
