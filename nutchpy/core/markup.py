"""XML as the web writes it: tags, text and nothing that could explode, from any text, in one pass.

Neither well-formedness nor a DTD is asked for: stray ampersands, tags left open and files cut off give the events of
what is there. Entities are the five of XML, those of HTML, and numbers; what a document declares itself is never
expanded, and never read from elsewhere.
"""

from __future__ import annotations

import re
from html import unescape as unescape_html
from html.entities import html5
from itertools import islice
from operator import itemgetter
from typing import Final, Protocol

MOST_OPEN: Final = 1_000
"""Elements open at once, before the rest is given up."""
MOST_TAGS: Final = 2_000_000
MOST_DECLARED: Final = 1_000
"""Entities of a document's own that are known by name."""
_LOOK_BACK: Final = 16
_BYTES_OF_DECLARATION: Final = 1024

_MARKUP: Final = re.compile(r"<(?:(/?)([A-Za-z_][^\s<>/]*)([^>]*)>|!--|!\[CDATA\[|\?|!)")
_ATTRIBUTE: Final = re.compile(r"([^\s=<>\"'/]+)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'<>]++))")
_ENTITY: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z_][A-Za-z0-9_.-]{0,40});", re.ASCII)
_DECLARED: Final = re.compile(r"<!ENTITY\s+(?:%\s+)?([^\s%&;]+)")
_CUT: Final = re.compile(r"<(?:[A-Za-z_/!?]|$)")
_ENDS: Final = {"!--": "-->", "![CDATA[": "]]>", "?": "?>"}
_ENCODING: Final = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)")
_CODECS: Final = {
    **dict.fromkeys(("iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii", "windows-1252", "cp1252"), "cp1252"),
    **{f"windows-125{digit}": f"cp125{digit}" for digit in "01345678"},
    **{f"iso-8859-{part}": f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    "iso-8859-9": "cp1254",
    **dict.fromkeys(("gb2312", "gbk", "gb18030"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "windows-31j"), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987"), "cp949"),
    "euc-jp": "euc_jp",
    "big5": "big5hkscs",
    "koi8-r": "koi8-r",
    "koi8-u": "koi8-u",
}


class Handler(Protocol):
    """Whom ``scan`` tells what it meets."""

    def start(self, name: str, attributes: str) -> None:
        """A tag opens ``name``; ``attributes`` as written."""
        ...

    def end(self, name: str) -> None:
        """An element ends: at its tag, at that of an element around it, or where the document ends."""
        ...

    def text(self, text: str) -> None:
        """Characters, entities replaced."""
        ...

    def broken(self, why: str) -> None:
        """The document is not well-formed here."""
        ...


class Enough(Exception):  # noqa: N818  not an error: a handler's word that it has seen what it wants
    """Raised by a handler to end the scan."""


def decode(body: bytes) -> str:
    """The document as text: by its byte order mark, its declaration, or UTF-8; what is malformed becomes U+FFFD."""
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return body.decode("utf-16", "replace")
    for start, codec in ((b"<\0?\0", "utf-16-le"), (b"\0<\0?", "utf-16-be")):
        if body.startswith(start):
            return body.decode(codec, "replace")
    declared = _ENCODING.search(body, 0, _BYTES_OF_DECLARATION)
    label = declared[1].decode("ascii").lower() if declared else ""
    return body.decode(_CODECS.get(label, "utf-8"), "replace").removeprefix("\ufeff")


def attributes(text: str) -> dict[str, str]:
    """Name and value of a tag's attributes, names as written; the first of a name counts."""
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(text):
        found.setdefault(name, unescape(double or single or bare))
    return found


def unescape(text: str, declared: frozenset[str] = frozenset()) -> str:
    """Entities replaced; unknown ones stand as they are, those a document ``declared`` itself go."""
    if "&" not in text:
        return text

    def character(match: re.Match[str]) -> str:
        entity: str = match[0]
        if entity[1] == "#":
            return unescape_html(entity)
        return "" if entity[1:-1] in declared else html5.get(entity[1:], entity)

    return _ENTITY.sub(character, text)


def scan(text: str, handler: Handler) -> None:
    """Tell ``handler`` what stands in a document, in order; takes time linear in its length."""
    try:
        _Scanner(text, handler).scan()
    except Enough:
        return


class _Scanner:
    """Walks over a text. ``_end`` is behind its last ``>``: no tag can begin later, so no search runs in vain."""

    def __init__(self, text: str, handler: Handler) -> None:
        self._text = text
        self._end = text.rfind(">") + 1
        self._handler = handler
        self._open: list[str] = []
        self._declared: frozenset[str] = frozenset()

    def scan(self) -> None:
        text, end, search = self._text, self._end, _MARKUP.search
        at = tags = 0
        while markup := search(text, at, end):
            begin = markup.start()
            if begin > at:
                self._handler.text(unescape(text[at:begin], self._declared))
            slash, name, rest = markup.groups()
            if not name:
                at = self._passed(markup)
                continue
            at = markup.end()
            if slash:
                self._closed(name)
            else:
                self._opened(name, rest)
            tags += 1
            if tags >= MOST_TAGS:
                self._handler.broken(f"more than {MOST_TAGS} tags")
                return
        self._rest(at)

    def _opened(self, name: str, rest: str) -> None:
        if rest[-1:] == "/":
            self._handler.start(name, rest[:-1])
            self._handler.end(name)
            return
        self._handler.start(name, rest)
        if len(self._open) >= MOST_OPEN:
            self._handler.broken(f"more than {MOST_OPEN} elements inside each other")
            raise Enough
        self._open.append(name)

    def _closed(self, name: str) -> None:
        """The end of the innermost element of that name; those left open inside it end with it."""
        if not self._open or self._open[-1] != name:
            self._handler.broken(f"</{name[:40]}> ends nothing that is open")
            if name not in self._open[-_LOOK_BACK:]:
                return
        while self._open:
            ended = self._open.pop()
            self._handler.end(ended)
            if ended == name:
                return

    def _passed(self, markup: re.Match[str]) -> int:
        """Where a comment, instruction, declaration or CDATA section ends; the text of the last is told."""
        kind, start = markup[0][1:], markup.end()
        if kind == "!":
            return self._declaration(start)
        mark = _ENDS[kind]
        end = self._text.find(mark, start, self._end)
        stop = end if end >= 0 else len(self._text)
        if kind == "![CDATA[":
            self._handler.text(self._text[start:stop])
        return min(stop + len(mark), len(self._text))

    def _declaration(self, at: int) -> int:
        """The end of ``<!DOCTYPE …>``, its own declarations in brackets included."""
        end = self._text.find(">", at)
        bracket = self._text.find("[", at, end)
        if bracket < 0:
            return end + 1
        close = self._text.find("]", bracket)
        end = self._text.find(">", close) if close >= 0 else -1
        stop = end + 1 if end >= 0 else len(self._text)
        if len(self._declared) < MOST_DECLARED:
            self._declared |= frozenset(islice(map(itemgetter(1), _DECLARED.finditer(self._text, bracket, stop)), 1000))
        return stop

    def _rest(self, at: int) -> None:
        """What stands behind the last tag: the text before one that is cut off."""
        cut = _CUT.search(self._text, at)
        left = self._text[at : cut.start() if cut else None]
        if left:
            self._handler.text(unescape(left, self._declared))
        if cut or self._open:
            self._handler.broken("the document ends inside an element" if self._open else "a tag is cut off")
        while self._open:
            self._handler.end(self._open.pop())
