"""The slash URL normalizer: hosts whose pages get a trailing slash, or lose it, by Nutch's ``slashes.txt``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self

from nutchpy.plugins.rule_text import content_lines, line_error, table_host
from nutchpy.plugins.urlnormalizer.parts import Parts

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf

EXTENSION: Final = 6
"""A dot among this many last characters makes ``page.html`` a file, which gets no slash."""


class SlashURLNormalizer:
    """``rules`` maps hosts to whether their paths end in a slash. The root path always does."""

    def __init__(self, rules: Mapping[str, bool]) -> None:
        self._rules = dict(rules)

    @classmethod
    def from_text(cls, text: str, source: str) -> Self:
        """From lines of a host and ``+`` or ``-``."""
        rules: dict[str, bool] = {}
        for number, line in content_lines(text):
            words = line.split()
            if len(words) != 2 or words[1] not in ("+", "-"):
                raise line_error(source, number, f"a line is a host and + or -, not {line!r}")
            rules[table_host(words[0])] = words[1] == "+"
        return cls(rules)

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """From ``urlnormalizer.slashes.rules``, else the file ``urlnormalizer.slashes.file``."""
        rules = conf.rules("urlnormalizer.slashes.file", "urlnormalizer.slashes.rules")
        return cls.from_text(rules.text, rules.source)

    def normalize(self, url: str, scope: str) -> str | None:
        """The URL with its path ended as its host's rule says; None when it has no scheme."""
        parts = Parts.of(url)
        if parts is None:
            return None
        rule = self._rules.get((parts.host or "").lower())
        if rule is None or len(parts.path) < 2:
            return url
        return str(replace(parts, path=_with_slash(parts.path) if rule else parts.path.rstrip("/") or "/"))


def _with_slash(path: str) -> str:
    if path.endswith("/"):
        return path
    is_file = len(path) >= EXTENSION and "." in path[-EXTENSION:]
    return path if is_file else path + "/"
