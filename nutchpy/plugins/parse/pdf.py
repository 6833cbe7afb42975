"""The PDF parser: title, text and links, by pypdf, which comes with ``pip install 'nutchpy[pdf]'``."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Content
from nutchpy.core.parse import Parse
from nutchpy.plugins.parse.document import Reading, Reference, damaged, not_mine
from nutchpy.plugins.parse.text import urls_in

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

MISSING: Final = "PDF needs pypdf: pip install 'nutchpy[pdf]'"
MOST_ANNOTATIONS: Final = 1_000
"""Of one page."""


class PdfParser:
    """Parses PDF, at most ``pages`` pages and ``characters`` of text; what can be read of a damaged file is kept."""

    mime_types: ClassVar[tuple[str, ...]] = ("application/pdf", "application/x-pdf")

    def __init__(self, reading: Reading | None = None, pages: int = 500, characters: int = 4_000_000) -> None:
        self._reading = reading or Reading()
        self._pages = pages
        self._characters = characters

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """The parser as ``parser.pdf.*`` has it."""
        most, longest = conf.integer("parser.pdf.max.pages"), conf.integer("parser.max.text.length")
        return cls(Reading.from_conf(conf), most, longest)

    def parse(self, content: Content) -> Parse:
        """The document's text, a page after the other."""
        if find_spec("pypdf") is None:
            return not_mine(MISSING)
        faults = _faults()
        try:
            reader = _opened(content.content)
            if reader is None:
                return damaged("encrypted")
            title = (reader.metadata.title if reader.metadata else None) or ""
        except faults as error:
            return damaged(f"{type(error).__name__}: {error}")
        texts, links = self._read(reader, faults)
        text = "\n".join(texts)[: self._characters]
        links += [(url, "", "text") for url in urls_in(text)]
        return self._reading.parse(content, title=title, text=text.strip(), links=links)

    def _read(self, reader: PdfReader, faults: tuple[type[Exception], ...]) -> tuple[list[str], list[Reference]]:
        """Texts and links of the pages, until there is enough, or a page cannot even be found."""
        texts: list[str] = []
        links: list[Reference] = []
        size = 0
        for number in range(self._pages):
            try:
                page = reader.pages[number]
            except faults:
                break
            links += _links(page, faults)
            texts.append(_text(page, faults))
            size += len(texts[-1])
            if size >= self._characters:
                break
        return texts, links


def _faults() -> tuple[type[Exception], ...]:
    """What pypdf is known to raise on damaged files: its own errors, and what Python raises inside it."""
    from pypdf.errors import PyPdfError

    inside = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, AssertionError)
    return (PyPdfError, *inside, OSError, EOFError, NotImplementedError, zlib.error)


def _opened(body: bytes) -> PdfReader | None:
    """The document; None when it needs a password."""
    from pypdf import PdfReader

    reader = PdfReader(BytesIO(body), strict=False)
    return None if reader.is_encrypted and not reader.decrypt("") else reader


def _text(page: PageObject, faults: tuple[type[Exception], ...]) -> str:
    try:
        return page.extract_text().replace("\0", "")
    except faults:
        return ""


def _links(page: PageObject, faults: tuple[type[Exception], ...]) -> list[Reference]:
    found: list[Reference] = []
    try:
        found.extend(_uris(page))
    except faults:
        return found
    return found


def _uris(page: PageObject) -> Iterator[Reference]:
    annotations: Any = page.get("/Annots")
    annotations = annotations.get_object() if annotations is not None else None
    for annotation in (annotations or [])[:MOST_ANNOTATIONS]:
        action = annotation.get_object().get("/A")
        uri = action.get_object().get("/URI") if action is not None else None
        if uri is not None:
            uri = uri.get_object()
            yield uri.decode("utf-8", "replace") if isinstance(uri, bytes) else str(uri), "", "annotation"
