"""Which charset a body is in, and why: byte order mark, header, declaration, valid UTF-8, detection, default.

The order is the HTML standard's; detection is asked only when nothing says anything and the bytes are not UTF-8.
"""

from __future__ import annotations

import codecs
from functools import lru_cache
from typing import Final

from nutchpy.core import content_type
from nutchpy.plugins.parse import labels
from nutchpy.plugins.parse.prescan import prescan, xml_encoding

DETECTION_BYTES: Final = 65_536
LEAST_CONFIDENCE: Final = 0.02
_UTF8_BY_DEFINITION: Final = ("/xml", "+xml", "/json", "+json")
_CANDIDATES: Final[dict[str, str]] = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16LE",
    "utf-16-be": "UTF-16BE",
    "cp932": "Shift_JIS",
    "euc_jis_2004": "EUC-JP",
    "iso2022_jp_2": "ISO-2022-JP",
    "gb18030": "gb18030",
    "big5hkscs": "Big5",
    "cp949": "EUC-KR",
    "koi8-r": "KOI8-R",
    "koi8-u": "KOI8-U",
    "cp866": "IBM866",
    "cp874": "windows-874",
    "cp1250": "windows-1250",
    "cp1251": "windows-1251",
    "cp1252": "windows-1252",
    "cp1253": "windows-1253",
    "cp1254": "windows-1254",
    "cp1255": "windows-1255",
    "cp1256": "windows-1256",
    "cp1257": "windows-1257",
    "cp1258": "windows-1258",
}
"""What undeclared pages are really written in, by the detector's names; rarer ones only invite false alarms."""


def charset(header: str | None, body: bytes, mime: str = "text/html", default: str = "windows-1252") -> tuple[str, str]:
    """WHATWG name, and the reason: ``bom``, ``header``, ``meta``, ``utf8``, ``detected`` or ``default``.

    ``header`` is the Content-Type as sent. A body of ASCII alone proves nothing and gets the default.
    """
    if name := labels.bom(body):
        return name, "bom"
    if name := _from_header(header):
        return name, "header"
    if name := _declared(body, mime):
        return name, "meta"
    if mime.endswith(_UTF8_BY_DEFINITION):
        default = "UTF-8"
    if body.isascii() and b"\x1b" not in body:  # ISO-2022-JP is ASCII with escape sequences
        return default, "default"
    if not body.isascii() and is_utf8(body):
        return "UTF-8", "utf8"
    if name := detect(body):
        return name, "detected"
    return default, "default"


def is_utf8(body: bytes) -> bool:
    """Whether all is well-formed UTF-8; a character cut off at the end is forgiven."""
    try:
        codecs.utf_8_decode(body, "strict", False)
    except UnicodeDecodeError:
        return False
    return True


def detect(body: bytes) -> str | None:
    """The detector's guess, if it has one worth the name."""
    import chardet  # 20 ms to import, and most pages say what they are written in

    guess = chardet.detect(
        body[:DETECTION_BYTES],
        include_encodings=_CANDIDATES,
        no_match_encoding="cp1252",
        empty_input_encoding="utf-8",
        prefer_superset=True,
        compat_names=False,
    )
    name = guess["encoding"]
    return _CANDIDATES.get(name) if name and guess["confidence"] >= LEAST_CONFIDENCE else None


@lru_cache(maxsize=1_024)
def _from_header(header: str | None) -> str | None:
    parsed = content_type.extract([header]) if header else None
    return labels.whatwg_name(parsed.charset) if parsed and parsed.charset else None


def _declared(body: bytes, mime: str) -> str | None:
    if mime in ("text/html", "application/xhtml+xml"):
        return prescan(body)
    return xml_encoding(body) if mime.endswith(("/xml", "+xml")) else None
