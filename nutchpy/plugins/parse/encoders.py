"""How the WHATWG Encoding standard encodes where Python's codecs of the same name know less, or something else.

The other direction of ``decoders.py``; what it is for are the queries of links, which go out in the page's own charset.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from functools import cache, partial
from typing import Final

import webencodings

from nutchpy.plugins.parse.decoders import decoded

Encode = Callable[[str], bytes]
"""Raises UnicodeEncodeError for what cannot be said."""

_WRITTEN_OTHERWISE: Final = {
    "Shift_JIS": str.maketrans("¥‾", "\\~"),
    "EUC-JP": str.maketrans("～∥－￠￡￢", "〜‖−¢£¬"),
    "ISO-2022-JP": str.maketrans(
        "～∥－￠￡￢｡｢｣､･ｦｧｨｩｪｫｬｭｮｯｰｱｲｳｴｵｶｷｸｹｺｻｼｽｾｿﾀﾁﾂﾃﾄﾅﾆﾇﾈﾉﾊﾋﾌﾍﾎﾏﾐﾑﾒﾓﾔﾕﾖﾗﾘﾙﾚﾛﾜﾝﾞﾟ",
        "〜‖−¢£¬。「」、・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン゛゜",
    ),
}
_NEVER: Final = {"gb18030": re.compile("\ue5e5"), "ISO-2022-JP": re.compile("[\x0e\x0f\x1b]")}
"""What Python's codec encodes and the standard's does not."""
_SUPPLEMENT: Final = b"\x8f"
_VENDORS_ROWS: Final = (13, 89, 90, 91, 92)
_SINGLE: Final = tuple(f"windows-{page}" for page in (874, *range(1250, 1259)))
_PREFIX: Final = "nutchpy.whatwg.encode."


def encoder(name: str) -> Encode:
    """The encoder of an encoding (a WHATWG name); LookupError for others."""
    encoding = webencodings.lookup(name)
    if encoding is None:
        raise LookupError(f"{name!r} is no WHATWG encoding")
    return partial(_encode, name, encoding.codec_info.encode)


def _encode(name: str, encode: Callable[[str, str], tuple[bytes, int]], text: str) -> bytes:
    if name in _NEVER and (found := _NEVER[name].search(text)):
        raise UnicodeEncodeError(name, text, found.start(), found.end(), "not for this encoding")
    if name in _WRITTEN_OTHERWISE:
        text = text.translate(_WRITTEN_OTHERWISE[name])
    octets = encode(text, _PREFIX + name if name in _TABLES else "strict")[0]
    return _without_supplement(text, octets) if name == "EUC-JP" and _SUPPLEMENT in octets else octets


def _without_supplement(text: str, octets: bytes) -> bytes:
    """JIS X 0212 is for decoding alone: what only it has cannot be said, some of the vendors' rows have as well."""
    if len(text) == 1 and text in _vendors():
        return _vendors()[text]
    raise UnicodeEncodeError("EUC-JP", text, 0, len(text), f"{octets!r} is of JIS X 0212")


def _repair(name: str, error: UnicodeError) -> tuple[bytes, int]:
    assert isinstance(error, UnicodeEncodeError)
    known = _TABLES[name]().get(error.object[error.start])
    if known is None:
        raise error
    return known, error.start + 1


@cache
def _vendors() -> dict[str, bytes]:
    """Characters of NEC's and IBM's rows."""
    pairs = (bytes((row + 0xA0, cell)) for row in _VENDORS_ROWS for cell in range(0xA1, 0xFF))
    table: dict[str, bytes] = {}
    for pair in pairs:
        table.setdefault(decoded(pair, "EUC-JP"), pair)
    return table


@cache
def _controls(name: str) -> dict[str, bytes]:
    """Control characters, and what else the standard puts on bytes that Python's codec leaves open."""
    return {decoded(bytes((byte,)), name): bytes((byte,)) for byte in range(0x80, 0x100)}


_TABLES: Final[dict[str, Callable[[], dict[str, bytes]]]] = {
    "EUC-JP": _vendors,
    "GBK": lambda: {"€": b"\x80"},
    **{name: partial(_controls, name) for name in _SINGLE},
}
for _name in _TABLES:
    codecs.register_error(_PREFIX + _name, partial(_repair, _name))
