"""The ajax URL normalizer: ``#!state`` as ``_escaped_fragment_=state``, which a server can be asked for.

After the scheme that search engines once had for pages built by scripts. The indexer scope turns it back.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import unquote_plus

from nutchpy.plugins.urlnormalizer.parts import Parts

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf

PARAMETER: Final = "_escaped_fragment_="
_ESCAPED: Final = re.compile(rb"[\x00-\x20#%&+\x80-\xff]")


class AjaxURLNormalizer:
    """One direction in each scope, so that a second pass changes nothing."""

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """There is nothing to set."""
        return cls()

    def normalize(self, url: str, scope: str) -> str | None:
        """The URL in the form of the scope; None when it has no scheme."""
        if scope == "indexer":
            return _as_shown(url) if PARAMETER in url else url
        return _as_asked(url) if "#!" in url else url


def _as_asked(url: str) -> str | None:
    parts = Parts.of(url)
    if parts is None or not parts.fragment.startswith("#!"):
        return None if parts is None else url
    fragment = parts.fragment[2:].encode("utf-8", "replace")
    escaped = _ESCAPED.sub(lambda found: b"%%%02X" % found[0][0], fragment).decode("ascii")
    joint = f"{parts.query}&" if len(parts.query) > 1 else "?"
    return str(replace(parts, query=f"{joint}{PARAMETER}{escaped}", fragment=""))


def _as_shown(url: str) -> str | None:
    parts = Parts.of(url)
    if parts is None:
        return None
    parameters = parts.query[1:].split("&")
    states = [parameter for parameter in parameters if parameter.startswith(PARAMETER)]
    if not states:
        return url
    kept = "&".join(parameter for parameter in parameters if not parameter.startswith(PARAMETER))
    fragment = "#!" + unquote_plus(states[-1].removeprefix(PARAMETER))
    return str(replace(parts, query=f"?{kept}" if kept else "", fragment=fragment))
