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
        # The fewest slashes after the sixth character that a repetitive path has, behind http(s)://host and otherwise.
        self._slashes = self._repeats + 3
        self._slashes_of_file = self._repeats + 1

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
        slashes = url.count("/", 6)
        if slashes < self._slashes_of_file or (slashes < self._slashes and url.startswith("http")):
            return None
        return "repeated_segments" if repetitions(url) > self._repeats else None

    def reject_all(self, urls: Sequence[str]) -> list[str | None]:
        """``reject`` over a column."""
        reject = self.reject
        return [reject(url) for url in urls]


def _limit(value: int) -> int:
    return value if value >= 0 else sys.maxsize


def parameters(url: str) -> int:
    """Parameters in the query, empty ones not counted."""
    query = url.partition("#")[0].partition("?")[2]
    return sum(1 for part in query.split("&") if part)


def repetitions(url: str) -> int:
    """How often the most frequent directory name stands in the path. The last segment is no directory."""
    path = url.partition("#")[0].partition("?")[0]
    segments = path.split("/")
    directories = segments[3:-1] if segments[1:2] == [""] else segments[1:-1]
    counts = Counter(filter(None, directories))
    return max(counts.values(), default=0)
