"""The depth URL filter: refuses URLs whose path goes deeper than a number of segments.

It knows a URL and nothing else; how many links a page is from a seed is limited by ``crawl -depth`` and by the scoring
filter of the same name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from nutchpy.core.errors import ConfigError

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf


class DepthURLFilter:
    """Refuses as ``path_depth``; a limit of -1 is none."""

    def __init__(self, most: int) -> None:
        if most < -1:
            raise ConfigError(f"urlfilter.depth.max is {most}; it takes a number of path segments, or -1")
        self._most = most

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """From ``urlfilter.depth.max``."""
        return cls(conf.integer("urlfilter.depth.max"))

    def reject(self, url: str) -> str | None:
        """None to accept."""
        return "path_depth" if 0 <= self._most < url.count("/") and segments(url) > self._most else None


def segments(url: str) -> int:
    """Names in the path, empty ones not counted: 0 for ``http://a/``, 2 for ``http://a/b/c`` and ``http://a/b/c/``."""
    before_query = url.partition("#")[0].partition("?")[0]
    _, _, rest = before_query.partition(":")
    if rest.startswith("//"):
        rest = rest[2:].partition("/")[2]
    return sum(1 for name in rest.split("/") if name)
