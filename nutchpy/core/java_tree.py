"""The tree of a Java regular expression, and how Python's ``re`` writes it.

java_regex.py parses rule files into it; regex_search.py reads from it what a match must contain.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from nutchpy.core import java_charset as charset
from nutchpy.core.java_charset import Ranges

UNBOUNDED: Final = -1


class JavaRegexError(ValueError):
    """The expression is no Java regular expression, or uses what is not supported; the message says where."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    ranges: Ranges

    @property
    def single(self) -> str | None:
        """The character, when there is one only."""
        (low, high), *more = self.ranges or ((0, 1),)
        return chr(low) if low == high and not more else None


@dataclass(frozen=True, slots=True)
class Dot:
    """Any character; a line's end only with ``(?s)``."""

    dotall: bool


@dataclass(frozen=True, slots=True)
class At:
    """A place between characters, as Python writes it: ``^ $ \\b \\B \\A \\Z (?m:^) (?m:$)``."""

    python: str


@dataclass(frozen=True, slots=True)
class Ref:
    """What group ``index`` matched."""

    index: int
    ignore_case: bool


@dataclass(frozen=True, slots=True)
class Seq:
    """One after the other."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alt:
    """The first that leads to a match."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``low`` to ``high`` times; ``mode`` is ``""`` (greedy), ``"?"`` (lazy) or ``"+"`` (possessive)."""

    item: Node
    low: int
    high: int
    mode: str


@dataclass(frozen=True, slots=True)
class Group:
    """A capturing group."""

    item: Node
    index: int


@dataclass(frozen=True, slots=True)
class Look:
    """``(?=…)``, ``(?!…)``, ``(?<=…)``, ``(?<!…)``; with ``atomic``, ``(?>…)``."""

    item: Node
    opening: str

    @property
    def atomic(self) -> bool:
        """Whether it takes characters."""
        return self.opening == "(?>"


Node = Chars | Dot | At | Ref | Seq | Alt | Repeat | Group | Look
EMPTY: Final = Seq(())


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression. ``names`` gives the number of each named group."""

    node: Node
    groups: int
    names: dict[str, int] = field(default_factory=dict)


def compiled(expression: Expression) -> re.Pattern[str]:
    """The expression for Python's engine."""
    try:
        return re.compile(python(expression.node), re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise JavaRegexError(str(error)) from error


def python(node: Node) -> str:
    """A tree in Python's syntax; alternatives are not wrapped."""
    match node:
        case Chars(ranges):
            return charset.python_class(ranges)
        case Dot(dotall):
            return "(?s:.)" if dotall else "."
        case At(text):
            return text
        case Ref(index, ignore_case):
            return f"(?i:\\{index})" if ignore_case else f"(?:\\{index})"
        case Seq(items):
            return "".join(_wrapped(item) if isinstance(item, Alt) else python(item) for item in items)
        case Alt(items):
            return "|".join(map(python, items))
        case Group(item):
            return f"({python(item)})"
        case Look(item, opening):
            return _python_look(item, opening)
        case Repeat():
            return _python_repeat(node)


def _wrapped(node: Node) -> str:
    return python(node) if isinstance(node, Chars | Dot | Ref | Group | Look) else f"(?:{python(node)})"


def _python_look(item: Node, opening: str) -> str:
    """Alternatives behind are looked for one by one, because Python wants each look-behind to have one width."""
    if isinstance(item, Alt) and opening == "(?<!":
        return "".join(f"(?<!{python(choice)})" for choice in item.items)
    if isinstance(item, Alt) and opening == "(?<=":
        return f"(?:{'|'.join(f'(?<={python(choice)})' for choice in item.items)})"
    return f"{opening}{python(item)})"


def _python_repeat(repeat: Repeat) -> str:
    """``x{2,}`` is written ``xxx*``: the engine searches fast for what begins with fixed characters."""
    item, low, high = _wrapped(repeat.item), repeat.low, repeat.high
    if isinstance(repeat.item, Chars) and repeat.item.single and 2 <= low <= 8 and high != low and repeat.mode != "+":
        return item * low + item + _quantifier(0, high if high == UNBOUNDED else high - low) + repeat.mode
    return item + _quantifier(low, high) + repeat.mode


def _quantifier(low: int, high: int) -> str:
    short = {(0, UNBOUNDED): "*", (1, UNBOUNDED): "+", (0, 1): "?"}
    if (low, high) in short:
        return short[low, high]
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high == UNBOUNDED else high}}}"
