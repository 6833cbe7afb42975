"""The plain text parser: the text as it is, and the URLs that stand in it as outlinks (Nutch's OutlinkExtractor)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final, Self

from nutchpy.conf.layers import Conf
from nutchpy.core import robots_directives
from nutchpy.core.content import Content, combined, header
from nutchpy.core.outlinks import Outlinks
from nutchpy.core.parse import Outlink, Parse, ParseStatus
from nutchpy.core.urls import resolve
from nutchpy.plugins.parse import labels
from nutchpy.plugins.parse.charset import charset
from nutchpy.plugins.parse.html import agent_names, default_charset

MAX_LINKS: Final = 10_000
_URL: Final = re.compile(r"(?<![A-Za-z0-9+.\-])(?:https?|ftp)://[^\s<>\"'`{}|\\^\x00-\x20]{1,2000}", re.IGNORECASE)
_TRAILING: Final = ".,;:!?*_~"
_PAIRS: Final = {")": "(", "]": "["}


class TextParser:
    """Parses plain text."""

    mime_types: ClassVar[tuple[str, ...]] = (
        "text/plain",
        "text/markdown",
        "text/x-markdown",
        "text/csv",
        "text/tab-separated-values",
        "text/x-rst",
    )

    def __init__(self, default_charset: str = "windows-1252", agents: tuple[str, ...] = ()) -> None:
        self._default = default_charset
        self._agents = agents

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """The parser with the default charset and the agent's names of the settings."""
        return cls(default_charset(conf), agent_names(conf))

    def parse(self, content: Content) -> Parse:
        """The text, its line ends made one kind, and its URLs."""
        sent = combined(content.headers, "content-type")
        encoding, reason = charset(sent, content.content, content.content_type, self._default)
        text = labels.decode(content.content, encoding).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
        robots = robots_directives.from_headers(content.headers, self._agents)
        return Parse(
            status=ParseStatus.SUCCESS,
            text=text.strip(),
            outlinks=Outlinks.of(_links(text)),
            base=content.base_url,
            charset=encoding,
            charset_reason=reason,
            language=header(content.headers, "content-language"),
            robots=robots.at(int(content.fetch_time.timestamp())),
        )


def urls_in(text: str) -> Iterator[str]:
    """Each absolute URL that stands in a text, the punctuation of the sentence around it left out."""
    for number, match in enumerate(_URL.finditer(text)):
        if number >= MAX_LINKS:
            return
        url = resolve(_trimmed(match[0]), "")
        if url is not None:
            yield url


def _links(text: str) -> Iterator[Outlink]:
    return (Outlink(url, "", None, "text") for url in urls_in(text))


def _trimmed(url: str) -> str:
    """Without trailing punctuation, and without a closing bracket that opened outside."""
    while url and (url[-1] in _TRAILING or (url[-1] in _PAIRS and url.count(url[-1]) > url.count(_PAIRS[url[-1]]))):
        url = url[:-1]
    return url
