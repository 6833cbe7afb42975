"""The boilerplate parse filter: a page's text without its menus, asides and footers, by resiliparse.

It comes with ``pip install 'nutchpy[boilerplate]'``.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Final, Self

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Content
from nutchpy.core.errors import PluginError
from nutchpy.core.parse import Parse
from nutchpy.plugins.parse.document import lines
from nutchpy.plugins.parse.guard import tamed
from nutchpy.plugins.parse.labels import decode

MISSING: Final = "htmlparsefilter.order: boilerplate needs resiliparse: pip install 'nutchpy[boilerplate]'"
IN_PLACE: Final = "text"


class BoilerplateFilter:
    """Puts the main text, if there is one, in the text's place, or into the parse metadata by the name ``into``."""

    def __init__(self, into: str = IN_PLACE, max_depth: int = 500) -> None:
        self._into = into
        self._max_depth = max_depth

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """By ``boilerplate.into``; PluginError when resiliparse is not installed."""
        if find_spec("resiliparse") is None:
            raise PluginError(MISSING)
        return cls(conf.text("boilerplate.into") or IN_PLACE, conf.integer("parser.html.max.depth"))

    def filter(self, content: Content, parse: Parse, soup: Any) -> Parse:
        """The Parse with the page's main text; documents that are not HTML are left alone."""
        if soup is None or parse.charset is None:
            return parse
        text = main_text(tamed(decode(content.content, parse.charset), self._max_depth))
        if not text:
            return parse
        if self._into == IN_PLACE:
            return replace(parse, text=text)
        return replace(parse, parse_meta={**parse.parse_meta, self._into: text})


def main_text(html: str) -> str:
    """A line per block."""
    from resiliparse.extract.html2text import extract_plain_text

    found = extract_plain_text(html, main_content=True, alt_texts=False, list_bullets=False)
    return lines(str(found).splitlines())
