"""Which engine runs an expression: Python's where that is harmless, RE2 where it can, else one with a time limit.

``re`` backtracks, and is the fastest on a short text whose expression takes few steps (regex_cost.py). RE2 takes time
in proportion to the text, whatever the expression, but knows no look-around, no references, nothing possessive.
``regex`` knows all of it, backtracks, and gives up when told to. All three give the same answers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import re2
import regex

from nutchpy.core import java_charset as charset
from nutchpy.core.java_needs import may_be_empty
from nutchpy.core.java_tree import (
    UNBOUNDED,
    Alt,
    At,
    Chars,
    Dot,
    Expression,
    Group,
    Look,
    Node,
    Ref,
    Repeat,
    Seq,
    python,
)
from nutchpy.core.regex_cost import steps

SHORT: Final = 512
"""Characters of a text up to which steps are counted."""
HARMLESS: Final = 1 << 20
"""Steps (of some nanoseconds) that no one waits for."""
SECONDS: Final = 0.1
"""What one search may take, where it is not said otherwise."""
_MOST_REPEATS: Final = 1000
_PLACES: Final = {"^": r"\A", r"\A": r"\A", "$": r"\z", r"\Z": r"\z", r"\b": r"\b", r"(?!\b)": r"\B"}
_PLACES_OF_LINES: Final = {"(?m:^)": "(?m:^)", "(?m:$)": "(?m:$)"}


class OutOfTime(Exception):  # noqa: N818  it is no error but an answer
    """A search was given up."""


@dataclass(frozen=True)
class Engines:
    """The engines of one expression, each made when first asked for; ``seconds`` is the time limit."""

    expression: Expression
    seconds: float = SECONDS

    @cached_property
    def short(self) -> int:
        """Characters of a text up to which Python's engine is harmless; -1: of none."""
        return SHORT if steps(self.expression.node, SHORT) <= HARMLESS else -1

    @cached_property
    def linear(self) -> Any:
        """For RE2; None when it cannot be said to it."""
        written = re2_pattern(self.expression.node)
        options = re2.Options()
        options.log_errors = False
        try:
            return None if written is None else re2.compile(written, options)
        except re2.error:  # larger than it takes
            return None

    @cached_property
    def limited(self) -> Any:
        """For the engine that keeps a time limit."""
        return regex.compile(python(self.expression.node), regex.ASCII | regex.VERSION0)

    def search(self, text: str) -> bool:
        """Whether there is a match, by an engine that does not hang; OutOfTime when that was not found out."""
        if self._is_linear(text):
            return self.linear.search(text) is not None
        try:
            return self.limited.search(text, timeout=self.seconds) is not None
        except TimeoutError:
            raise OutOfTime from None

    def replace(self, template: str, text: str) -> str:
        """All matches replaced, by an engine that does not hang, or OutOfTime; not for matches that may be empty."""
        if self._is_linear(text) and not _repeats_nothing(self.expression.node):
            return str(self.linear.sub(template, text))
        try:
            return str(self.limited.sub(template, text, timeout=self.seconds))
        except TimeoutError:
            raise OutOfTime from None

    def search_from(self, text: str, start: int) -> Any:
        """The next match, or None."""
        try:
            return self.limited.search(text, start, timeout=self.seconds)
        except TimeoutError:
            raise OutOfTime from None

    def _is_linear(self, text: str) -> bool:
        """Whether RE2 reads this text as the others do: not where a line ends, and only what UTF-8 can say."""
        return self.linear is not None and "\n" not in text and _is_scalar(text)


def _is_scalar(text: str) -> bool:
    return text.isascii() or not re.search("[\ud800-\udfff]", text)


def _repeats_nothing(node: Node) -> bool:
    """Whether something that may be empty is repeated: engines differ in what its groups then hold."""
    match node:
        case Repeat(item):
            return may_be_empty(item) or _repeats_nothing(item)
        case Group(item) | Look(item):
            return _repeats_nothing(item)
        case Seq(items) | Alt(items):
            return any(map(_repeats_nothing, items))
        case _:
            return False


def re2_pattern(node: Node) -> str | None:
    """A tree in RE2's syntax, for texts without line ends; None when there is no way to write it."""
    match node:
        case Chars(ranges):
            return _re2_class(ranges)
        case Dot(dotall):
            return "(?s:.)" if dotall else r"[^\n]"
        case At(text):
            return _PLACES.get(text) or _PLACES_OF_LINES.get(text)
        case Group(item):
            return _around("(", item)
        case Repeat():
            return _re2_repeat(node)
        case Seq(items) | Alt(items):
            written = [re2_pattern(item) for item in items]
            if None in written:
                return None
            return f"(?:{('|' if isinstance(node, Alt) else '').join(map(str, written))})"
        case Look() | Ref():
            return None


def _around(opening: str, item: Node) -> str | None:
    inner = re2_pattern(item)
    return None if inner is None else f"{opening}{inner})"


def _re2_repeat(repeat: Repeat) -> str | None:
    inner = _around("(?:", repeat.item)
    if inner is None or repeat.mode == "+" or max(repeat.low, repeat.high) > _MOST_REPEATS:
        return None
    high = "" if repeat.high == UNBOUNDED else repeat.high
    return f"{inner}{{{repeat.low},{high}}}{repeat.mode}"


def _re2_class(ranges: charset.Ranges) -> str:
    if not ranges:
        return r"[^\x00-\x{10FFFF}]"
    return "[" + "".join(f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges) + "]"
