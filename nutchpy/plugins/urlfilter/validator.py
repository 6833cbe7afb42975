"""The validator URL filter: only what is written as a plain web address, as Nutch's validator judges it.

Stricter than the URL standard: printable ASCII, a host of two labels or an IPv4 address, no user, no underscore in the
host. It refuses ``http://localhost/`` too (NUTCH-2973), and so is not enabled by default (NUTCH-2985).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf

_PRINTABLE: Final = re.compile(r"[\x21-\x7e]+")
_PARTS: Final = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?[^#]*)?(?:#.*)?")
_SCHEME: Final = re.compile(r"[a-zA-Z]+")
_AUTHORITY: Final = re.compile(r"([a-zA-Z0-9.-]*)(?::([0-9]{1,5}))?")
_IPV4: Final = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")
_HOST: Final = re.compile(r"[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)*\.[a-zA-Z][a-zA-Z0-9-]+")
_PATH: Final = re.compile(r"(?:/[-\w:@&?=+,.!/~*'%$;()]*)?", re.ASCII)


class ValidatorURLFilter:
    """Refuses as ``characters``, ``scheme``, ``authority``, ``host`` or ``path``."""

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """There is nothing to set."""
        return cls()

    def reject(self, url: str) -> str | None:
        """None for a valid address."""
        if not _PRINTABLE.fullmatch(url):
            return "characters"
        parts = _PARTS.fullmatch(url)
        scheme, authority, path = parts.groups() if parts else (None, None, "")
        if scheme is None or not _SCHEME.fullmatch(scheme):
            return "scheme"
        found = _AUTHORITY.fullmatch(authority) if authority is not None else None
        if found is None:
            return "authority"
        if not _valid_host(found[1]):
            return "host"
        return None if _valid_path(path) else "path"


def _valid_host(host: str) -> bool:
    if _IPV4.fullmatch(host):
        return all(int(number) <= 255 for number in host.split("."))
    return _HOST.fullmatch(host) is not None


def _valid_path(path: str) -> bool:
    """Allowed characters, and more steps down than ``..`` steps up."""
    if not _PATH.fullmatch(path):
        return False
    steps_up = _overlapping(path, "..")
    return steps_up == 0 or _overlapping(path, "/") - _overlapping(path, "//") - 1 > steps_up


def _overlapping(text: str, token: str) -> int:
    return sum(text.startswith(token, at) for at in range(len(text))) if token in text else 0
