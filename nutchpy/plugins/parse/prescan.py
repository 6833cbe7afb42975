"""The HTML standard's *prescan a byte stream to determine its encoding*, and the XML declaration beside it.

Bytes in, encoding label out; it runs before anything is decoded or parsed. Regular expressions do the scanning, the
order of decisions is the standard's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from nutchpy.plugins.parse.labels import whatwg_name

PRESCAN_BYTES: Final = 1024
LATE_BYTES: Final = 65_536
"""A meta element behind the first 1,024 bytes makes a browser's parser start again; looked for this far."""

_SPACE: Final = rb"\t\n\f\r\x20"
_META: Final = re.compile(rb"<meta[" + _SPACE + rb"/]", re.IGNORECASE)
_TAG: Final = re.compile(rb"</?[a-z][^" + _SPACE + rb">]*", re.IGNORECASE)
_NAME: Final = re.compile(rb"[" + _SPACE + rb"/]*([^" + _SPACE + rb"/>][^=" + _SPACE + rb"/>]*)[" + _SPACE + rb"]*")
_VALUE: Final = re.compile(
    rb"=[" + _SPACE + rb"]*(?:\"([^\"]*)\"|'([^']*)'|(?![\"'])([^" + _SPACE + rb">]*)(?=[" + _SPACE + rb">]))"
)
_CHARSET: Final = re.compile(
    rb"charset[" + _SPACE + rb"]*=[" + _SPACE + rb"]*(?:\"([^\"]*)\"|'([^']*)'|(?![\"'])([^" + _SPACE + rb";]*))",
    re.IGNORECASE,
)
_XML: Final = re.compile(rb"<\?xml[^>]*?encoding[\x00-\x20]*=[\x00-\x20]*(?:\"([^\"]*)\"|'([^']*)')")


class _OutOfBytes(Exception):  # noqa: N818  not an error: the standard's word for where scanning ends
    """The bytes ended inside a tag."""


def prescan(body: bytes) -> str | None:
    """The WHATWG name of the encoding a page declares: early as the standard says, else late, else by XML."""
    if body.startswith(b"<\0?\0x\0"):
        return "UTF-16LE"
    if body.startswith(b"\0<\0?\0x"):
        return "UTF-16BE"
    return _declared(body[:PRESCAN_BYTES]) or xml_encoding(body) or _late(body)


def xml_encoding(body: bytes) -> str | None:
    """The encoding an XML declaration names; one that could not have been read so far is taken for UTF-8."""
    match = _XML.match(body, 0, PRESCAN_BYTES)
    return _usable(match[1] or match[2] or b"") if match else None


def _late(body: bytes) -> str | None:
    head = body[:LATE_BYTES]
    return _declared(head) if len(body) > PRESCAN_BYTES and b"charset" in head.lower() else None


def _declared(head: bytes) -> str | None:
    if b"<meta" not in head.lower():
        return None
    try:
        return next(filter(None, map(_meta_encoding, _metas(head))), None)
    except _OutOfBytes:
        return None


def _metas(head: bytes) -> Iterator[dict[bytes, bytes]]:
    """The attributes of each meta tag, comments and the insides of other tags passed over."""
    position = head.find(b"<")
    while position >= 0:
        if head.startswith(b"<!--", position):
            position = head.find(b"-->", position + 2)
        elif meta := _META.match(head, position):
            attributes, position = _attributes(head, meta.end() - 1)
            yield attributes
        elif tag := _TAG.match(head, position):
            _, position = _attributes(head, tag.end())
        elif head[position + 1 : position + 2] in (b"!", b"/", b"?"):
            position = head.find(b">", position)
        else:
            position += 1
        if position < 0:
            return
        position = head.find(b"<", position)


def _meta_encoding(attributes: dict[bytes, bytes]) -> str | None:
    if (label := attributes.get(b"charset")) is not None:
        return _usable(label)
    if attributes.get(b"http-equiv") == b"content-type":
        return _usable(content_charset(attributes.get(b"content", b"")) or b"")
    return None


def content_charset(content: bytes) -> bytes | None:
    """The label in ``text/html; charset=label``, by the standard's rules for meta elements."""
    match = _CHARSET.search(content)
    return next((group for group in match.groups() if group is not None), None) if match else None


def _attributes(head: bytes, position: int) -> tuple[dict[bytes, bytes], int]:
    """Lower-case names and values of a tag's attributes (the first of a name wins), and where they end."""
    found: dict[bytes, bytes] = {}
    while name := _NAME.match(head, position):
        position, value = name.end(), b""
        if head[position : position + 1] == b"=":
            match = _VALUE.match(head, position)
            if match is None:
                raise _OutOfBytes
            position, value = match.end(), match[1] or match[2] or match[3] or b""
        found.setdefault(name[1].lower(), value.lower())
    if position >= len(head):
        raise _OutOfBytes
    return found, position


def _usable(label: bytes) -> str | None:
    """What a declaration in ASCII may mean: UTF-16 cannot be true, x-user-defined is taken for windows-1252."""
    name = whatwg_name(label.decode("latin-1"))
    if name in ("UTF-16LE", "UTF-16BE"):
        return "UTF-8"
    return "windows-1252" if name == "x-user-defined" else name
