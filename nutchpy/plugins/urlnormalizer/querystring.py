"""The querystring URL normalizer: parameters in alphabetical order; ``?b=1&a=2`` and ``?a=2&b=1`` are one page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

from nutchpy.plugins.urlnormalizer.parts import Parts

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf


class QuerystringURLNormalizer:
    """Sorts the texts between the ampersands as they stand; ampersands at the end go."""

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """There is nothing to set."""
        return cls()

    def normalize(self, url: str, scope: str) -> str | None:
        """The URL with its query sorted; None when it has no scheme."""
        parts = Parts.of(url)
        if parts is None or not parts.query:
            return None if parts is None else url
        parameters = sorted(parts.query[1:].rstrip("&").split("&"))
        return str(replace(parts, query=f"?{'&'.join(parameters)}"))
