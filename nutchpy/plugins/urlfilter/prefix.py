"""The prefix URL filter: accepts what begins with one of the listed texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from nutchpy.core.errors import ConfigError
from nutchpy.plugins.rule_text import numbered_lines

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf


class PrefixURLFilter:
    """Refuses as ``unlisted``."""

    def __init__(self, prefixes: tuple[str, ...]) -> None:
        self._prefixes = prefixes

    @classmethod
    def from_text(cls, text: str, source: str) -> Self:
        """From a list, one a line, taken as they stand; lines that begin with a space or ``#`` are not."""
        prefixes = [line for _, line in numbered_lines(text) if line[:1] not in ("", " ", "#")]
        if not prefixes:
            raise ConfigError(f"{source}: lists no prefix, so that every URL would be refused")
        return cls(tuple(dict.fromkeys(prefixes)))

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """From ``urlfilter.prefix.rules``, else the file ``urlfilter.prefix.file``."""
        rules = conf.rules("urlfilter.prefix.file", "urlfilter.prefix.rules")
        return cls.from_text(rules.text, rules.source)

    def reject(self, url: str) -> str | None:
        """None when the URL begins with a listed text."""
        return None if url.startswith(self._prefixes) else "unlisted"
