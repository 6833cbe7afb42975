"""Parse: what a parser made of one page. Pure values shared by parsers, parse filters and the tables.

``ParseStatus`` names are Nutch's major/minor codes put into words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class ParseStatus(StrEnum):
    """How the parse of one page ended, as stored in ``parse_status``."""

    SUCCESS = "success"
    SUCCESS_REDIRECT = "success_redirect"
    """Parsed, and the page asks to go elsewhere by meta refresh."""
    NO_PARSER = "no_parser"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASHED = "crashed"
    TOO_DEEP = "too_deep"
    EXCEPTION = "exception"
    INVALID_FORMAT = "invalid_format"

    @property
    def ok(self) -> bool:
        """Whether text and links can be used."""
        return self in (ParseStatus.SUCCESS, ParseStatus.SUCCESS_REDIRECT)


class Outlink(NamedTuple):
    """A link found on a page, ``url`` absolute. ``tag`` is the element it came from, ``rel`` its lower-cased tokens.

    A tuple, since pages have hundreds: it is made four times as fast as a frozen dataclass.
    """

    url: str
    anchor: str = ""
    rel: str | None = None
    tag: str = "a"


@dataclass(frozen=True, slots=True)
class Parse:
    """One parsed page. Outlinks are raw: absolute, in page order, neither normalised nor filtered nor counted."""

    status: ParseStatus
    message: str = ""
    title: str = ""
    text: str = ""
    outlinks: Sequence[Outlink] = ()
    base: str | None = None
    """The URL links resolve against, after ``<base href>``."""
    canonical: str | None = None
    charset: str | None = None
    charset_reason: str | None = None
    """Where the charset came from: ``bom``, ``header``, ``meta``, ``utf8``, ``detected``, ``default``."""
    language: str | None = None
    robots: frozenset[str] = frozenset()
    """Directives in force for us, of meta robots and X-Robots-Tag: ``noindex``, ``nofollow``, ``noarchive``, …"""
    refresh: tuple[float, str] | None = None
    """Meta refresh as (seconds, absolute URL)."""
    meta: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Contents of the page's meta elements by lower-case name or property, in page order; for parse filters."""
    headings: tuple[tuple[str, str], ...] = ()
    """(``h1`` … ``h6``, text) in page order; for parse filters."""
    content_meta: Mapping[str, str] = field(default_factory=dict)
    parse_meta: Mapping[str, str] = field(default_factory=dict)
