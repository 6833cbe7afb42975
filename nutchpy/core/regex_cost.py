"""How many steps a backtracking engine may take over an expression: what tells a harmless one from one that can hang.

Read from the tree, always to the safe side: an expression counts as harmless only when it is seen to be.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from nutchpy.core import java_charset as charset
from nutchpy.core.java_charset import EVERYTHING, Ranges
from nutchpy.core.java_tree import UNBOUNDED, Alt, At, Chars, Dot, Group, Look, Node, Ref, Repeat, Seq

ENDLESS: Final = float("inf")
_FEW: Final = 1e9
"""Steps that are as good as endless."""


@dataclass(frozen=True, slots=True)
class _First:
    """The characters a match may begin with, and whether it may be empty."""

    chars: Ranges
    empty: bool

    def then(self, follow: Ranges) -> Ranges:
        """What may come first when ``follow`` comes after."""
        return charset.union(self.chars, follow) if self.empty else self.chars


def steps(node: Node, length: int) -> float:
    """The most ways to match in a text of ``length`` characters, times the places to begin at; ENDLESS: too many."""
    anchored = isinstance(node, Seq) and node.items[:1] in ((At("^"),), (At(r"\A"),))
    return _capped(_Ways(length).of(node, ()) * (1 if anchored else length))


def _capped(ways: float) -> float:
    return ways if ways < _FEW else ENDLESS


@dataclass(slots=True)
class _Ways:
    """Counts the ways a match can go on after it has failed further on; ``follow`` is what may come after a node."""

    length: int
    groups: dict[int, _First] = field(default_factory=dict)

    def of(self, node: Node, follow: Ranges) -> float:
        match node:
            case Seq(items):
                return self._sequence(items, follow)
            case Alt(items):
                return self._choice(items, follow)
            case Group(item, index):
                self.groups[index] = self.first(item)
                return self.of(item, follow)
            case Repeat():
                return self._repeat(node, follow)
            case Look(item):
                return self.of(item, follow if node.atomic else ())
            case Chars() | Dot() | At() | Ref():
                return 1

    def _sequence(self, items: tuple[Node, ...], follow: Ranges) -> float:
        """The product; groups are met from the left, because references look back at them."""
        firsts = []
        for item in items:
            self._remember(item)
            firsts.append(self.first(item))
        ways = 1.0
        for item, first in zip(reversed(items), reversed(firsts), strict=True):
            ways = _capped(ways * self.of(item, follow))
            follow = first.then(follow)
        return ways

    def _remember(self, node: Node) -> None:
        """What the groups inside of a node begin with."""
        match node:
            case Group(item, index):
                self._remember(item)
                self.groups[index] = self.first(item)
            case Seq(items) | Alt(items):
                for item in items:
                    self._remember(item)
            case Repeat(item) | Look(item):
                self._remember(item)
            case _:
                return

    def _choice(self, items: tuple[Node, ...], follow: Ranges) -> float:
        ways = [self.of(item, follow) for item in items]
        seen: Ranges = ()
        for item in items:
            first = self.first(item).then(follow)
            if charset.intersection(seen, first):
                return _capped(sum(ways))
            seen = charset.union(seen, first)
        return max(ways)

    def _repeat(self, repeat: Repeat, follow: Ranges) -> float:
        first = self.first(repeat.item)
        ways = self.of(repeat.item, charset.union(first.chars, follow))
        most = self.length if repeat.high == UNBOUNDED else min(repeat.high, self.length)
        if ways > 1 and most > 32:
            return ENDLESS
        inside = _capped(ways**most) if ways > 1 else 1.0
        stops_anywhere = first.empty or bool(charset.intersection(first.chars, follow)) or not follow
        if repeat.mode == "+" or most == repeat.low or not stops_anywhere:
            return inside
        return _capped(inside * (most - repeat.low + 1))

    def first(self, node: Node) -> _First:
        match node:
            case Chars(ranges):
                return _First(ranges, empty=False)
            case Dot():
                return _First(EVERYTHING, empty=False)
            case At():
                return _First((), empty=True)
            case Look(item):
                return self.first(item) if node.atomic else _First((), empty=True)
            case Ref(index):
                return self.groups.get(index, _First(EVERYTHING, empty=True))
            case Group(item):
                return self.first(item)
            case Repeat(item, low):
                inner = self.first(item)
                return _First(inner.chars, inner.empty or low == 0)
            case Alt(items):
                firsts = [self.first(item) for item in items]
                return _First(charset.union(*(one.chars for one in firsts)), any(one.empty for one in firsts))
            case Seq(items):
                return self._first_of_sequence(items)

    def _first_of_sequence(self, items: tuple[Node, ...]) -> _First:
        chars: Ranges = ()
        for item in items:
            first = self.first(item)
            chars = charset.union(chars, first.chars)
            if not first.empty:
                return _First(chars, empty=False)
        return _First(chars, empty=True)
