"""The basic URL normalizer: the form in which the crawl knows a URL.

It is the URL standard's form (lower-case scheme and ASCII host, no default port, no dot segments, ``/`` for no path,
white space at the ends and line ends inside dropped), and further, after Nutch:

- no fragment; no user and password in http and https,
- one slash where a path has several in a row,
- escapes of letters, digits and ``- . _ ~`` resolved, other escapes in upper case, a ``%`` that begins none escaped,
- ``[ ] ^ | { }`` and backticks escaped in path and query.

The query's parameters keep their order. ``file:`` keeps its number of slashes. Malformed is what the standard fails to
parse, such as ``http:`` without a host, and what has another scheme than http, https, ftp and file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Self

import can_ada

from nutchpy.core import urls as url_keys
from nutchpy.plugins.urlnormalizer.idn import HostForm, host_form, written_host

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf

_RAW: Final = r"\[\]^`{|}"
_RESOLVED: Final = "2[DE]|3[0-9]|[46][1-9A-F]|[57][0-9A]|5F|7E"
"""Hexadecimal digits of letters, digits, ``-``, ``.``, ``_`` and ``~``."""
_PLAIN: Final = rf"[^#@%{_RAW}]*+(?:%(?!{_RESOLVED})[0-9A-F]{{2}}[^#@%{_RAW}]*+)*+"
"""What follows the slashes of a web URL in the standard's form, when it is in ours too or has ``//`` in it."""

_REWRITE: Final = re.compile(rf"%[0-9A-Fa-f]{{2}}|[%{_RAW}]")
_SLASHES: Final = re.compile("/{2,}")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class BasicURLNormalizer:
    """``form`` is how hosts are written, None for ASCII; ``trim_dot`` makes ``example.org.`` ``example.org``."""

    def __init__(self, form: HostForm | None = None, *, trim_dot: bool = False) -> None:
        self._form = form
        self._trim_dot = trim_dot
        international = "(?![^/]*xn--)" if form else ""
        dotted = r"(?![^/:]*\.[:/])" if trim_dot else ""
        self._plain = re.compile(f"https?://{international}{dotted}{_PLAIN}").fullmatch

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """From the settings ``urlnormalizer.basic.host.*``."""
        idna2008 = conf.flag("urlnormalizer.basic.host.idna2008")
        form = host_form(conf.text("urlnormalizer.basic.host.idn"), idna2008=idna2008)
        return cls(form, trim_dot=conf.flag("urlnormalizer.basic.host.trim-trailing-dot"))

    def normalize(self, url: str, scope: str) -> str | None:
        """The normal form; None for what is no URL of a scheme that can be crawled."""
        try:
            parsed = can_ada.parse(url)
        except (ValueError, TypeError):  # TypeError: a lone surrogate
            return None
        href: str = parsed.href
        if self._plain(href) and href.find("//", 8) < 0:
            return href
        return self._rewritten(url, parsed)

    def normalize_all(self, urls: Sequence[str], scope: str) -> list[str | None]:
        """``normalize`` over a column."""
        parse, plain = can_ada.parse, self._plain
        normal: list[str | None] = []
        add = normal.append
        for url in urls:
            try:
                parsed = parse(url)
            except (ValueError, TypeError):
                add(None)
                continue
            href = parsed.href
            add(href if plain(href) and href.find("//", 8) < 0 else self._rewritten(url, parsed))
        return normal

    def _rewritten(self, url: str, parsed: can_ada.URL) -> str | None:
        scheme = str(parsed.protocol)
        if scheme[:-1] not in url_keys.CRAWLABLE_SCHEMES:
            return None
        file = _tidy(_SLASHES.sub("/", parsed.pathname)) + _query(parsed)
        if scheme == "file:":
            return f"file:{_file_authority(url, parsed)}{file}"
        host = self._host(url, parsed)
        if host is None:
            return None
        user = _credentials(parsed) if scheme == "ftp:" else ""
        port = f":{parsed.port}" if parsed.port else ""
        return f"{scheme}//{user}{host}{port}{file}"

    def _host(self, url: str, parsed: can_ada.URL) -> str | None:
        host: str | None = str(parsed.hostname)
        if self._form is not None:
            host = self._form(written_host(url), str(host))
        return host[:-1] if self._trim_dot and host and host.endswith(".") and host != "." else host


def _query(parsed: can_ada.URL) -> str:
    if parsed.search:
        return _tidy(parsed.search)
    return "?" if parsed.has_search() else ""


def _tidy(text: str) -> str:
    return _REWRITE.sub(_rewritten_escape, text)


def _rewritten_escape(found: re.Match[str]) -> str:
    """An escape resolved or in upper case; a character that must be escaped, escaped."""
    text = found[0]
    if len(text) == 1:
        return f"%{ord(text):02X}"
    char = chr(int(text[1:], 16))
    return char if char in _UNRESERVED else text.upper()


def _credentials(parsed: can_ada.URL) -> str:
    if not parsed.username and not parsed.password:
        return ""
    return f"{parsed.username}:{parsed.password}@" if parsed.password else f"{parsed.username}@"


def _file_authority(url: str, parsed: can_ada.URL) -> str:
    """``//host``, ``//`` or nothing, as it was: Nutch keeps ``file:/path`` and ``file:///path`` apart."""
    given = url.lstrip().lower().startswith("file://")
    return f"//{parsed.hostname}" if parsed.hostname or given else ""
