"""International host names: the written forms between which the basic normalizer's settings choose.

The URL standard's processing (UTS 46, by ada) gives the form in which hosts stand in the tables. IDNA 2003, Nutch's
default, differs in a few letters (``faß`` becomes ``fass``) and is Python's own codec.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from encodings.idna import ToASCII, ToUnicode
from typing import Final
from urllib.parse import unquote

import ada_url

from nutchpy.core import urls as url_keys
from nutchpy.core.errors import ConfigError

HostForm = Callable[[str, str], str | None]
"""From the host as it was written, unescaped, and its ASCII form: the form wanted, or None when it has none."""

_IGNORED: Final = re.compile(r"[\t\n\r]")
_ENDS: Final = "".join(map(chr, range(0x21)))
_WRITTEN: Final = re.compile(r"[A-Za-z]+:[/\\]*(?:[^/\\?#]*@)?(\[[^\]]*\]|[^/\\?#:]*)")
_DOTS: Final = re.compile("[.\u3002\uff0e\uff61]")


def written_host(url: str) -> str:
    """The host of a URL that parses, as it was written there, escapes resolved."""
    found = _WRITTEN.match(_IGNORED.sub("", url.strip(_ENDS)))
    return unquote(found[1], errors="replace") if found else ""


def host_form(idn: str, *, idna2008: bool) -> HostForm | None:
    """The form that ``urlnormalizer.basic.host.idn`` asks for; None for the standard's ASCII form."""
    match idn.lower():
        case "toascii":
            return None if idna2008 else _ascii_2003
        case "tounicode":
            return _unicode_standard if idna2008 else _unicode_2003
        case "" | "none":
            return _as_written
        case _:
            raise ConfigError(f"urlnormalizer.basic.host.idn is {idn!r}; it takes toAscii, toUnicode or none")


def _as_written(written: str, ascii_host: str) -> str:
    return ascii_host if written.isascii() else _same(written.lower(), ascii_host)


def _unicode_standard(written: str, ascii_host: str) -> str:
    return _same(str(ada_url.idna_to_unicode(ascii_host)), ascii_host)


def _same(host: str, ascii_host: str) -> str:
    """``host`` when the standard reads the same host in it, else the ASCII form."""
    return host if url_keys.host_of(f"http://{host}/") == ascii_host else ascii_host


def _ascii_2003(written: str, ascii_host: str) -> str | None:
    """Each label by IDNA 2003; what the standard would read otherwise, such as numbers of addresses, is kept."""
    if written.isascii():
        return ascii_host
    try:
        host = ".".join(str(ToASCII(label), "ascii") if label else "" for label in _DOTS.split(written.lower()))
    except UnicodeError:
        return None
    return url_keys.host_of(f"http://{host}/")


def _unicode_2003(written: str, ascii_host: str) -> str:
    """Each punycode label decoded if IDNA 2003 encodes it back to the same."""
    host = ".".join(_decoded_2003(label) for label in written.lower().split("."))
    return _same(host, ascii_host)


def _decoded_2003(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return ToUnicode(label)
    except UnicodeError:
        return label
