"""``<meta http-equiv=refresh>`` by the HTML standard's *shared declarative refresh steps*."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from nutchpy.core import urls

_SPACE: Final = r"[\t\n\f\r ]*"
_TIME: Final = re.compile(_SPACE + r"([0-9]*)(\.?)[0-9.]*")
_SEPARATOR: Final = re.compile(rf"(?:[\t\n\f\r ]+[;,]?|[;,]){_SPACE}")
_KEYWORD: Final = re.compile(rf"url{_SPACE}={_SPACE}", re.IGNORECASE)
_NOT_QUOTED: Final = re.compile("ur?l?", re.IGNORECASE)
_LONGEST: Final = 9
"""Digits of a time that are read; longer ones mean a page that never leaves."""


def parse(content: str) -> tuple[float, str | None] | None:
    """Seconds and the reference as written (None: the page itself); None when this is no refresh."""
    time = _TIME.match(content)
    if time is None or not (time[1] or time[2]):
        return None
    seconds = float(time[1][:_LONGEST] or 0)
    if time.end() == len(content):
        return seconds, None
    separator = _SEPARATOR.match(content, time.end())
    if separator is None:
        return None
    rest = content[separator.end() :]
    return seconds, _reference(rest) if rest else None


def meta_refresh(
    content: str, page: str, base: str | None = None, encoded: Callable[[str], str] = str
) -> tuple[float, str] | None:
    """Seconds and absolute target; the reference resolves against ``base`` (the page when None).

    ``encoded`` rewrites a reference for the page's charset. A script is no target, as the standard says.
    """
    found = parse(content)
    if found is None:
        return None
    seconds, reference = found
    target = page if reference is None else urls.resolve(base or page, encoded(reference))
    return None if target is None or target.startswith("javascript:") else (seconds, target)


def _reference(text: str) -> str:
    """What stands behind ``url=``; without it, or when only begun (``ur foo``), the text itself."""
    keyword = _KEYWORD.match(text)
    if keyword:
        text = text[keyword.end() :]
    elif _NOT_QUOTED.match(text):
        return text
    quote = text[:1]
    return text[1:].partition(quote)[0] if quote in ("'", '"') else text
