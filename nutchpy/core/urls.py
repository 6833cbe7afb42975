"""URL keys: host, registered domain, bucket key and queue key of a URL, and resolution of references.

Parsing is the WHATWG URL standard's. Two libraries have it: can_ada is fast and a few years behind, ada_url is true to
the letter and takes five times as long, so it is asked only where the two may differ. The public suffix list is the one
shipped in its wheel, no network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Protocol

import ada_url
import can_ada
import mmh3

from nutchpy.core.registered import registered_domain as registered_domain

CRAWLABLE_SCHEMES: Final = frozenset({"http", "https", "file", "ftp"})

_WEB_SCHEMES: Final = frozenset({"http:", "https:"})
_KNOWN: Final = ("http:", "https:", "ftp:", "file:", "ws:", "wss:")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HAS_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_PLAIN_PLACE: Final = re.compile(r"#[A-Za-z0-9_.~:/?!$&'()*+,;=@-]*").fullmatch
"""A fragment that stays as it is."""
_IN_FOLDER: Final = re.compile(r"[A-Za-z0-9_./][^:\\\s]*").fullmatch
"""A reference that means the same on all pages of a folder."""
_NAME: Final = "[A-Za-z0-9_~!$&()*+,;=-][A-Za-z0-9_~!$&()*+,;=.-]*+"
_REST: Final = rf"(?:/{_NAME})*+/?+(?:\?[A-Za-z0-9_~!$&()*+,;=./?-]++)?+"
_SETTLED: Final = re.compile(rf"(https?://[^/?#@\\]+)(?=/){_REST}").fullmatch
"""A web URL whose path and query nobody would write otherwise; its origin is in the first group."""
_SETTLED_PATH: Final = re.compile(rf"(?=/){_REST}").fullmatch
_SETTLED_NAME: Final = re.compile(_NAME + _REST).fullmatch
_REMEMBERED: Final = 4_096
"""References of one folder whose meaning is kept."""


class Url(Protocol):
    """A parsed URL, in the standard's parts."""

    @property
    def href(self) -> str: ...
    @property
    def protocol(self) -> str: ...
    @property
    def username(self) -> str: ...
    @property
    def password(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def hostname(self) -> str: ...
    @property
    def port(self) -> str: ...
    @property
    def pathname(self) -> str: ...
    @property
    def search(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def origin(self) -> str: ...


def resolve(base: str, reference: str) -> str | None:
    """``reference`` against ``base`` as a browser does it, alone when that is empty; None when it is no URL."""
    if not base:
        return _exact(reference)
    try:
        return str(ada_url.join_url(_scalar(base), _scalar(reference)))
    except ValueError:
        return None


def href(url: str) -> str | None:
    """The URL as the standard writes it; None when it is none."""
    try:
        written: str = can_ada.parse(url).href
    except (ValueError, TypeError):  # TypeError: a lone surrogate
        return _exact(url)
    return _exact(url) if may_differ(written) else written


def may_differ(written: str) -> bool:
    """Whether ada_url may write otherwise what can_ada 3 wrote so.

    Behind a name with a dot at its front it leaves a dot segment (``/a/.b/..``), it does not escape ``^`` in paths, it
    judges the letters of ``xn--`` labels by older rules, and spaces in paths of schemes that it does not know.
    """
    return "/." in written or "^" in written or "xn--" in written or not written.startswith(_KNOWN)


def _exact(url: str) -> str | None:
    parsed = _exactly(url)
    return None if parsed is None else str(parsed.href)


def _exactly(url: str) -> Url | None:
    try:
        parsed: Url = ada_url.URL(_scalar(url))
    except ValueError:
        return None
    return parsed


def _scalar(text: str) -> str:
    """Lone surrogates, which no URL can carry, replaced as in browsers."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Resolver:
    """``resolve`` against one base, many times: twice as fast, the same answers.

    A reference without blanks or backslashes, on a web base, is put in place as text and parsed once; whatever is less
    plain goes through ``resolve``.
    """

    __slots__ = ("_directory", "_known", "_origin", "_page", "_prefixes", "_settled", "base")

    def __init__(self, base: str) -> None:
        self.base = base
        parsed = parse(base)
        self._prefixes = _prefixes(parsed) if parsed is not None and parsed.protocol in _WEB_SCHEMES else {}
        self._directory = self._prefixes.get("?", "").rpartition("/")[0] + "/"
        page = self._prefixes.get("#", "")
        self._page = page if page and not may_differ(page) else None
        self._known = _known_in(self._directory) if self._prefixes else {}
        self._settled = settled_host(self._directory) is not None
        self._origin = self._prefixes.get("/", "")

    def __call__(self, reference: str) -> str | None:
        """``reference`` as an absolute URL, or None."""
        if self._settled:
            if _SETTLED_PATH(reference):
                return self._origin + reference
            if _SETTLED_NAME(reference):
                return self._directory + reference
        known = self._known.get(reference)
        if known is not None:
            return known
        if self._page is not None and _PLAIN_PLACE(reference):
            return self._page + reference
        url = self._resolved(reference)
        if url is not None and _IN_FOLDER(reference) and len(self._known) < _REMEMBERED:
            self._known[reference] = url
        return url

    def _resolved(self, reference: str) -> str | None:
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
        return _quickly(prefix + reference) or resolve(self.base, reference)


@lru_cache(maxsize=256)
def _known_in(directory: str) -> dict[str, str]:
    """What references mean on the pages of a folder, as they are found out: such pages have the same navigation."""
    return {}


def _quickly(url: str) -> str | None:
    """A URL in the standard's form where the quick parser is sure of it."""
    if settled_host(url) is not None:
        return url
    try:
        written: str = can_ada.parse(url).href
    except ValueError:
        return None
    return None if may_differ(written) else written


def settled_host(url: str) -> str | None:
    """The host of a web URL that is in the standard's form and in ours, when a glance tells; else None.

    Most links are such, and most have an origin that was seen before: they need no parser.
    """
    found = _SETTLED(url)
    return _settled_origin(found[1]) if found is not None else None


@lru_cache(maxsize=1 << 16)
def _settled_origin(origin: str) -> str | None:
    """Its host, when the origin is in the standard's form; no ``xn--`` labels, which may be written in two ways."""
    try:
        parsed: Url = can_ada.parse(origin)
    except (ValueError, TypeError):
        return None
    return parsed.hostname if parsed.href == f"{origin}/" and "xn--" not in origin else None


def _prefixes(base: Url) -> dict[str, str]:
    """What to put before a reference, by its first character (and ``//``)."""
    before_fragment = str(base.href).partition("#")[0]
    before_query = before_fragment.partition("?")[0]
    origin = before_query[: len(before_query) - len(base.pathname)]
    return {"": before_fragment, "#": before_fragment, "?": before_query, "/": origin, "//": str(base.protocol)}


def parse(url: str) -> Url | None:
    """The parsed URL, or None when the standard says failure."""
    try:
        parsed: Url = can_ada.parse(url)
    except (ValueError, TypeError):
        return _exactly(url)
    return _exactly(url) if may_differ(parsed.href) else parsed


def host_of(url: str) -> str | None:
    """The lower-case ASCII host (IPv6 in brackets), no port; ``""`` for ``file:``; None when the URL does not parse."""
    if settled := settled_host(url):
        return settled
    try:
        host: str = can_ada.parse(url).hostname
    except (ValueError, TypeError):
        return _exact_host(url)
    return _exact_host(url) if "xn--" in host else host


def _exact_host(url: str) -> str | None:
    parsed = _exactly(url)
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
