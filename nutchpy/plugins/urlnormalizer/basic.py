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
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final, Self

import can_ada

from nutchpy.core import urls as url_keys
from nutchpy.plugins.urlnormalizer.idn import HostForm, host_form, written_host
from nutchpy.plugins.urlnormalizer.parts import Parts

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf

_RAW: Final = r"\[\]^`{|}"
_RESOLVED: Final = "2[DE]|3[0-9]|[46][1-9A-F]|[57][0-9A]|5F|7E"
"""Hexadecimal digits of letters, digits, ``-``, ``.``, ``_`` and ``~``."""
_PLAIN: Final = rf"[^#@%{_RAW}]*+(?:%(?!{_RESOLVED})[0-9A-F]{{2}}[^#@%{_RAW}]*+)*+"
"""What follows the slashes of a web URL in the standard's form, when it is in ours too or has ``//`` in it."""

_HAS_RAW: Final = re.compile(f"[{_RAW}]")
_ESCAPED: Final = str.maketrans({char: f"%{ord(char):02X}" for char in "[]^`{|}"})
_REWRITE: Final = re.compile(rf"%(?!(?!{_RESOLVED})[0-9A-F]{{2}})[0-9A-Fa-f]{{2}}|(?:%(?![0-9A-Fa-f]{{2}}))+")
"""Escapes that are not in our form, and ``%`` that begin none, many at once."""
_SLASHES: Final = re.compile("/{2,}")


class BasicURLNormalizer:
    """``form`` is how hosts are written, None for ASCII; ``trim_dot`` makes ``example.org.`` ``example.org``."""

    ignores_fragment: ClassVar[bool] = True

    def __init__(self, form: HostForm | None = None, *, trim_dot: bool = False) -> None:
        self._form = form
        self._trim_dot = trim_dot
        self._settled = _never if trim_dot else url_keys.settled_host
        dotted = r"(?![^/:]*\.[:/])" if trim_dot else ""
        self._plain = re.compile(f"https?://{dotted}{_PLAIN}").fullmatch

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """From the settings ``urlnormalizer.basic.host.*``."""
        idna2008 = conf.flag("urlnormalizer.basic.host.idna2008")
        form = host_form(conf.text("urlnormalizer.basic.host.idn"), idna2008=idna2008)
        return cls(form, trim_dot=conf.flag("urlnormalizer.basic.host.trim-trailing-dot"))

    def normalize(self, url: str, scope: str) -> str | None:
        """The normal form; None for what is no URL of a scheme that can be crawled."""
        return self.normalize_all((url,), scope)[0]

    def normalize_all(self, urls: Sequence[str], scope: str) -> list[str | None]:
        """``normalize`` over a column."""
        parse, plain, may_differ, settled = can_ada.parse, self._plain, url_keys.may_differ, self._settled
        normal: list[str | None] = []
        add = normal.append
        for url in urls:
            if settled(url):
                add(url)
                continue
            try:
                href = parse(url).href
            except (ValueError, TypeError):
                add(self._rewritten(url, url_keys.href(url)))
                continue
            is_plain = plain(href) and href.find("//", 8) < 0 and href.find("/.", 8) < 0 and "xn--" not in href
            add(href if is_plain else self._rewritten(url, url_keys.href(url) if may_differ(href) else href))
        return normal

    def _rewritten(self, url: str, href: str | None) -> str | None:
        parts = Parts.of(href) if href is not None else None
        if parts is None or parts.scheme not in url_keys.CRAWLABLE_SCHEMES:
            return None
        tidy = replace(parts, path=_tidy(_SLASHES.sub("/", parts.path)), query=_tidy(parts.query), fragment="")
        if parts.scheme == "file":
            return str(tidy if parts.host or _has_authority(url) else replace(tidy, host=None))
        host = self._host(url, parts.host or "")
        return None if host is None else str(replace(tidy, host=host, user=parts.user if parts.scheme == "ftp" else ""))

    def _host(self, url: str, ascii_host: str) -> str | None:
        host: str | None = ascii_host
        if self._form is not None and "xn--" in ascii_host:
            host = self._form(written_host(url), ascii_host)
        return _trimmed(host) if self._trim_dot and host and host.endswith(".") else host


def _never(url: str) -> None:
    return None


def _trimmed(host: str) -> str | None:
    """Without dots at the end; read anew, for ``127.1..`` is a name and ``127.1`` an address."""
    bare = host.rstrip(".")
    return url_keys.host_of(f"http://{bare}/") if bare and bare.isascii() else bare or host


def _tidy(text: str) -> str:
    if _HAS_RAW.search(text):
        text = text.translate(_ESCAPED)
    return _REWRITE.sub(_rewritten_escape, text) if "%" in text else text


def _rewritten_escape(found: re.Match[str]) -> str:
    """An escape resolved or in upper case, or escapes of ``%``."""
    return _REWRITTEN.get(found[0]) or "%25" * len(found[0])


def _rewritten_escapes() -> Iterator[tuple[str, str]]:
    for point in range(256):
        plain = chr(point)
        form = plain if plain.isascii() and (plain.isalnum() or plain in "-._~") else f"%{point:02X}"
        for first in {f"{point:02X}"[0], f"{point:02x}"[0]}:
            for second in {f"{point:02X}"[1], f"{point:02x}"[1]}:
                yield f"%{first}{second}", form


_REWRITTEN: Final = dict(_rewritten_escapes())


def _has_authority(url: str) -> bool:
    """Whether a file URL was written with slashes for a host: Nutch keeps ``file:/path`` and ``file:///path`` apart."""
    return url.lstrip().lower().startswith("file://")
