"""Parsers and ParseFilters: who turns a body of some MIME type into a Parse, and who adds to it."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Final

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Content
from nutchpy.core.errors import ConfigError
from nutchpy.core.parse import Parse, ParseStatus
from nutchpy.extension.chains.guard import Chain, build
from nutchpy.extension.points import ParseFilter, Parser

_REMEMBERED: Final = 1_000
"""Types of which it is known who claims them; servers invent new ones."""


class Parsers(Chain):
    """The parsers of ``parse.order``; those that claim a type (``text/html``, ``text/*``, ``*``) are asked in order.

    ``parse.plugins`` says for types of its own which parsers have them: ``application/*+json=text``. A parser that
    answers *no parser* leaves the page to the next.
    """

    def __init__(self, conf: Conf) -> None:
        super().__init__(conf)
        self._parsers: list[tuple[str, Parser]] = build("parse", conf.words("parse.order"), conf)
        self._mapped = [_mapping(words) for words in conf.words("parse.plugins")]
        missing = {name for _, names in self._mapped for name in names} - {name for name, _ in self._parsers}
        if missing:
            raise ConfigError(f"parse.plugins: {', '.join(sorted(missing))} not in parse.order")
        self._known: dict[str, list[tuple[str, Parser]]] = {}

    def find(self, content_type: str) -> tuple[str, Parser] | None:
        """Name and parser asked first for a type, parameters such as charset put aside; None when nobody claims it."""
        return next(iter(self._claimants(content_type)), None)

    def parse(self, content: Content) -> Parse:
        """The page as its parser reads it; no parser, or one that raises, is a status."""
        refused: Parse | None = None
        for name, parser in self._claimants(content.content_type):
            try:
                parsed = parser.parse(content)
            except MemoryError:
                raise  # the process is at its limit: that is for its owner to tell
            except Exception as error:  # noqa: BLE001  a parser's fault costs this page
                self.failed(name, content.url, error)
                return Parse(ParseStatus.EXCEPTION, message=f"{name}: {type(error).__name__}: {error}")
            if parsed.status is not ParseStatus.NO_PARSER:
                return parsed
            refused = refused or parsed
        return refused or Parse(
            ParseStatus.NO_PARSER, message=f"no parser for {content.content_type or 'an unknown type'}"
        )

    def _claimants(self, content_type: str) -> list[tuple[str, Parser]]:
        mime = content_type.partition(";")[0].strip().lower()
        found = self._known.get(mime)
        if found is None:
            found = self._claiming(mime)
            if len(self._known) < _REMEMBERED:
                self._known[mime] = found
        return found

    def _claiming(self, mime: str) -> list[tuple[str, Parser]]:
        for pattern, names in self._mapped:
            if fnmatchcase(mime, pattern):
                built = dict(self._parsers)
                return [(name, built[name]) for name in names]
        return [pair for pair in self._parsers if any(fnmatchcase(mime, claim) for claim in pair[1].mime_types)]


def _mapping(words: str) -> tuple[str, list[str]]:
    """``text/*=html,text`` taken apart; no name behind the mark means that nobody parses the type."""
    pattern, mark, names = words.partition("=")
    if not mark or "/" not in pattern:
        raise ConfigError(f"parse.plugins: {words!r} is not a MIME type, = and names of parsers")
    return pattern.strip().lower(), [name.strip() for name in names.split(",") if name.strip()]


class ParseFilters(Chain):
    """The parse filters of ``htmlparsefilter.order``, each handed the Parse the one before made."""

    def __init__(self, conf: Conf) -> None:
        super().__init__(conf)
        self._filters: list[tuple[str, ParseFilter]] = build("parsefilter", conf.words("htmlparsefilter.order"), conf)

    def __bool__(self) -> bool:
        return bool(self._filters)

    def filter(self, content: Content, parse: Parse, soup: Any) -> Parse:
        """The Parse after all filters; ``soup()`` gives a BeautifulSoup of an HTML page."""
        for name, plugin in self._filters:
            try:
                parse = plugin.filter(content, parse, soup)
            except MemoryError:
                raise
            except Exception as error:  # noqa: BLE001  a plugin's fault costs its addition to this page
                self.failed(name, content.url, error)
        return parse
