"""The Office parser: title, text and links of docx, xlsx, pptx and of odt, ods, odp: zip archives of XML.

Read with the project's own lenient scanner, so that no entity is expanded, a damaged part costs that part alone, and
what is unpacked and kept has a limit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import ClassVar, Final, Self
from zipfile import ZipFile

from nutchpy.conf.layers import Conf
from nutchpy.core import markup
from nutchpy.core.content import Content
from nutchpy.core.parse import Parse
from nutchpy.plugins.parse.document import Reading, Reference, damaged, lines, not_mine
from nutchpy.plugins.parse.zip import FAULTS, MOST_MEMBERS, unpacked

_OOXML: Final = "application/vnd.openxmlformats-officedocument."
_ODF: Final = "application/vnd.oasis.opendocument."
_PARTS: Final = (
    re.compile(r"word/document\.xml"),
    re.compile(r"ppt/slides/slide(\d+)\.xml"),
    re.compile(r"xl/worksheets/sheet(\d+)\.xml"),
    re.compile(r"content\.xml"),
    re.compile(r"word/(?:footnotes|endnotes|comments|header(\d+)|footer(\d+))\.xml"),
    re.compile(r"ppt/notesSlides/notesSlide(\d+)\.xml"),
)
"""The parts with text, in the order they are read in; several of a kind by their number."""
_SHARED: Final = "xl/sharedStrings.xml"
_PROPERTIES: Final = ("docProps/core.xml", "meta.xml")
_LINES: Final = frozenset({"p", "h", "row", "br", "cr", "line-break"})
_BLANKS: Final = frozenset({"tab", "tc", "c", "s", "table-cell", "ptab"})
_WRITTEN: Final = frozenset({"t", "v", "is"})
"""Elements of Microsoft's vocabularies whose characters are text; in OpenDocument all characters are."""
_UNSEEN: Final = frozenset({"annotation", "tracked-changes", "automatic-styles", "styles", "scripts", "forms"})
_FIELD: Final = re.compile(r'HYPERLINK\s*\(?\s*"([^"]+)"', re.IGNORECASE)


class OfficeParser:
    """Parses Office documents, unpacking at most ``size`` bytes, keeping at most ``characters`` of text."""

    mime_types: ClassVar[tuple[str, ...]] = (f"{_OOXML}*", f"{_ODF}*", "application/vnd.ms-*.macroenabled.12")

    def __init__(self, reading: Reading | None = None, size: int = 10 << 20, characters: int = 4_000_000) -> None:
        self._reading = reading or Reading()
        self._size = size
        self._characters = characters

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """Within ``parser.zip.max.bytes`` and ``parser.max.text.length``."""
        size, characters = conf.integer("parser.zip.max.bytes"), conf.integer("parser.max.text.length")
        return cls(Reading.from_conf(conf), size, characters)

    def parse(self, content: Content) -> Parse:
        """The document's parts, one after the other."""
        try:
            with ZipFile(BytesIO(content.content)) as archive:
                return self._read(content, _Archive(archive, self._size))
        except FAULTS as error:
            return damaged(f"{type(error).__name__}: {error}")

    def _read(self, content: Content, archive: _Archive) -> Parse:
        parts = _in_order(archive.names)
        if not parts:
            return not_mine("no Office document: no part with text in it")
        properties = _Properties()
        for name in _PROPERTIES:
            markup.scan(archive.text(name), properties)
        collected = _SharedStrings()
        markup.scan(archive.text(_SHARED), collected)
        shared = collected.strings
        texts: list[str] = []
        links: list[Reference] = []
        room = self._characters
        for name in parts:
            part = _Part(_targets(archive.text(_relations(name))), shared, room, is_open=name == "content.xml")
            markup.scan(archive.text(name), part)
            texts.append(lines("".join(part.texts).split("\n")))
            links += part.links
            room -= len(texts[-1])
        title, text = properties.values.get("title", ""), "\n".join(filter(None, texts))[: self._characters]
        return self._reading.parse(
            content, title=title, text=text, links=links, language=properties.values.get("language")
        )


class _Archive:
    """The members, unpacked while there is room."""

    def __init__(self, archive: ZipFile, room: int) -> None:
        self._archive = archive
        self._room = room
        self._members = {member.filename: member for member in archive.infolist()[:MOST_MEMBERS]}
        self.names = tuple(self._members)

    def text(self, name: str) -> str:
        """A member as text; empty when there is none, or no room for it."""
        member = self._members.get(name)
        if member is None or self._room <= 0:
            return ""
        body = unpacked(self._archive, member, self._room)
        self._room -= len(body)
        return markup.decode(body)


def _in_order(names: Sequence[str]) -> list[str]:
    found: list[tuple[int, int, str]] = []
    for kind, pattern in enumerate(_PARTS):
        for name in names:
            if part := pattern.fullmatch(name):
                number = next(filter(None, part.groups()), "0")
                found.append((kind, int(number[:9]), name))
    return [name for _, _, name in sorted(found)]


def _relations(part: str) -> str:
    """Where the targets of a part's links are listed."""
    folder, _, name = part.rpartition("/")
    return f"{folder}/_rels/{name}.rels"


def _targets(listing: str) -> dict[str, str]:
    """Links that lead out of the document, by their id."""
    found = _Relations()
    markup.scan(listing, found)
    return found.targets


class _Silent:
    """A handler that minds nothing."""

    def start(self, name: str, attributes: str) -> None:
        """An element begins."""

    def end(self, name: str) -> None:
        """An element ends."""

    def text(self, text: str) -> None:
        """Characters."""

    def broken(self, why: str) -> None:
        """What can be read is kept."""


class _Relations(_Silent):
    def __init__(self) -> None:
        self.targets: dict[str, str] = {}

    def start(self, name: str, attributes: str) -> None:
        """Links alone: pictures and parts of the document are relations too."""
        values = markup.attributes(attributes)
        if values.get("TargetMode") == "External" and values.get("Type", "").endswith("/hyperlink"):
            self.targets[values.get("Id", "")] = values.get("Target", "")


class _Properties(_Silent):
    """Title and language."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self._open = ""

    def start(self, name: str, attributes: str) -> None:
        """An element begins."""
        self._open = _local(name)

    def text(self, text: str) -> None:
        """The first of each name counts."""
        if self._open in ("title", "language") and text.strip():
            self.values.setdefault(self._open, text.strip())


class _SharedStrings(_Silent):
    """The strings that the cells of a workbook name by number."""

    def __init__(self) -> None:
        self._pieces: list[list[str]] = []
        self._open = ""

    @property
    def strings(self) -> list[str]:
        """By number."""
        return ["".join(pieces) for pieces in self._pieces]

    def start(self, name: str, attributes: str) -> None:
        """``si`` begins a string, ``t`` one of its pieces."""
        self._open = _local(name)
        if self._open == "si":
            self._pieces.append([])

    def end(self, name: str) -> None:
        """Between elements is nothing."""
        self._open = ""

    def text(self, text: str) -> None:
        """A piece."""
        if self._open == "t" and self._pieces:
            self._pieces[-1].append(text)


class _Part(_Silent):
    """Text and links of one part, until there are ``room`` characters."""

    def __init__(self, targets: Mapping[str, str], shared: Sequence[str], room: int, *, is_open: bool) -> None:
        self.texts: list[str] = []
        self.links: list[Reference] = []
        self._targets = targets
        self._shared = shared
        self._room = room
        self._is_open = is_open
        self._elements: list[str] = []
        self._unseen = 0
        self._is_number = False
        self._anchor: tuple[str, int] | None = None
        self._field = ""

    def start(self, name: str, attributes: str) -> None:
        """Links, and cells that hold the number of a string."""
        local = _local(name)
        self._elements.append(local)
        self._unseen += local in _UNSEEN
        if local == "c":
            self._is_number = markup.attributes(attributes).get("t") == "s"
        elif local in ("hyperlink", "hlinkClick", "a"):
            self._begin_link(local, markup.attributes(attributes))

    def end(self, name: str) -> None:
        """What follows a paragraph or cell stands apart."""
        local = self._elements.pop() if self._elements else ""
        self._unseen -= local in _UNSEEN
        if local in _LINES:
            self._write("\n")
        elif local in _BLANKS:
            self._write(" ")
        elif local in ("instrText", "f"):
            self.links += [(target, "", "hyperlink") for target in _FIELD.findall(self._field)]
            self._field = ""
        elif local in ("hyperlink", "a") and self._anchor is not None:
            target, since = self._anchor
            self.links.append((target, "".join(self.texts[since:])[:1000], "hyperlink"))
            self._anchor = None

    def text(self, text: str) -> None:
        """Characters that a reader of the document sees."""
        inside = self._elements[-1] if self._elements else ""
        if inside in ("instrText", "f"):
            self._field = (self._field + text)[-1000:]
        elif self._is_open:
            if not self._unseen:
                self._write(" ".join(text.splitlines()))
        elif inside in _WRITTEN:
            self._write(self._string(text) if inside == "v" and self._is_number else text)

    def _begin_link(self, local: str, attributes: Mapping[str, str]) -> None:
        named = next((value for name, value in attributes.items() if _local(name) == "id"), "")
        target = attributes.get("xlink:href") if local == "a" else self._targets.get(named)
        if not target:
            return
        if local == "hlinkClick":
            self.links.append((target, "", "hyperlink"))
        else:
            self._anchor = (target, len(self.texts))

    def _string(self, number: str) -> str:
        digits = number.strip()
        place = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 9 else len(self._shared)
        return self._shared[place] if place < len(self._shared) else ""

    def _write(self, text: str) -> None:
        self.texts.append(text)
        self._room -= len(text)
        if self._room < 0:
            raise markup.Enough


def _local(name: str) -> str:
    return name.rpartition(":")[2]
