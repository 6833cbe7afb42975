"""The suffix URL filter: refuses (``+``) or accepts (``-``) what ends in one of the listed texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from nutchpy.core.errors import ConfigError
from nutchpy.plugins.rule_text import content_lines

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf


class SuffixURLFilter:
    """Refuses as ``suffix`` (a listed one) or ``unlisted``.

    ``accept_others`` is the fate of what ends in none of the suffixes; the listed ones have the other. ``path_only``
    looks at the path, so that ``/a.gif?x`` ends in ``.gif`` and ``http://a.com`` does not end in ``.com``.
    """

    def __init__(
        self, suffixes: tuple[str, ...], *, accept_others: bool, ignore_case: bool = False, path_only: bool = False
    ) -> None:
        self._suffixes = tuple(suffix.lower() for suffix in suffixes) if ignore_case else suffixes
        self._listed = "suffix" if accept_others else None
        self._others = None if accept_others else "unlisted"
        self._ignore_case = ignore_case
        self._path_only = path_only

    @classmethod
    def from_text(cls, text: str, source: str) -> Self:
        """From a list. ``+`` or ``-`` begin a line with the mode; in it ``I`` ignores case, ``P`` takes the path."""
        lines = [line for _, line in content_lines(text)]
        suffixes = tuple(dict.fromkeys(line for line in lines if line[0] not in "+-"))
        modes = [line for line in lines if line[0] in "+-"]
        accept_others = bool(modes) and modes[-1][0] == "+"
        if not suffixes and not accept_others:
            raise ConfigError(f"{source}: lists no suffix to accept, so that every URL would be refused")
        return cls(
            suffixes,
            accept_others=accept_others,
            ignore_case=any("I" in mode for mode in modes),
            path_only=any("P" in mode for mode in modes),
        )

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """From ``urlfilter.suffix.rules``, else the file ``urlfilter.suffix.file``."""
        rules = conf.rules("urlfilter.suffix.file", "urlfilter.suffix.rules")
        return cls.from_text(rules.text, rules.source)

    def reject(self, url: str) -> str | None:
        """None to accept."""
        text = _path(url) if self._path_only else url
        ends = (text.lower() if self._ignore_case else text).endswith(self._suffixes)
        return self._listed if ends else self._others


def _path(url: str) -> str:
    """The path of a URL with a scheme and authority; other texts as they are, like Nutch."""
    scheme, colon, rest = url.partition(":")
    if not colon or not scheme.isalnum():
        return url
    rest = rest.partition("#")[0].partition("?")[0]
    if not rest.startswith("//"):
        return rest
    _, slash, path = rest[2:].partition("/")
    return slash + path
