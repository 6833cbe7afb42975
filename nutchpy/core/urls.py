"""URL keys: host, registered domain, bucket key and queue key of a URL, and resolution of references.

Parsing is the WHATWG URL standard's (ada); the public suffix list is the one shipped in its wheel, no network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import ada_url
import can_ada
import mmh3

from nutchpy.core.registered import registered_domain as registered_domain

CRAWLABLE_SCHEMES: Final = frozenset({"http", "https", "file", "ftp"})

_WEB_SCHEMES: Final = frozenset({"http:", "https:"})
_HAS_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


def resolve(base: str, reference: str) -> str | None:
    """``reference`` against ``base`` as a browser does it; None when that is no URL."""
    try:
        return str(ada_url.join_url(base, reference))
    except ValueError:
        return None


class Resolver:
    """``resolve`` against one base, many times: twice as fast, the same answers.

    A reference without blanks or backslashes, on a web base, is put in place as text and parsed once; whatever is less
    plain goes through ``resolve``.
    """

    __slots__ = ("_directory", "_prefixes", "base")

    def __init__(self, base: str) -> None:
        self.base = base
        parsed = parse(base)
        self._prefixes = _prefixes(parsed) if parsed is not None and parsed.protocol in _WEB_SCHEMES else {}
        self._directory = self._prefixes.get("?", "").rpartition("/")[0] + "/"

    def __call__(self, reference: str) -> str | None:
        """``reference`` as an absolute URL, or None."""
        if not self._prefixes or not reference.isprintable() or " " in reference or "\\" in reference:
            return resolve(self.base, reference)
        prefix = self._prefixes.get(reference[:1])
        if prefix is None:
            if ":" not in reference or not _HAS_SCHEME.match(reference):
                prefix = self._directory
            elif reference.startswith(("http://", "https://")):
                prefix = ""
            else:
                return resolve(self.base, reference)
        elif reference.startswith("//"):
            prefix = self._prefixes["//"]
        try:
            href: str = can_ada.parse(prefix + reference).href
        except ValueError:
            return None
        # can_ada 3 leaves a dot segment behind a name with a dot at its front: /a/.b/..
        return resolve(self.base, reference) if "/." in href else href


def _prefixes(base: can_ada.URL) -> dict[str, str]:
    """What to put before a reference, by its first character (and ``//``)."""
    before_fragment = str(base.href).partition("#")[0]
    before_query = before_fragment.partition("?")[0]
    origin = before_query[: len(before_query) - len(base.pathname)]
    return {"": before_fragment, "#": before_fragment, "?": before_query, "/": origin, "//": str(base.protocol)}


def parse(url: str) -> can_ada.URL | None:
    """The parsed URL, or None when the standard says failure."""
    try:
        return can_ada.parse(url)
    except (ValueError, TypeError):  # TypeError: a lone surrogate
        return None


def host_of(url: str) -> str | None:
    """The lower-case ASCII host (IPv6 in brackets), no port; ``""`` for ``file:``; None when the URL does not parse."""
    parsed = parse(url)
    return None if parsed is None else str(parsed.hostname)


def origin_of(url: str) -> str | None:
    """``scheme://host`` with the port when it is not the scheme's own; None when the URL does not parse."""
    parsed = parse(url)
    return None if parsed is None else str(parsed.origin)


@lru_cache(maxsize=1 << 16)
def bucket_key(host: str) -> int:
    """Unsigned 32-bit murmur3 of the host. Its top bits choose a bucket, so that 1, 16 and 64 buckets nest."""
    return int(mmh3.hash(host, 0, signed=False))


def bucket_keys(hosts: Iterable[str]) -> list[int]:
    """``bucket_key`` over a column of distinct hosts."""
    return [mmh3.hash(host, 0, False) for host in hosts]


def bucket_of(key: int, buckets: int) -> int:
    """The bucket of a key; ``buckets`` is a power of two."""
    return key >> (32 - (buckets.bit_length() - 1)) if buckets > 1 else 0


def bucket_range(bucket: int, buckets: int) -> tuple[int, int]:
    """First and last key (inclusive) of a bucket: the predicate that feeds are read with."""
    width = (1 << 32) // buckets
    return bucket * width, (bucket + 1) * width - 1


def spread_hash(url: str) -> int:
    """The hash that orders a fetch list inside one rank, so that neighbours of a host lie apart."""
    return int(mmh3.hash(url, 1, signed=False))


def hosts_of(urls: Iterable[str]) -> list[str | None]:
    """``host_of`` over a column."""
    return [host_of(url) for url in urls]
