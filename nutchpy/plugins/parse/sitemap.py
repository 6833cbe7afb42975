"""The sitemap parser: sitemaps and their indexes met in a crawl; what they list is their outlinks."""

from __future__ import annotations

from typing import ClassVar, Final, Self

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Content
from nutchpy.core.parse import Parse
from nutchpy.core.sitemap import sitemap
from nutchpy.plugins.parse.document import Reading, not_mine

_GZIP: Final = ("application/gzip", "application/x-gzip")


class SitemapParser:
    """Parses sitemaps of XML, gzipped ones too, and gzipped lists of URLs; other documents are left to others."""

    mime_types: ClassVar[tuple[str, ...]] = ("application/xml", "text/xml", *_GZIP)

    def __init__(self, reading: Reading | None = None, strict: bool = True) -> None:
        self._reading = reading or Reading()
        self._strict = strict

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """The parser with the location rule as ``parser.sitemap.strict`` has it."""
        return cls(Reading.from_conf(conf), conf.flag("parser.sitemap.strict"))

    def parse(self, content: Content) -> Parse:
        """No text: nobody searches for a list of URLs."""
        found = sitemap(content.content, content.url, self._strict)
        kinds = ("XML", "INDEX", "TEXT") if content.content_type in _GZIP else ("XML", "INDEX")
        if found.type not in kinds:
            return not_mine(found.problem or "no sitemap")
        listed = [(entry.loc, "", "sitemap") for entry in found.sitemaps]
        listed += [(entry.loc, "", "url") for entry in found.urls]
        return self._reading.parse(content, links=listed)
