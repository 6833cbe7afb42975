"""What every match of an expression has: texts in it, texts it begins with, a greatest width, slashes.

Read from the tree; regex_search.py asks for these before it searches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from nutchpy.core import java_charset as charset
from nutchpy.core.java_charset import Ranges
from nutchpy.core.java_tree import UNBOUNDED, Alt, At, Chars, Dot, Group, Look, Node, Ref, Repeat, Seq

MANY: Final = 32
"""Texts asked for at most; more would cost more than the search."""


@dataclass(frozen=True, slots=True)
class Needs:
    """Of any match: all texts it can be (None when they are many), and texts one of which is in it (None: unknown)."""

    exact: frozenset[str] | None
    within: frozenset[str] | None


_NOTHING: Final = Needs(frozenset([""]), None)
_UNKNOWN: Final = Needs(None, None)


def needed(node: Node) -> frozenset[str] | None:
    """Texts in lower case, one of which is in every text (in lower case) that the expression matches; None: unknown."""
    needs = _needs(node, str.lower)
    return _better(needs.within, needs.exact)


def _needs(node: Node, fold: Callable[[str], str]) -> Needs:
    match node:
        case Chars(ranges):
            return _needs_of_chars(ranges, fold)
        case Seq(items):
            return _needs_of_sequence(items, fold)
        case Alt(items):
            return _needs_of_choice([_needs(item, fold) for item in items])
        case Group(item):
            return _needs(item, fold)
        case Repeat(item, low, high):
            inner = _needs(item, fold)
            return inner if low == high == 1 else Needs(None, _better(inner.within, inner.exact) if low else None)
        case Look():
            return _needs(node.item, fold) if node.atomic else _NOTHING
        case At():
            return _NOTHING
        case Dot() | Ref():
            return _UNKNOWN


def _needs_of_chars(ranges: Iterable[tuple[int, int]], fold: Callable[[str], str]) -> Needs:
    pairs = tuple(ranges)
    if sum(high - low + 1 for low, high in pairs) > MANY:
        return _UNKNOWN
    chars = frozenset(fold(chr(point)) for low, high in pairs for point in range(low, high + 1))
    return Needs(chars, chars) if chars else _UNKNOWN


def _needs_of_sequence(items: Iterable[Node], fold: Callable[[str], str]) -> Needs:
    run: frozenset[str] = frozenset([""])
    within: frozenset[str] | None = None
    whole = True
    for item in items:
        needs = _needs(item, fold)
        longer = _product(run, needs.exact)
        if longer is not None:
            run = longer
            continue
        whole = False
        within = _better(_better(within, run), needs.within)
        run = needs.exact if needs.exact is not None else frozenset([""])
    return Needs(run if whole else None, _better(within, run))


def _needs_of_choice(choices: list[Needs]) -> Needs:
    exact: set[str] | None = set()
    within: set[str] | None = set()
    for choice in choices:
        exact = exact | choice.exact if exact is not None and choice.exact is not None else None
        best = _better(choice.within, choice.exact)
        within = within | best if within is not None and best is not None else None
    return Needs(_few(exact), _few(within))


def _few(texts: set[str] | None) -> frozenset[str] | None:
    return frozenset(texts) if texts is not None and len(texts) <= MANY else None


def _product(run: frozenset[str], more: frozenset[str] | None) -> frozenset[str] | None:
    if more is None or len(run) * len(more) > MANY:
        return None
    return frozenset(one + other for one in run for other in more)


def _better(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    """Of two sets of needed texts the more telling; one with the empty text says nothing."""
    sets = [_fewest(texts) for texts in (one, other) if texts and "" not in texts]
    return max(sets, key=lambda texts: (min(map(len, texts)), -len(texts)), default=None)


def _fewest(texts: frozenset[str]) -> frozenset[str]:
    """Without those that contain another."""
    return frozenset(text for text in texts if not any(part in text for part in texts if part != text))


def width(node: Node) -> int | None:
    """The most characters a match takes; None when there is no such number, or it depends on what stands before."""
    match node:
        case Chars() | Dot():
            return 1
        case At():
            return 0
        case Group(item):
            return width(item)
        case Seq(items):
            widths = [width(item) for item in items]
            return None if None in widths else sum(filter(None, widths))
        case Alt(items):
            widths = [width(item) for item in items]
            return None if None in widths else max(filter(None, widths), default=0)
        case Repeat(item, _, high):
            inner = width(item)
            return None if inner is None or high == UNBOUNDED else inner * high
        case Look() | Ref():
            return None


def may_be_empty(node: Node) -> bool:
    """Whether a match may take no character."""
    match node:
        case Chars() | Dot():
            return False
        case Seq(items):
            return all(map(may_be_empty, items))
        case Alt(items):
            return any(map(may_be_empty, items))
        case Repeat(item, low):
            return low == 0 or may_be_empty(item)
        case Group(item):
            return may_be_empty(item)
        case Look():
            return not node.atomic or may_be_empty(node.item)
        case At() | Ref():
            return True


def least(node: Node, char: str) -> int:
    """How often ``char`` stands in any match, at least."""
    groups: dict[int, int] = {}

    def count(node: Node) -> int:
        match node:
            case Chars():
                return node.single == char
            case Seq(items):
                return sum(map(count, items))
            case Alt(items):
                return min(map(count, items))
            case Repeat(item, low):
                return low * count(item)
            case Group(item, index):
                groups[index] = count(item)
                return groups[index]
            case Ref(index):
                return groups.get(index, 0)
            case _:
                return 0

    return count(node)


def beginnings(node: Node) -> tuple[str, ...]:
    """The texts one of which follows the ``^`` that the expression begins with; none when they are not known."""
    exact: frozenset[str] | None = frozenset([""])
    for item in node.items[1:] if isinstance(node, Seq) else ():
        more = _needs(item, str).exact
        longer = _product(exact, more) if exact is not None else None
        if longer is None:
            break
        exact = longer
    return tuple(sorted(exact)) if exact and "" not in exact else ()


def endings(node: Node) -> Ranges:
    """The characters one of which every match ends in, when they are few; empty when that is not known."""
    given = _last(node)
    return given if given and sum(high - low + 1 for low, high in given) <= 2 * MANY else ()


def _last(node: Node) -> Ranges | None:
    """None where a match may end in anything, or in nothing."""
    match node:
        case Chars(ranges):
            return ranges
        case Group(item):
            return _last(item)
        case Alt(items):
            choices = [_last(item) for item in items]
            return None if None in choices else charset.union(*filter(None, choices))
        case Repeat(item, low):
            return _last(item) if low else None
        case Seq(items):
            solid = [item for item in items if not isinstance(item, At)]
            return _last(solid[-1]) if solid else None
        case _:
            return None
