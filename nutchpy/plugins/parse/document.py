"""What the parsers of documents that are not HTML share: bytes to text, whom robots directives mean, white space."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from itertools import islice
from typing import Final, Self

from nutchpy.conf.layers import Conf
from nutchpy.core import robots_directives
from nutchpy.core.content import Content, combined, header
from nutchpy.core.outlinks import Outlinks
from nutchpy.core.parse import Outlink, Parse, ParseStatus
from nutchpy.core.urls import CRAWLABLE_SCHEMES, Resolver
from nutchpy.plugins.parse import labels
from nutchpy.plugins.parse.charset import charset
from nutchpy.plugins.parse.html import agent_names, default_charset

MOST_LINKS: Final = 50_000
LONGEST_LINK: Final = 8_192
LONGEST_TITLE: Final = 1_000
_SCHEMES: Final = tuple(f"{scheme}:" for scheme in CRAWLABLE_SCHEMES)
_TAG: Final = re.compile(r"<[/!?A-Za-z][^<>]*>")

Reference = tuple[str, str, str]
"""A link as written, its anchor, and the element it came from."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A body as text."""

    text: str
    charset: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """How bodies become texts and Parses."""

    default_charset: str = "windows-1252"
    agents: tuple[str, ...] = ()

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """By the default charset and the agent's names of the settings."""
        return cls(default_charset(conf), agent_names(conf))

    def decode(self, content: Content, mime: str | None = None) -> Decoded:
        """The body in the encoding that it says, or has."""
        sent = combined(content.headers, "content-type")
        name, reason = charset(sent, content.content, mime or content.content_type, self.default_charset)
        return Decoded(labels.decode(content.content, name), name, reason)

    def parse(
        self,
        content: Content,
        decoded: Decoded | None = None,
        *,
        title: str = "",
        text: str = "",
        links: Iterable[Reference] = (),
        language: str | None = None,
    ) -> Parse:
        """The Parse of a document; links are resolved when read, those that lead nowhere left out."""
        found = robots_directives.from_headers(content.headers, self.agents)
        return Parse(
            status=ParseStatus.SUCCESS,
            title=squeezed(title)[:LONGEST_TITLE],
            text=text,
            outlinks=Outlinks.of(_resolved(content.base_url, links)),
            base=content.base_url,
            charset=decoded.charset if decoded else None,
            charset_reason=decoded.reason if decoded else None,
            language=language or header(content.headers, "content-language"),
            robots=found.at(int(content.fetch_time.timestamp())),
        )


def not_mine(why: str) -> Parse:
    """Another parser may have a try."""
    return Parse(ParseStatus.NO_PARSER, message=why)


def damaged(why: str) -> Parse:
    """The document cannot be read."""
    return Parse(ParseStatus.INVALID_FORMAT, message=why)


def squeezed(text: str) -> str:
    """White space as single blanks."""
    return " ".join(text.split())


def untagged(text: str) -> str:
    """The text of a fragment of HTML, roughly: tags are blanks."""
    return squeezed(unescape(_TAG.sub(" ", text)) if "<" in text or "&" in text else text)


def lines(pieces: Iterable[str]) -> str:
    """Those that hold anything, a line each."""
    return "\n".join(filter(None, map(squeezed, pieces)))


def _resolved(base: str, links: Iterable[Reference]) -> Iterator[Outlink]:
    resolve = Resolver(base)
    for reference, anchor, tag in islice(links, MOST_LINKS):
        reference = reference.strip()
        url = resolve(reference) if reference and len(reference) <= LONGEST_LINK else None
        if url is not None and url.startswith(_SCHEMES):
            yield Outlink(url, squeezed(anchor), None, tag)
