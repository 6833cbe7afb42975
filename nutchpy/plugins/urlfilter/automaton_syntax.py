"""The expressions of the dk.brics.automaton library, in which Nutch's automaton filter has its rules.

They match a whole text. Reserved are ``| & ? * + { } ~ [ ] . # @ " ( ) < >`` and the backslash; ``#`` matches nothing,
``@`` any text, ``"…"`` what it holds. Refused by name: intersection ``&``, complement ``~``, and ``<…>``.
"""

from __future__ import annotations

import re
from typing import Final

from nutchpy.core import java_charset as charset
from nutchpy.core.java_tree import UNBOUNDED, Alt, At, Chars, Dot, Expression, JavaRegexError, Node, Repeat, Seq
from nutchpy.core.regex_engines import SECONDS, Engines
from nutchpy.core.regex_guards import Search, guarded

_BOUNDS: Final = re.compile(r"\{([0-9]+)(,?)([0-9]*)\}")
_QUANTIFIERS: Final = {"?": (0, 1), "*": (0, UNBOUNDED), "+": (1, UNBOUNDED)}
_UNSUPPORTED: Final = {"&": "intersection", "~": "complement", "<": "automata and intervals in <>"}


def whole_matcher(pattern: str, seconds: float = SECONDS) -> Search:
    """Whether the expression matches a text as a whole."""
    whole = Seq((At(r"\A"), parse(pattern), At(r"\Z")))
    return guarded(Engines(Expression(whole, 0), seconds))


def parse(pattern: str) -> Node:
    """The tree of an expression; JavaRegexError when it is none."""
    parser = _Parser(pattern)
    node = parser.union()
    if parser.more():
        raise parser.error(f"{parser.peek()!r} is not expected")
    return node


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def error(self, message: str) -> JavaRegexError:
        return JavaRegexError(f"{message} at character {self.at + 1}")

    def more(self) -> bool:
        return self.at < len(self.pattern)

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def next(self) -> str:
        if not self.more():
            raise self.error("unexpected end")
        self.at += 1
        return self.pattern[self.at - 1]

    def take(self, char: str) -> bool:
        taken = self.peek() == char
        self.at += taken
        return taken

    def union(self) -> Node:
        choices = [self.sequence()]
        while self.take("|"):
            choices.append(self.sequence())
        return choices[0] if len(choices) == 1 else Alt(tuple(choices))

    def sequence(self) -> Node:
        items: list[Node] = []
        while self.more() and self.peek() not in "|)":
            items.append(self.repeated())
        return Seq(tuple(items))

    def repeated(self) -> Node:
        node = self.atom()
        while (bounds := self.bounds()) is not None:
            node = Repeat(node, *bounds, "")
        return node

    def bounds(self) -> tuple[int, int] | None:
        if self.peek() in _QUANTIFIERS:
            return _QUANTIFIERS[self.next()]
        if self.peek() != "{":
            return None
        found = _BOUNDS.match(self.pattern, self.at)
        if found is None:
            raise self.error("'{' without a number of repetitions")
        self.at = found.end()
        low = int(found[1])
        return low, int(found[3]) if found[3] else UNBOUNDED if found[2] else low

    def atom(self) -> Node:
        char = self.next()
        match char:
            case "(":
                return self.group()
            case "[":
                return Chars(self.char_class())
            case ".":
                return Dot(dotall=True)
            case "@":
                return Repeat(Dot(dotall=True), 0, UNBOUNDED, "")
            case "#":
                return Chars(())
            case '"':
                return self.quoted()
            case "&" | "~" | "<":
                raise self.error(f"{_UNSUPPORTED[char]} ({char}) is not supported; the character itself is \\{char}")
            case "*" | "+" | "?" | "{":
                raise self.error(f"{char!r} has nothing to repeat")
        return Chars(charset.of(self.next() if char == "\\" else char))

    def group(self) -> Node:
        node = self.union()
        if not self.take(")"):
            raise self.error("group is not closed")
        return Seq((node,))

    def quoted(self) -> Node:
        end = self.pattern.find('"', self.at)
        if end < 0:
            raise self.error("'\"' is not closed")
        text, self.at = self.pattern[self.at : end], end + 1
        return Seq(tuple(Chars(charset.of(char)) for char in text))

    def char_class(self) -> charset.Ranges:
        negated = self.take("^")
        pairs: list[tuple[int, int]] = []
        while not self.take("]") or not pairs:
            low = self.class_char()
            high = self.class_char() if self.take("-") else low
            if high < low:
                raise self.error("range runs backwards")
            pairs.append((low, high))
        given = charset.ranges(pairs)
        return charset.complement(given) if negated else given

    def class_char(self) -> int:
        char = self.next()
        return ord(self.next() if char == "\\" else char)
