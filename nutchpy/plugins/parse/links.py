"""From references as written to outlinks: resolved as a browser does, when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import repeat
from typing import Final
from urllib.parse import quote_from_bytes

from nutchpy.core.outlinks import Lead, Outlinks
from nutchpy.core.parse import Outlink
from nutchpy.core.urls import CRAWLABLE_SCHEMES, Resolver
from nutchpy.plugins.parse.extract import Page, Reference
from nutchpy.plugins.parse.labels import codec

_SCHEMES: Final = tuple(f"{scheme}:" for scheme in sorted(CRAWLABLE_SCHEMES))
_UTF: Final = ("UTF-8", "UTF-16LE", "UTF-16BE", "replacement")
_SAFE: Final = "".join(map(chr, range(0x21, 0x7F)))


def base_of(page: Page, url: str) -> str:
    """What references resolve against: the first base element's, unless it is no URL that may be a base."""
    if page.base_reference is None:
        return url
    base = Resolver(url)(page.base_reference)
    return base if base is not None and base.startswith(_SCHEMES) else url


def outlinks(page: Page, base: str, charset: str) -> Outlinks:
    """The page's links that lead somewhere a crawler can go."""
    return Outlinks(_leads(page, Resolver(base), query_encoder(charset)), partial(_outlink, page))


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


def _leads(page: Page, resolve: Resolver, encoded: Callable[[str], str]) -> Iterator[Lead]:
    previous = None
    for read, node in page.links:
        for link in read(page, node):
            tag, _, reference, _, _ = link
            if reference == previous and tag == "a" and not page.anchor(link):
                continue  # an <a> left open is opened again by the tree builder, around the white space that follows
            previous = reference
            url = resolve(reference if reference.isascii() else encoded(reference))
            if url is not None and url.startswith(_SCHEMES):
                yield url, link


def _outlink(page: Page, url: str, link: Reference) -> Outlink:
    tag, _, _, rel, _ = link
    return Outlink(url, page.anchor(link), rel, tag)


def _unchanged(reference: str) -> str:
    return reference
