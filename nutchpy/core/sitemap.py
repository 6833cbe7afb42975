"""Sitemaps by sitemaps.org, and what is handed out as such: XML, indexes, RSS, Atom, plain text, each also gzipped.

Total and bounded: any bytes give a Sitemap. A broken document gives what can be read of it, with ``problem`` saying
so; the location rule (``strict``) keeps only URLs in the sitemap's own directory and below.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from nutchpy.core import markup, urls
from nutchpy.core.w3c_date import feed_date, iso, w3c_date

MOST_BYTES: Final = 50 * 1024 * 1024
"""Of the document, unpacked; what stands behind is not read."""
MOST_ENTRIES: Final = 50_000
LONGEST_URL: Final = 8_192
MOST_PIECES: Final = 100
"""Texts that one field is put together from."""

_NAMESPACES: Final = frozenset(
    {
        "http://www.sitemaps.org/schemas/sitemap/0.9",
        "https://www.sitemaps.org/schemas/sitemap/0.9",
        "http://www.sitemaps.org/schemas/sitemap/0.9/",
        "http://www.google.com/schemas/sitemap/0.84",
        "http://www.google.com/schemas/sitemap/0.90",
    }
)
_TYPES: Final = {
    "urlset": "XML", "url": "XML", "sitemapindex": "INDEX", "sitemap": "INDEX",
    "rss": "RSS", "rdf": "RSS", "channel": "RSS", "feed": "ATOM",
}  # fmt: skip
_ENTRY: Final = {"XML": "url", "INDEX": "sitemap", "RSS": "item", "ATOM": "entry"}
_FREQUENCIES: Final = frozenset({"ALWAYS", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY", "NEVER"})
_DATES: Final = {"pubdate": "date", "dc:date": "date", "updated": "date", "published": "first", "modified": "date"}
_BLANK: Final = " \t\r\n\f\v\x85\xa0\u1680\u180e\u2000-\u200d\u2028\u2029\u202f\u205f\u2060\u3000\ufeff\0"
_AROUND: Final = re.compile(f"^[{_BLANK}]+|[{_BLANK}]+$")
_SCHEME: Final = re.compile(r"https?://[^/?#\s]", re.IGNORECASE)
_WWW: Final = re.compile(r"www\.[A-Za-z0-9-]+\.[A-Za-z0-9.-]+(?:[/?#:]|$)", re.IGNORECASE)
_PREFIX: Final = re.compile(r"xmlns(?::([^\s=]+))?$")


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """One URL, or one sitemap of an index."""

    loc: str
    lastmod: str | None = None
    """UTC, as ``2005-01-01T00:00:00Z``."""
    changefreq: str | None = None
    """``ALWAYS HOURLY DAILY WEEKLY MONTHLY YEARLY NEVER``."""
    priority: float = 0.5


@dataclass(frozen=True, slots=True)
class Sitemap:
    """What a sitemap says, in document order."""

    type: str | None
    """``XML``, ``INDEX``, ``RSS``, ``ATOM``, ``TEXT``; None when it is no sitemap."""
    urls: Sequence[SitemapEntry] = ()
    sitemaps: Sequence[SitemapEntry] = ()
    problem: str | None = None
    """Why it is none, or not whole."""


def sitemap(body: bytes, url: str, strict: bool = True, *, strict_namespace: bool = False) -> Sitemap:
    """Read a sitemap that was found at ``url``.

    ``strict`` drops URLs outside of the sitemap's directory; ``strict_namespace`` takes XML of the sitemap namespace
    alone. A document that is not well-formed and gives nothing is no sitemap.
    """
    packed = body.startswith(b"\x1f\x8b")
    plain, problem = unpacked(body) if packed else (body[:MOST_BYTES], _too_long(len(body)))
    text = markup.decode(plain)
    site = _Site(url, strict)
    if text[:4096].lstrip("\ufeff \t\r\n\f\v\0").startswith("<"):
        return _of_xml(text, site, strict_namespace, problem)
    return _of_lines(text, site, problem)


def unpacked(body: bytes) -> tuple[bytes, str | None]:
    """A gzip body undone, all its members, as far as it goes and the limit allows."""
    out = bytearray()
    while body and len(out) < MOST_BYTES:
        member = zlib.decompressobj(31)
        try:
            out += member.decompress(body, MOST_BYTES - len(out))
        except zlib.error:
            return bytes(out), None if out else "damaged gzip"
        if not member.eof:
            return bytes(out), _too_long(len(out) + 1) if len(out) >= MOST_BYTES else "gzip cut off"
        body = member.unused_data
    return bytes(out), None


def _too_long(size: int) -> str | None:
    return f"longer than {MOST_BYTES} bytes" if size > MOST_BYTES else None


class _Site:
    """Which URLs a sitemap may speak of."""

    def __init__(self, url: str, strict: bool) -> None:
        self._resolve = urls.Resolver(url)
        self._directory = _directory(url) if strict else ""

    def location(self, text: str, *, relative: bool = False) -> str | None:
        """The absolute URL without its fragment, whatever white space stands around it; None when it is none."""
        text = stripped(text)
        if not text or len(text) > LONGEST_URL:
            return None
        if _WWW.match(text):
            text = f"http://{text}"
        if not relative and not _SCHEME.match(text):
            return None
        found = self._resolve(text)
        return found.partition("#")[0] if found is not None and _SCHEME.match(found) else None

    def allows(self, location: str) -> bool:
        """Whether it stands in the sitemap's directory, or below."""
        return location.startswith(self._directory)


def _directory(url: str) -> str:
    """Everything up to the last slash of the path."""
    parsed = urls.parse(url)
    if parsed is None:
        return ""
    return str(parsed.origin) + str(parsed.pathname).rpartition("/")[0] + "/"


def stripped(text: str) -> str:
    """Without white space at its ends, in Unicode's sense and some more."""
    return _AROUND.sub("", text)


def _of_lines(text: str, site: _Site, problem: str | None) -> Sitemap:
    """One URL a line; a text that has none is no sitemap."""
    found: list[SitemapEntry] = []
    seen = 0
    for line in re.split(r"[\r\n]+", text):
        location = site.location(line)
        if location is None:
            continue
        if seen >= MOST_ENTRIES:
            problem = f"more than {MOST_ENTRIES} entries"
            break
        seen += 1
        if site.allows(location):
            found.append(SitemapEntry(location))
    return Sitemap("TEXT", found, (), problem) if seen else Sitemap(None, problem=problem or "no URL, no markup")


def _of_xml(text: str, site: _Site, strict_namespace: bool, problem: str | None) -> Sitemap:
    reader = _Reader(site, strict_namespace)
    reader.read(text)
    problem = problem or reader.problem
    kind, entries = reader.kind, reader.entries
    if kind is None or (reader.is_broken and not entries):
        return Sitemap(None, problem=problem or "no sitemap, no feed")
    return Sitemap(kind, (), entries, problem) if kind == "INDEX" else Sitemap(kind, entries, (), problem)


class _Reader:
    """Collects entries. Elements count by their name and their prefix: extensions (images, news) have others."""

    def __init__(self, site: _Site, strict_namespace: bool) -> None:
        self.kind: str | None = None
        self.entries: list[SitemapEntry] = []
        self.problem: str | None = None
        self.is_broken = False
        self._seen = 0
        self._site = site
        self._strict_namespace = strict_namespace
        self._prefixes = frozenset({""})
        self._open: list[str] = []
        self._fields: dict[str, list[str]] = {}

    def read(self, text: str) -> None:
        """Take a document, until there are too many entries."""
        markup.scan(text, self)
        if self._seen < MOST_ENTRIES:
            self._flush()

    def start(self, name: str, attributes: str) -> None:
        """An element begins; the first one says what the document is."""
        if self.kind is None and not self._root(name, attributes):
            raise markup.Enough
        name = self._known(name)
        if name in ("loc", self._entry) and self._has_location():
            self._flush()
        if name == self._entry and self.kind in ("RSS", "ATOM"):
            self._fields.clear()
        if name == "link" and self.kind == "ATOM" and self._inside():
            self._atom_link(markup.attributes(attributes))
        self._open.append(name)

    def end(self, _name: str) -> None:
        """An element ends."""
        ended = self._open.pop() if self._open else ""
        if ended == self._entry and (not self._open or self._open[-1] != "loc"):
            self._flush()

    def text(self, text: str) -> None:
        """Characters of a field of an entry are kept."""
        name = self._field(self._open[-1]) if self._open else None
        if name is None:
            return
        pieces = self._fields.setdefault(name, [])
        if len(pieces) < MOST_PIECES:
            pieces.append(text[: LONGEST_URL + 1])

    def broken(self, why: str) -> None:
        """The document is not well-formed."""
        self.is_broken, self.problem = True, self.problem or why

    def _root(self, name: str, rest: str) -> bool:
        """What kind of document the outermost element makes it; False when none that is known."""
        prefix, _, local = name.rpartition(":")
        kind = _TYPES.get(local.lower())
        spaces = {found[1] or "": uri for key, uri in markup.attributes(rest).items() if (found := _PREFIX.match(key))}
        if kind in ("XML", "INDEX"):
            ours = {key for key, uri in spaces.items() if uri in _NAMESPACES}
            if self._strict_namespace and prefix not in ours:
                self.problem = f"<{local}> is of the namespace {spaces.get(prefix, '')!r}"
                return False
            self._prefixes = frozenset({prefix, *ours})
        elif kind == "ATOM":
            self._prefixes = frozenset({prefix})
        self.kind = kind
        return kind is not None

    def _known(self, name: str) -> str:
        """The element's own name in lower case; with its prefix when that is an extension's."""
        prefix, _, local = name.rpartition(":")
        return local.lower() if prefix in self._prefixes else name.lower()

    def _atom_link(self, attributes: dict[str, str]) -> None:
        """The first link to the entry itself."""
        if attributes.get("rel", "alternate") == "alternate" and attributes.get("href") and not self._has_location():
            self._fields["loc"] = [attributes["href"]]

    def _field(self, element: str) -> str | None:
        """The field that an element's text belongs to."""
        if self.kind in ("XML", "INDEX"):
            return "loc" if element in ("loc", self._entry) else element if element in _SITEMAP_FIELDS else None
        if len(self._open) < 2 or self._open[-2] != self._entry:
            return None
        if self.kind == "RSS" and element in ("link", "guid"):
            return "loc" if element == "link" else "guid"
        return _DATES.get(element)

    @property
    def _entry(self) -> str:
        return _ENTRY.get(self.kind or "", "")

    def _inside(self) -> bool:
        return bool(self._open) and self._open[-1] == self._entry

    def _has_location(self) -> bool:
        return any(map(stripped, self._fields.get("loc", ())))

    def _flush(self) -> None:
        fields = {name: stripped("".join(pieces)) for name, pieces in self._fields.items()}
        self._fields.clear()
        entry = _feed_entry(fields, self._site) if self.kind in ("RSS", "ATOM") else _entry(fields, self._site)
        if entry is None:
            return
        if self._seen >= MOST_ENTRIES:
            self.problem = f"more than {MOST_ENTRIES} entries"
            raise markup.Enough
        self._seen += 1
        if self.kind == "INDEX" or self._site.allows(entry.loc):
            self.entries.append(entry)


_SITEMAP_FIELDS: Final = frozenset({"lastmod", "changefreq", "priority"})


def _entry(fields: dict[str, str], site: _Site) -> SitemapEntry | None:
    location = site.location(fields.get("loc", ""))
    if location is None:
        return None
    frequency = fields.get("changefreq", "").upper()
    return SitemapEntry(
        location,
        iso(w3c_date(fields.get("lastmod", ""))),
        frequency if frequency in _FREQUENCIES else None,
        _priority(fields.get("priority", "")),
    )


def _feed_entry(fields: dict[str, str], site: _Site) -> SitemapEntry | None:
    """Links of feeds may be relative; an RSS item without one may have its URL as guid."""
    location = (
        site.location(fields["loc"], relative=True) if fields.get("loc") else site.location(fields.get("guid", ""))
    )
    date = fields.get("date") or fields.get("first", "")
    return None if location is None else SitemapEntry(location, iso(feed_date(date)))


def _priority(text: str) -> float:
    if not re.fullmatch(r"(?:\d{1,3}(?:\.\d{0,9})?|\.\d{1,9})", text, re.ASCII):
        return 0.5
    value = float(text)
    return value if value <= 1 else 0.5


def locations(found: Sitemap) -> Iterator[str]:
    """All URLs and sitemaps that it names."""
    yield from (entry.loc for entry in (*found.sitemaps, *found.urls))
