"""From references as written to outlinks: resolved as a browser does, one at a time, when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any, Final, overload
from urllib.parse import quote_from_bytes

from nutchpy.core.parse import Outlink
from nutchpy.core.urls import CRAWLABLE_SCHEMES, Resolver
from nutchpy.plugins.parse.extract import Page
from nutchpy.plugins.parse.labels import codec

_SCHEMES: Final = tuple(f"{scheme}:" for scheme in sorted(CRAWLABLE_SCHEMES))
_UTF: Final = ("UTF-8", "UTF-16LE", "UTF-16BE", "replacement")
_SAFE: Final = "".join(map(chr, range(0x21, 0x7F)))


class Outlinks(Sequence[Outlink]):
    """The outlinks of a page, in page order. Made as they are read, since readers stop at the first hundred."""

    def __init__(self, links: Iterator[Outlink]) -> None:
        self._rest = links
        self._read: list[Outlink] = []

    def __iter__(self) -> Iterator[Outlink]:
        number = 0
        while True:
            while number < len(self._read):
                yield self._read[number]
                number += 1
            link = next(self._rest, None)
            if link is None:
                return
            self._read.append(link)

    def __len__(self) -> int:
        self._read.extend(self._rest)
        return len(self._read)

    @overload
    def __getitem__(self, index: int) -> Outlink: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Outlink]: ...
    def __getitem__(self, index: int | slice) -> Outlink | Sequence[Outlink]:
        self._read.extend(self._rest)
        return self._read[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)


def base_of(page: Page, url: str) -> str:
    """What references resolve against: the first base element's, unless it is no URL that may be a base."""
    if page.base_reference is None:
        return url
    base = Resolver(url)(page.base_reference)
    return base if base is not None and base.startswith(_SCHEMES) else url


def outlinks(page: Page, base: str, charset: str) -> Outlinks:
    """The page's links that lead somewhere a crawler can go."""
    return Outlinks(_resolved(page, Resolver(base), query_encoder(charset)))


def query_encoder(charset: str) -> Callable[[str], str]:
    """Browsers send the query of a link in the page's own charset; the answer rewrites references so."""
    if charset in _UTF:
        return _unchanged
    encode = codec(charset).encode

    def encoded(reference: str) -> str:
        before, mark, query = reference.partition("?")
        if not mark or "#" in before:
            return reference
        query, hash_mark, fragment = query.partition("#")
        return before + mark + _percent(query, encode) + hash_mark + fragment

    return encoded


def _percent(query: str, encode: Callable[[str], tuple[bytes, int]]) -> str:
    """Percent-encoded in the charset; what that cannot say goes as a character reference, as forms send it."""
    try:
        return quote_from_bytes(encode(query)[0], _SAFE)
    except UnicodeEncodeError:
        return "".join(map(_percent_each, query, repeat(encode))) if len(query) > 1 else f"%26%23{ord(query)}%3B"


def _percent_each(character: str, encode: Callable[[str], tuple[bytes, int]]) -> str:
    return character if character.isascii() else _percent(character, encode)


def _resolved(page: Page, resolve: Resolver, encoded: Callable[[str], str]) -> Iterator[Outlink]:
    previous = None
    for link in page.links:
        reference = link.reference
        anchor = page.anchor(link)
        if reference == previous and not anchor and link.tag == "a":
            continue  # an <a> left open is opened again by the tree builder, around the white space that follows
        previous = reference
        url = resolve(reference if reference.isascii() else encoded(reference))
        if url is not None and url.startswith(_SCHEMES):
            yield Outlink(url, anchor, link.rel, link.tag)


def _unchanged(reference: str) -> str:
    return reference
