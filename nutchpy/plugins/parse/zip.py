"""The zip parser: the names of an archive's members, and the text of those that are text or HTML."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from lzma import LZMAError
from typing import ClassVar, Final, Self
from zipfile import BadZipFile, ZipFile, ZipInfo

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Content
from nutchpy.core.mime import mime
from nutchpy.core.parse import Parse
from nutchpy.plugins.parse.document import Reading, Reference, damaged, lines
from nutchpy.plugins.parse.html import HtmlParser
from nutchpy.plugins.parse.text import TextParser

MOST_MEMBERS: Final = 10_000
"""Listed, and looked into."""
FAULTS: Final = (
    BadZipFile, zlib.error, LZMAError, ValueError, OverflowError, LookupError, EOFError, OSError, RuntimeError,
)  # fmt: skip
"""What zipfile raises on damaged, encrypted (RuntimeError) and unknown (NotImplementedError is one) data."""


class ZipParser:
    """Parses zip archives; of all members together at most ``size`` bytes are unpacked."""

    mime_types: ClassVar[tuple[str, ...]] = ("application/zip", "application/x-zip", "application/x-zip-compressed")

    def __init__(self, reading: Reading, html: HtmlParser, text: TextParser, size: int = 10 << 20) -> None:
        self._reading = reading
        self._parsers: dict[str, HtmlParser | TextParser] = dict.fromkeys(html.mime_types, html)
        self._parsers |= dict.fromkeys(text.mime_types, text)
        self._size = size

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """The parser within ``parser.zip.max.bytes``; members are parsed as pages are."""
        html, text = HtmlParser.from_conf(conf), TextParser.from_conf(conf)
        return cls(Reading.from_conf(conf), html, text, conf.integer("parser.zip.max.bytes"))

    def parse(self, content: Content) -> Parse:
        """The listing, then the members' texts; links of members resolve against the archive's URL."""
        try:
            with ZipFile(BytesIO(content.content)) as archive:
                members = [member for member in archive.infolist()[:MOST_MEMBERS] if not member.is_dir()]
                parses = [(member.filename, parse) for member, parse in self._parsed(archive, members, content)]
        except FAULTS as error:
            return damaged(f"{type(error).__name__}: {error}")
        listing = lines(member.filename for member in members)
        texts = [f"{parse.title}\n{parse.text}".strip() for _, parse in parses]
        return self._reading.parse(content, text="\n\n".join([listing, *texts]).strip(), links=_links(parses))

    def _parsed(self, archive: ZipFile, members: list[ZipInfo], content: Content) -> Iterator[tuple[ZipInfo, Parse]]:
        room = self._size
        for member in members:
            kind = mime(None, f"http://zip/{member.filename}", b"")
            if room <= 0 or (kind not in self._parsers and "." in member.filename):
                continue
            body = unpacked(archive, member, room)
            room -= len(body)
            kind = mime(None, f"http://zip/{member.filename}", body)
            if body and kind in self._parsers:
                inside = replace(content, content_type=kind, headers=(), content=body)
                yield member, self._parsers[kind].parse(inside)


def unpacked(archive: ZipFile, member: ZipInfo, most: int) -> bytes:
    """The first ``most`` bytes of a member; none when it is encrypted or damaged."""
    try:
        with archive.open(member) as file:
            return file.read(most)
    except FAULTS:
        return b""


def _links(parses: list[tuple[str, Parse]]) -> Iterator[Reference]:
    for _, parse in parses:
        yield from ((link.url, link.anchor, link.tag) for link in parse.outlinks)
