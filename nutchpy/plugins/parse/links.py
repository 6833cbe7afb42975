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
from nutchpy.plugins.parse.encoders import Encode, encoder
from nutchpy.plugins.parse.extract import Page, Reference

_SCHEMES: Final = tuple(f"{scheme}:" for scheme in sorted(CRAWLABLE_SCHEMES))
_UTF: Final = ("UTF-8", "UTF-16LE", "UTF-16BE", "replacement")
_SAFE: Final = "".join(map(chr, range(0x21, 0x7F))) + "\t\n\r"
"""What the URL parser sees to itself: blanks inside a reference, which it drops, are not to be hidden from it."""
_ENDS: Final = "".join(map(chr, range(0x21)))


def base_of(page: Page, url: str, encoded: Callable[[str], str]) -> str:
    """What references resolve against: the first base element's, unless it is no URL that may be a base."""
    if page.base_reference is None:
        return url
    base = Resolver(url)(encoded(page.base_reference))
    return base if base is not None and base.startswith(_SCHEMES) else url


def outlinks(page: Page, base: str, charset: str) -> Outlinks:
    """The page's links that lead somewhere a crawler can go."""
    return Outlinks(_leads(page, Resolver(base), query_encoder(charset)), partial(_outlink, page))


def query_encoder(charset: str) -> Callable[[str], str]:
    """Browsers send the query of a link in the page's own charset; the answer rewrites references so."""
    if charset in _UTF:
        return _unchanged
    encode = encoder(charset)

    def encoded(reference: str) -> str:
        if reference.isascii():
            return reference
        before, mark, query = reference.strip(_ENDS).partition("?")
        if not mark or "#" in before:
            return reference
        query, hash_mark, fragment = query.partition("#")
        return before + mark + _percent(query, encode) + hash_mark + fragment

    return encoded


def _percent(query: str, encode: Encode) -> str:
    """Percent-encoded in the charset; what that cannot say goes as a character reference, as forms send it."""
    try:
        return quote_from_bytes(encode(query), _SAFE)
    except UnicodeEncodeError:
        return "".join(map(_percent_each, query, repeat(encode)))


def _percent_each(character: str, encode: Encode) -> str:
    try:
        return quote_from_bytes(encode(character), _SAFE)
    except UnicodeEncodeError:
        return f"%26%23{0xFFFD if character.isascii() else ord(character)}%3B"


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
