"""Where an HTTP answer sends its client."""

from __future__ import annotations

from typing import Final

from nutchpy.core import urls
from nutchpy.core.content import Headers

_SCHEMES: Final = ("http://", "https://")
_NOT_REDIRECTS: Final = frozenset({304, 305, 306})
"""Not modified; use a proxy (deprecated, unsafe); unused."""


def redirect(status: int, headers: Headers, url: str) -> str | None:
    """The absolute target of a redirect, or None: no redirect, no usable Location, or not a web URL.

    ``Location`` resolves against ``url`` as in a browser. The first of several counts; an empty one is none.
    """
    if not 300 <= status < 400 or status in _NOT_REDIRECTS:
        return None
    location = next((value for name, value in headers if name.lower() == "location"), "").strip(" \t\r\n")
    target = urls.resolve(url, location) if location else None
    return target if target is not None and target.startswith(_SCHEMES) else None
