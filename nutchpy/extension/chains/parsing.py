"""Parsers and ParseFilters: who turns a body of some MIME type into a Parse, and who adds to it."""

from __future__ import annotations

from typing import Any

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Content
from nutchpy.core.parse import Parse, ParseStatus
from nutchpy.extension.chains.guard import Chain, build
from nutchpy.extension.points import ParseFilter, Parser


class Parsers(Chain):
    """The parsers of ``parse.order``; the first that claims a type (``text/html``, ``text/*``, ``*``) has it."""

    def __init__(self, conf: Conf) -> None:
        super().__init__(conf)
        self._parsers: list[tuple[str, Parser]] = build("parse", conf.words("parse.order"), conf)

    def find(self, content_type: str) -> tuple[str, Parser] | None:
        """Name and parser for a type, parameters such as charset put aside; None when nobody claims it."""
        mime = content_type.partition(";")[0].strip().lower()
        claims = {mime, f"{mime.partition('/')[0]}/*", "*", "*/*"}
        return next((pair for pair in self._parsers if not claims.isdisjoint(pair[1].mime_types)), None)

    def parse(self, content: Content) -> Parse:
        """The page as its parser reads it; no parser, or one that raises, is a status."""
        found = self.find(content.content_type)
        if found is None:
            return Parse(ParseStatus.NO_PARSER, message=f"no parser for {content.content_type or 'an unknown type'}")
        name, parser = found
        try:
            return parser.parse(content)
        except MemoryError:
            raise  # the process is at its limit: that is for its owner to tell
        except Exception as error:  # noqa: BLE001  a parser's fault costs this page
            self.failed(name, content.url, error)
            return Parse(ParseStatus.EXCEPTION, message=f"{name}: {type(error).__name__}: {error}")


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
