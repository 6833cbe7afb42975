"""Sets of characters as Java's regular expressions name them, kept as sorted ranges, and written as Python classes.

Knows Java's predefined classes and properties; java_regex.py parses the expressions that use them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

Ranges = tuple[tuple[int, int], ...]
"""Sorted, disjoint, not touching; both ends belong to a range."""

LAST: Final = 0x10FFFF
EVERYTHING: Final[Ranges] = ((0, LAST),)


def ranges(pairs: Iterable[tuple[int, int]]) -> Ranges:
    """Any pairs, sorted and joined where they touch."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(pairs):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return tuple(joined)


def of(text: str) -> Ranges:
    """The characters of a text."""
    return ranges((ord(char), ord(char)) for char in text)


def complement(given: Ranges) -> Ranges:
    """All characters not in the set."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high in given:
        if low > start:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        gaps.append((start, LAST))
    return tuple(gaps)


def union(*sets: Ranges) -> Ranges:
    """Characters in any of the sets."""
    return ranges(pair for given in sets for pair in given)


def intersection(one: Ranges, other: Ranges) -> Ranges:
    """Characters in both sets."""
    return complement(union(complement(one), complement(other)))


def both_cases(given: Ranges) -> Ranges:
    """The set with the other case of each of its ASCII letters: what Java's ``(?i)`` means without ``(?u)``."""
    upper = intersection(given, ((0x41, 0x5A),))
    lower = intersection(given, ((0x61, 0x7A),))
    moved = [(low + 32, high + 32) for low, high in upper] + [(low - 32, high - 32) for low, high in lower]
    return union(given, ranges(moved))


DIGIT: Final = ranges([(0x30, 0x39)])
ALPHA: Final = ranges([(0x41, 0x5A), (0x61, 0x7A)])
WORD: Final = union(DIGIT, ALPHA, of("_"))
SPACE: Final = of(" \t\n\x0b\f\r")
HORIZONTAL: Final = union(of(" \t\xa0\u1680\u180e\u202f\u205f\u3000"), ranges([(0x2000, 0x200A)]))
VERTICAL: Final = of("\n\x0b\f\r\x85\u2028\u2029")
_PUNCT: Final = ranges([(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)])

PREDEFINED: Final[dict[str, Ranges]] = {"d": DIGIT, "w": WORD, "s": SPACE, "h": HORIZONTAL, "v": VERTICAL}
"""``\\d`` and its like; the capital letter is the complement."""

_POSIX: Final[dict[str, Ranges]] = {
    "Lower": ranges([(0x61, 0x7A)]),
    "Upper": ranges([(0x41, 0x5A)]),
    "ASCII": ranges([(0, 0x7F)]),
    "Alpha": ALPHA,
    "Digit": DIGIT,
    "Alnum": union(ALPHA, DIGIT),
    "Punct": _PUNCT,
    "Graph": union(ALPHA, DIGIT, _PUNCT),
    "Print": union(ALPHA, DIGIT, _PUNCT, of(" ")),
    "Blank": of(" \t"),
    "Cntrl": ranges([(0, 0x1F), (0x7F, 0x7F)]),
    "XDigit": union(DIGIT, ranges([(0x41, 0x46), (0x61, 0x66)])),
    "Space": SPACE,
}
_BINARY: Final = {"Alphabetic": ("L", "Nl"), "Letter": ("L",), "Uppercase": ("Lu",), "Lowercase": ("Ll",)}
_MINOR: Final = {"C": "cfnos", "L": "lmotu", "M": "cen", "N": "dlo", "P": "cdefios", "S": "ckmo", "Z": "lps"}
_CATEGORIES: Final = frozenset(major + minor for major, minors in _MINOR.items() for minor in ("", *minors))


def property_set(name: str) -> Ranges | None:
    """The set of ``\\p{name}``: POSIX classes, general categories, a few binary properties; None for others."""
    if name in _POSIX:
        return _POSIX[name]
    bare = name.removeprefix("general_category=").removeprefix("gc=").removeprefix("Is")
    if bare in _CATEGORIES:
        return _category((bare,))
    return _category(_BINARY[bare]) if name.startswith("Is") and bare in _BINARY else None


@lru_cache(maxsize=64)
def _category(prefixes: tuple[str, ...]) -> Ranges:
    category = unicodedata.category
    return ranges((point, point) for point in range(LAST + 1) if category(chr(point)).startswith(prefixes))


def python_class(given: Ranges) -> str:
    """The set as Python's ``re`` writes it: a character, ``[…]`` or ``[^…]``, whichever is shorter."""
    if len(given) == 1 and given[0][0] == given[0][1]:
        return escaped(given[0][0])
    if not given:
        return "(?!)"
    outside = complement(given)
    if not outside:
        return r"[\x00-\U0010ffff]"
    if len(outside) < len(given):
        return f"[^{_items(outside)}]"
    return f"[{_items(given)}]"


def _items(given: Ranges) -> str:
    return "".join(escaped(low) if low == high else f"{escaped(low)}-{escaped(high)}" for low, high in given)


def escaped(point: int) -> str:
    """One character, right inside and outside of a class."""
    char = chr(point)
    if char.isascii() and char.isprintable():
        return char if char.isalnum() else re.escape(char) if char in r".^$*+?{}[]\|()-&~#" else char
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
