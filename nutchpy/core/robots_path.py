"""Paths as robots.txt compares them: percent-encoding brought to one form, and wildcard patterns over it.

Each path and pattern has two spellings. *plain*: octets that need it are encoded, encoded unreserved characters
decoded, hex in upper case (RFC 9309 §2.2.2). *open*: also reserved characters decoded where they mean the same either
way (``:`` and ``%3A``; ``/`` and ``%2F`` in the query). A pattern matches when it does in either spelling.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_ESCAPE: Final = re.compile(rb"%[0-9A-Fa-f]{2}|[^!-~]|[\"<>\\^`{|}]")
_PLAIN: Final = re.compile(r"[!#&-)+-;=?-\[\]_a-z~]*").fullmatch
"""A path that is in every spelling as it stands; most are."""
_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_OPEN_IN_PATH: Final = re.compile("%(?:3A|40|21|27|28|29|2C|3B|3D|26|2B|5B|5D)")
_OPEN_IN_QUERY: Final = re.compile("%(?:3A|40|21|27|28|29|2C|3B|5B|5D|2F|3F)")
_PATH_START: Final = re.compile(r"[/?;]")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern cut at its wildcards. ``anchored``: it ended in ``$``."""

    first: str
    middle: tuple[str, ...]
    last: str | None
    """What follows the last ``*``; None when there is no ``*``."""
    anchored: bool

    def matches(self, path: str) -> bool:
        """Pieces are found one after the other, each as far left as it goes: exact, and linear."""
        if not path.startswith(self.first):
            return False
        if self.last is None:
            return not self.anchored or len(path) == len(self.first)
        at = len(self.first)
        for piece in self.middle:
            found = path.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        if self.anchored:
            return len(path) - len(self.last) >= at and path.endswith(self.last)
        return path.find(self.last, at) >= 0


@dataclass(frozen=True, slots=True)
class PathSpellings:
    """The path and query of a URL, in both spellings."""

    plain: str
    opened: str


@dataclass(frozen=True, slots=True)
class Spellings:
    """A pattern in both spellings."""

    plain: Pattern
    opened: Pattern

    def matches(self, path: PathSpellings) -> bool:
        """Whether the pattern matches from the start of the path."""
        if self.plain.matches(path.plain):
            return True
        same = self.plain is self.opened and path.plain is path.opened
        return not same and self.opened.matches(path.opened)


def spellings_of_path(url: str) -> PathSpellings:
    """Path, parameters and query of a URL, ``/`` when there is none, ready to be compared."""
    path = path_of(url)
    if _PLAIN(path):
        return PathSpellings(path, path)
    plain = _encode(path.encode("utf-8", "replace"))
    opened = _open(plain)
    literal = _literal(plain)
    return PathSpellings(literal, literal if opened == plain else _literal(opened))


def spellings_of_pattern(value: bytes) -> tuple[int, Spellings]:
    """The pattern's length in octets, and the pattern ready to match."""
    text = _encode(value)
    opened = _open(text)
    plain = _compile(text)
    return len(text), Spellings(plain, plain if opened == text else _compile(opened))


def path_of(url: str) -> str:
    """The part of a URL that rules look at; lenient about URLs without scheme or host."""
    start = 2 if url.startswith("//") else 0
    early = _PATH_START.search(url, start)
    protocol = url.find("://", start)
    if protocol >= 0 and (early is None or early.start() >= protocol):
        start = protocol + 3
    found = _PATH_START.search(url, start)
    fragment = url.find("#")
    if found is None or 0 <= fragment < found.start():
        return "/"
    path = url[found.start() : fragment if fragment >= 0 else None]
    return path if path[0] == "/" else "/" + path


def _encode(octets: bytes) -> str:
    return _ESCAPE.sub(_escape, octets).decode("ascii")


def _escape(match: re.Match[bytes]) -> bytes:
    octets = match[0]
    if len(octets) == 1:
        return b"%%%02X" % octets[0]
    value = int(octets[1:], 16)
    return bytes([value]) if value in _UNRESERVED else octets.upper()


def _open(text: str) -> str:
    if "%" not in text:
        return text
    path, mark, query = text.partition("?")
    return _OPEN_IN_PATH.sub(_unescape, path) + mark + _OPEN_IN_QUERY.sub(_unescape, query)


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[0][1:], 16))


def _literal(text: str) -> str:
    """``*`` and ``$`` of a URL as a pattern names them literally."""
    return text.replace("*", "%2A").replace("$", "%24")


def _compile(text: str) -> Pattern:
    anchored = text.endswith("$")
    pieces = (text[:-1] if anchored else text).replace("$", "%24").split("*")
    middle = tuple(piece for piece in pieces[1:-1] if piece)
    return Pattern(pieces[0], middle, pieces[-1] if len(pieces) > 1 else None, anchored)
