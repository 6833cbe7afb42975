"""The metatags parse filter: contents of chosen meta elements as ``metatag.<name>`` in the parse metadata."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, Self

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Content
from nutchpy.core.parse import Parse

SEPARATOR: Final = "\t"
"""Between several contents of one name."""


class MetatagsFilter:
    """Keeps the meta elements of ``metatags.names``; ``*`` keeps all."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name.strip().lower() for name in names)

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """The filter for the names that the settings list."""
        return cls(conf.words("metatags.names"))

    def filter(self, content: Content, parse: Parse, soup: Any) -> Parse:
        """Add what the page has of the chosen names (name or property, as in ``og:title``)."""
        kept = {
            f"metatag.{name}": SEPARATOR.join(" ".join(text.split()) for text in contents)
            for name, contents in parse.meta.items()
            if name in self._names or "*" in self._names
        }
        return replace(parse, parse_meta={**parse.parse_meta, **kept}) if kept else parse
