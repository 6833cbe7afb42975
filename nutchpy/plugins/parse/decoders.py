"""How the WHATWG Encoding standard decodes where Python's codecs of the same name know less, or something else.

Bytes that the windows sets leave open are control characters there, EUC-JP has the vendors' rows, GBK is read as
gb18030, and a malformed pair of bytes gives one U+FFFD, never eating an ASCII byte. https://encoding.spec.whatwg.org/
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from functools import partial
from typing import Final

import webencodings

_PAIRED: Final = ("Shift_JIS", "EUC-JP", "EUC-KR", "GBK", "gb18030", "Big5")
_SINGLE: Final = tuple(f"windows-{page}" for page in (874, *range(1250, 1259)))
_READ_OTHERWISE: Final = {
    "EUC-JP": str.maketrans("〜‖−¢£¬", "～∥－￠￡￢"),
    "KOI8-U": str.maketrans("╝╬", "ўЎ"),
}
_OPEN: Final = {("windows-1255", 0xCA): "\u05ba", ("GBK", 0x80): "€", ("gb18030", 0x80): "€"}
_PREFIX: Final = "nutchpy.whatwg."
_Repair = Callable[[UnicodeError], tuple[str, int]]


def decoded(body: bytes, name: str) -> str:
    """A body in that encoding (a WHATWG name) as text, what is malformed replaced by U+FFFD; LookupError for others."""
    encoding = webencodings.lookup("gb18030" if name == "GBK" else name)
    if encoding is None:
        raise LookupError(f"{name!r} is no WHATWG encoding")
    errors = _PREFIX + name if name in _REPAIRS else "replace"
    text: str = encoding.codec_info.decode(body, errors)[0]
    return text.translate(_READ_OTHERWISE[name]) if name in _READ_OTHERWISE else text


def _single(name: str, error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    byte = error.object[error.start]
    control = chr(byte) if byte < 0xA0 else "\ufffd"
    return _OPEN.get((name, byte), control), error.start + 1


def _pair(name: str, error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    start = error.start
    pair = error.object[start : start + 2]
    if (name, pair[0]) in _OPEN:
        return _OPEN[name, pair[0]], start + 1
    if name == "EUC-JP" and (character := _vendors(pair)) is not None:
        return character, start + 2
    both = len(pair) == 2 and pair[1] >= 0x80 and pair[0] not in (0x80, 0xFF)
    return "\ufffd", start + 1 + both


def _vendors(pair: bytes) -> str | None:
    """The character of a pair in NEC's and IBM's rows, by where Shift_JIS has them."""
    if len(pair) < 2 or not (0xA1 <= pair[0] <= 0xFE and 0xA1 <= pair[1] <= 0xFE):
        return None
    row, cell = pair[0] - 0xA1, pair[1] - 0xA0
    lead = row // 2 + (0x81 if row < 62 else 0xC1)
    trail = cell + 0x9E if row % 2 else cell + (0x3F if cell < 64 else 0x40)
    try:
        return bytes((lead, trail)).decode("cp932")
    except UnicodeDecodeError:
        return None


_REPAIRS: Final[dict[str, _Repair]] = {
    **{name: partial(_pair, name) for name in _PAIRED},
    **{name: partial(_single, name) for name in _SINGLE},
}
for _name, _repair in _REPAIRS.items():
    codecs.register_error(_PREFIX + _name, _repair)
