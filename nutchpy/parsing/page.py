"""One page: its body in, all that the parse tables and the crawldb are told of it out.

Parser by MIME type, parse filters, robots directives, outlinks, signature. Runs in a worker process; total but for
MemoryError, which the worker reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Content
from nutchpy.core.counters import Counters
from nutchpy.core.parse import Outlink, Parse, ParseStatus
from nutchpy.extension.chains import PageSignature, ParseFilters, Parsers
from nutchpy.parsing.outlinks import Kept, Link, OutlinkRules, count


@dataclass(frozen=True, slots=True)
class PageInput:
    """A page to be parsed: its body, and what its crawldb row says that links inherit."""

    content: Content
    score: float = 0.0
    depth: int = 0


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """What parsing made of a page; ``rows.tables`` makes table rows of many."""

    url: str
    status: ParseStatus
    message: str = ""
    title: str = ""
    text: str = ""
    outlinks: Sequence[Outlink] = ()
    """Kept ones, normalised, in page order."""
    charset: str | None = None
    language: str | None = None
    content_meta: Mapping[str, str] = field(default_factory=dict)
    parse_meta: Mapping[str, str] = field(default_factory=dict)
    signature: bytes | None = None
    """None: the crawldb is to hear nothing of this page."""
    links: Sequence[Link] = ()
    """For the crawldb: the outlinks with their scores, and the target of a refresh."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """For the crawldb: ``db.parsemeta.to.crawldb``."""


class PageParser:
    """Parses pages by the settings. ``counters`` grow until ``take_counters``."""

    def __init__(self, conf: Conf) -> None:
        self._parsers = Parsers.from_conf(conf)
        self._filters = ParseFilters.from_conf(conf)
        self._rules = OutlinkRules(conf)
        self._signature = PageSignature.from_conf(conf)
        self._skip_truncated = conf.flag("parser.skip.truncated")
        self._metadata_keys = conf.words("db.parsemeta.to.crawldb")
        self._counters = Counters()

    def parse(self, page: PageInput) -> ParsedPage:
        """The page parsed, or why it was not."""
        content = page.content
        if content.truncated and self._skip_truncated:
            return self._counted(ParsedPage(content.url, ParseStatus.TRUNCATED, f"truncated: {content.truncated}"))
        if not content.content:
            return self.failed(page, ParseStatus.EMPTY)
        parse = self._parsers.parse(content)
        if not parse.status.ok:
            return self.failed(page, parse.status, parse.message)
        if self._filters:
            parse = self._filters.filter(content, parse, self._soup(content))
        return self._counted(self._finished(page, parse))

    def failed(self, page: PageInput, status: ParseStatus, message: str = "") -> ParsedPage:
        """A page that could not be parsed: still fetched, so its content has a signature."""
        fingerprint = self._signature.calculate(page.content, None)
        return self._counted(ParsedPage(page.content.url, status, message, signature=fingerprint))

    def take_counters(self) -> Counters:
        """What was counted since the last call, plugin errors included."""
        counters, self._counters = self._counters, Counters()
        for chain in (self._parsers, self._filters, self._signature, *self._rules.chains):
            counters += chain.take_errors()
        return counters

    def _soup(self, content: Content) -> Callable[[], Any] | None:
        """Makes the BeautifulSoup that filters may ask for, once; None when the parser has none."""
        found = self._parsers.find(content.content_type)
        maker = getattr(found[1], "soup", None) if found else None
        return cache(lambda: maker(content)) if maker is not None else None

    def _finished(self, page: PageInput, parse: Parse) -> ParsedPage:
        """Robots directives applied, outlinks kept, what else is said of the page put together."""
        content = page.content
        indexed, followed = "noindex" not in parse.robots, "nofollow" not in parse.robots
        kept = self._rules.keep(content.url, parse.outlinks if followed else ())
        links = self._links(page, parse, kept)
        count(kept, self._counters)
        return ParsedPage(
            url=content.url,
            status=parse.status,
            message=parse.message,
            title=parse.title if indexed else "",
            text=parse.text if indexed else "",
            outlinks=kept.outlinks,
            charset=parse.charset,
            language=parse.language,
            content_meta={**parse.content_meta, **_content_meta(content, parse)},
            parse_meta={**_parse_meta(parse), **parse.parse_meta},
            signature=self._signature.calculate(content, parse),
            links=links,
            metadata={key: parse.parse_meta[key] for key in self._metadata_keys if key in parse.parse_meta},
        )

    def _links(self, page: PageInput, parse: Parse, kept: Kept) -> list[Link]:
        url = page.content.url
        links = self._rules.shares(url, page.score, page.depth, kept, lambda: len(parse.outlinks))
        if parse.refresh is not None:
            target = self._rules.target(url, parse.refresh[1])
            if target.reason is None:
                links.append(Link(target.url, target.host, page.score, page.depth))
            else:
                kept.dropped[target.reason] += 1
        return links

    def _counted(self, parsed: ParsedPage) -> ParsedPage:
        self._counters.add(f"parsed:{parsed.status}")
        return parsed


def _content_meta(content: Content, parse: Parse) -> dict[str, str]:
    found = {"content_type": content.content_type}
    if parse.charset_reason:
        found["charset_reason"] = parse.charset_reason
    return found


def _parse_meta(parse: Parse) -> dict[str, str]:
    """What the parser found that has no column of its own."""
    found: dict[str, str] = {}
    if parse.robots:
        found["robots"] = ",".join(sorted(parse.robots))
    if parse.canonical:
        found["canonical"] = parse.canonical
    if parse.refresh:
        found["refresh"] = f"{parse.refresh[0]:g}; {parse.refresh[1]}"
    return found
