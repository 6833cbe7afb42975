"""Encodings as the WHATWG Encoding standard names them: label to name, name to decoder.

Labels come from pages and servers; what the standard's table does not list does not exist, so no Python-only codec is
within their reach.
"""

from __future__ import annotations

import codecs
from typing import Final

import webencodings

from nutchpy.plugins.parse.decoders import decoded

_UPPER: Final = frozenset({"utf-8", "utf-16be", "utf-16le", "ibm866", "koi8-r", "koi8-u", "gbk", "euc-jp", "euc-kr"})
_NAMES: Final[dict[str, str]] = {"big5": "Big5", "shift_jis": "Shift_JIS", "iso-8859-8-i": "ISO-8859-8-I"}
_BOMS: Final = ((codecs.BOM_UTF8, "UTF-8"), (codecs.BOM_UTF16_LE, "UTF-16LE"), (codecs.BOM_UTF16_BE, "UTF-16BE"))
REPLACEMENT: Final = "replacement"
"""Encodings a page could smuggle markup through (ISO-2022-KR, HZ …): the standard reads such a body as one U+FFFD."""


def whatwg_name(label: str) -> str | None:
    """The encoding's name for a label, whatever its case and the space around it; None for an unknown label."""
    encoding = webencodings.lookup(label)
    return _spelled(encoding.name) if encoding is not None else None


def bom(body: bytes) -> str | None:
    """The encoding that a byte order mark says."""
    return next((name for mark, name in _BOMS if body.startswith(mark)), None)


def decode(body: bytes, name: str) -> str:
    """The body as text, what is malformed replaced by U+FFFD, a byte order mark left out."""
    if name == REPLACEMENT:
        return "\ufffd" if body else ""
    mark = next((mark for mark, of in _BOMS if of == name and body.startswith(mark)), b"")
    return decoded(body[len(mark) :], name)


def is_whole(text: str) -> bool:
    """Whether a text decoded from UTF-8 says what its bytes do: nothing was replaced."""
    return "\ufffd" not in text


def _spelled(name: str) -> str:
    if name in _UPPER or name.startswith("iso-"):
        return _NAMES.get(name, name.upper())
    return _NAMES.get(name, name)
