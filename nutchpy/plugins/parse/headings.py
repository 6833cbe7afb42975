"""The headings parse filter: texts of chosen heading elements, by tag name, in the parse metadata."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Content
from nutchpy.core.parse import Parse
from nutchpy.plugins.parse.metatags import SEPARATOR


class HeadingsFilter:
    """Keeps the headings of ``headings``: the first of each tag, or all by ``headings.multivalued``."""

    def __init__(self, tags: Iterable[str], *, multivalued: bool = False) -> None:
        self._tags = [tag.strip().lower() for tag in tags]
        self._multivalued = multivalued

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """The filter for the tags that the settings list."""
        return cls(conf.words("headings"), multivalued=conf.flag("headings.multivalued"))

    def filter(self, content: Content, parse: Parse, soup: Any) -> Parse:
        """Add the texts of the page's headings, empty ones left out."""
        kept: dict[str, str] = {}
        for tag in self._tags:
            texts = [text for name, text in parse.headings if name == tag and text]
            if texts:
                kept[tag] = SEPARATOR.join(texts if self._multivalued else texts[:1])
        return replace(parse, parse_meta={**parse.parse_meta, **kept}) if kept else parse
