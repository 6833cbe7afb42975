"""A URL in its parts as text, for normalizers that change one part and leave the others as they are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

_PARTS: Final = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*+):"
    r"(?://(?>([^/?#]*@)?)(\[[^\]/?#]*\]|[^:/?#]*+)(:[0-9]*+)?(?=[/?#]|\Z))?"
    r"([^?#]*+)(\?[^#]*+)?(#.*+)?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Parts:
    """``user`` ends in ``@``, ``port`` begins with ``:``, ``query`` with ``?``, ``fragment`` with ``#``, or are empty.

    ``host`` is None when there are no slashes that begin an authority.
    """

    scheme: str
    user: str
    host: str | None
    port: str
    path: str
    query: str
    fragment: str

    @classmethod
    def of(cls, url: str) -> Self | None:
        """The parts; None for what has no scheme, or an authority that cannot be read."""
        found = _PARTS.fullmatch(url)
        if found is None or (found[3] is None and found[5].startswith("//")):
            return None
        scheme, user, host, port, path, query, fragment = found.groups(default="")
        return cls(scheme, user, host if found[3] is not None else None, port, path, query, fragment)

    def __str__(self) -> str:
        authority = "" if self.host is None else f"//{self.user}{self.host}{self.port}"
        return f"{self.scheme}:{authority}{self.path}{self.query}{self.fragment}"
