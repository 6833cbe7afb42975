"""The XML parser: the text of all elements, and the links of attributes and texts, of whatever vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import ClassVar, Final, Self

from nutchpy.conf.layers import Conf
from nutchpy.core import markup
from nutchpy.core.content import Content
from nutchpy.core.parse import Parse
from nutchpy.plugins.parse.document import Reading, Reference, lines
from nutchpy.plugins.parse.text import urls_in

_LINKS: Final = frozenset({"href", "src", "xlink:href", "xmlurl", "htmlurl", "rdf:about", "rdf:resource"})
_UNSEEN: Final = frozenset({"script", "style", "metadata"})


class XmlParser:
    """Parses XML that no other parser knows better."""

    mime_types: ClassVar[tuple[str, ...]] = ("application/xml", "text/xml", "*/*+xml", "text/x-opml")

    def __init__(self, reading: Reading | None = None) -> None:
        self._reading = reading or Reading()

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """The parser with the charset and names of the settings."""
        return cls(Reading.from_conf(conf))

    def parse(self, content: Content) -> Parse:
        """Text and links, however broken the document is."""
        decoded = self._reading.decode(content)
        found = _Collector()
        markup.scan(decoded.text, found)
        text = lines(found.texts)
        links = chain(found.links, _in_text(text))
        return self._reading.parse(content, decoded, title=found.title, text=text, links=links)


def _in_text(text: str) -> Iterator[Reference]:
    return ((url, "", "text") for url in urls_in(text))


class _Collector:
    """Takes in a document; the first ``title`` of any namespace is the title."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.links: list[Reference] = []
        self.title = ""
        self._open: list[str] = []

    def start(self, name: str, attributes: str) -> None:
        """Links are attributes with a name that says so."""
        local = name.rpartition(":")[2].lower()
        self._open.append(local)
        if "=" in attributes:
            for key, value in markup.attributes(attributes).items():
                if key.lower() in _LINKS:
                    self.links.append((value, "", local))

    def end(self, _name: str) -> None:
        """An element ends."""
        if self._open:
            self._open.pop()

    def text(self, text: str) -> None:
        """Characters, but of scripts and styles."""
        inside = self._open[-1] if self._open else ""
        if inside in _UNSEEN:
            return
        if inside == "title" and not self.title:
            self.title = text.strip()
        self.texts.append(text)

    def broken(self, why: str) -> None:
        """What can be read is read."""
