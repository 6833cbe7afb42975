"""Java's regular expressions, as Nutch's rule files hold them: parsed into a tree and written for Python's ``re``.

The tree is what regex_search.py reads guards from. Python's own syntax is never passed through, so what Java refuses is
refused here, and what the two engines read differently (``(?i)`` in mid-pattern, ``\\d`` and case folding beyond ASCII,
``[a-z&&[^x]]``, ``\\Q…\\E``, ``\\p{Alpha}``, ``\\Z``) means what it means in Java. Not supported, and refused by name:
``\\G``, ``\\X``, ``\\N{…}``, ``\\b{g}``, the flags ``u`` and ``U``, look-behind of no fixed width.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from nutchpy.core import java_charset as charset
from nutchpy.core.java_charset import Ranges
from nutchpy.core.java_tree import (
    UNBOUNDED,
    Alt,
    At,
    Chars,
    Dot,
    Expression,
    Group,
    JavaRegexError,
    Look,
    Node,
    Ref,
    Repeat,
    Seq,
)


def parse(pattern: str) -> Expression:
    """The tree of a Java expression; JavaRegexError when it is none."""
    parser = _Parser(pattern)
    try:
        node = parser.alternation(_Flags())
    except RecursionError:
        raise parser.error("groups are nested too deep") from None
    if parser.more():
        raise parser.error("unmatched ')'")
    return Expression(node, parser.groups, parser.names)


@dataclass(frozen=True, slots=True)
class _Flags:
    ignore_case: bool = False
    multiline: bool = False
    dotall: bool = False
    comments: bool = False

    def changed(self, letters: str, on: bool) -> _Flags:
        names = {"i": "ignore_case", "m": "multiline", "s": "dotall", "x": "comments"}
        return replace(self, **{names[letter]: on for letter in letters if letter != "d"})


class _Parser:
    """Recursive descent over the pattern; ``at`` is the next character."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.groups = 0
        self.names: dict[str, int] = {}

    def error(self, message: str) -> JavaRegexError:
        return JavaRegexError(f"{message} at character {self.at + 1}")

    def more(self) -> bool:
        return self.at < len(self.pattern)

    def peek(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def take(self, text: str) -> bool:
        if not self.peek(text):
            return False
        self.at += len(text)
        return True

    def next(self) -> str:
        if not self.more():
            raise self.error("unexpected end")
        self.at += 1
        return self.pattern[self.at - 1]

    def until(self, end: str, what: str) -> str:
        stop = self.pattern.find(end, self.at)
        if stop < 0:
            raise self.error(f"{what} is not closed")
        text, self.at = self.pattern[self.at : stop], stop + len(end)
        return text

    def blank(self, flags: _Flags) -> bool:
        """Pass over white space and a comment in ``(?x)`` mode."""
        start = self.at
        while flags.comments and self.more() and (self.pattern[self.at] in " \t\n\x0b\f\r#"):
            if self.next() == "#":
                while self.more() and self.next() not in "\n\r":
                    pass
        return self.at > start

    def alternation(self, flags: _Flags) -> Node:
        """Up to ``)`` or the end. A flag group changes the flags of all that follows in here, alternatives too."""
        choices: list[list[Node]] = [[]]
        while self.more() and not self.peek(")"):
            if self.blank(flags):
                continue
            if self.take("|"):
                choices.append([])
            elif (changed := self.flag_group(flags)) is not None:
                flags = changed
            else:
                choices[-1].extend(self.quantified(flags))
        nodes = [items[0] if len(items) == 1 else Seq(tuple(items)) for items in choices]
        return nodes[0] if len(nodes) == 1 else Alt(tuple(nodes))

    def flag_group(self, flags: _Flags) -> _Flags | None:
        """``(?i)`` or ``(?i-s)``: the flags from here on; None when something else stands here."""
        found = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?\)").match(self.pattern, self.at)
        if found is None:
            return None
        self.at = found.end()
        return self.flags_of(flags, found[1], found[2] or "")

    def flags_of(self, flags: _Flags, on: str, off: str) -> _Flags:
        if unknown := set(on + off) - set("imsxd"):
            raise self.error(f"flag {min(unknown)!r} is not supported")
        return flags.changed(on, True).changed(off, False)

    def quantified(self, flags: _Flags) -> list[Node]:
        """One atom with its quantifier, or the characters of a ``\\Q…\\E``."""
        if self.take(r"\Q"):
            quoted = self.until(r"\E", r"\Q") if r"\E" in self.pattern[self.at :] else self.rest()
            items = [self.literal(char, flags) for char in quoted]
            return [*items[:-1], self.repeated(items[-1], flags)] if items else []
        return [self.repeated(self.atom(flags), flags)]

    def rest(self) -> str:
        text, self.at = self.pattern[self.at :], len(self.pattern)
        return text

    def repeated(self, item: Node, flags: _Flags) -> Node:
        self.blank(flags)
        bounds = self.bounds()
        if bounds is None:
            return item
        mode = "?" if self.take("?") else "+" if self.take("+") else ""
        return Repeat(item, *bounds, mode)

    def bounds(self) -> tuple[int, int] | None:
        for sign, bounds in (("*", (0, UNBOUNDED)), ("+", (1, UNBOUNDED)), ("?", (0, 1))):
            if self.take(sign):
                return bounds
        if not self.take("{"):
            return None
        found = re.compile(r"([0-9]+)(,?)([0-9]*)\}").match(self.pattern, self.at)
        if found is None or (found[3] and not found[2]):
            raise self.error("'{' without a number of repetitions (a literal one is '\\{')")
        self.at = found.end()
        low = int(found[1])
        high = int(found[3]) if found[3] else UNBOUNDED if found[2] else low
        if UNBOUNDED != high < low:
            raise self.error("repetitions run backwards")
        return low, high

    def atom(self, flags: _Flags) -> Node:
        char = self.next()
        match char:
            case "(":
                return self.group(flags)
            case "[":
                return Chars(self.char_class(flags))
            case "\\":
                return self.escape(flags)
            case ".":
                return Dot(flags.dotall)
            case "^" | "$":
                return At(f"(?m:{char})" if flags.multiline else char)
            case "*" | "+" | "?" | "{":
                self.at -= 1
                raise self.error(f"{char!r} has nothing to repeat")
            case _:
                return self.literal(char, flags)

    def literal(self, char: str, flags: _Flags) -> Chars:
        given = charset.of(char)
        return Chars(charset.both_cases(given) if flags.ignore_case else given)

    def group(self, flags: _Flags) -> Node:
        """What follows ``(``."""
        if not self.peek("?"):
            return self.capture(flags)
        for opening in ("?:", "?=", "?!", "?<=", "?<!", "?>"):
            if self.take(opening):
                inner = self.closed(flags)
                return Seq((inner,)) if opening == "?:" else Look(inner, f"({opening}")
        if named := re.compile(r"\?<([a-zA-Z][a-zA-Z0-9]*)>").match(self.pattern, self.at):
            self.at = named.end()
            return self.capture(flags, named[1])
        if scoped := re.compile(r"\?([a-zA-Z]*)(?:-([a-zA-Z]*))?:").match(self.pattern, self.at):
            self.at = scoped.end()
            return Seq((self.closed(self.flags_of(flags, scoped[1], scoped[2] or "")),))
        raise self.error("unknown kind of group")

    def capture(self, flags: _Flags, name: str = "") -> Group:
        self.groups += 1
        index = self.groups
        if name:
            if name in self.names:
                raise self.error(f"group {name!r} is there twice")
            self.names[name] = index
        return Group(self.closed(flags), index)

    def closed(self, flags: _Flags) -> Node:
        node = self.alternation(flags)
        if not self.take(")"):
            raise self.error("group is not closed")
        return node

    def escape(self, flags: _Flags) -> Node:
        """What follows a backslash outside of a class."""
        if found := re.compile(r"k<([a-zA-Z0-9]*)>").match(self.pattern, self.at):
            self.at = found.end()
            if found[1] not in self.names:
                raise self.error(f"no group {found[1]!r} before")
            return Ref(self.names[found[1]], flags.ignore_case)
        char = self.next()
        if char in "123456789":
            return self.reference(char, flags)
        if char in "bBAZz":
            if char == "b" and self.peek("{g"):
                raise self.error(r"\b{…} is not supported")
            return At({"b": r"\b", "B": r"(?!\b)", "A": r"\A", "Z": "$", "z": r"\Z"}[char])
        if char == "R":
            vertical = Chars(charset.VERTICAL)
            return Alt((Seq((Chars(charset.of("\r")), Chars(charset.of("\n")))), vertical))
        self.at -= 1
        return Chars(self.escaped_set(flags))

    def reference(self, digits: str, flags: _Flags) -> Ref:
        """As many digits as there are groups; Java takes the rest as literal."""
        while (
            self.more() and self.pattern[self.at] in "0123456789" and int(digits + self.pattern[self.at]) <= self.groups
        ):
            digits += self.next()
        if int(digits) > self.groups:
            raise self.error(f"no group {digits} before")
        return Ref(int(digits), flags.ignore_case)

    def escaped_set(self, flags: _Flags) -> Ranges:
        """A character or predefined set after a backslash, inside a class or outside."""
        char = self.next()
        if char.lower() in charset.PREDEFINED:
            given = charset.PREDEFINED[char.lower()]
            return charset.complement(given) if char.isupper() else given
        if char in "pP":
            return self.property(negated=char == "P", flags=flags)
        return self.literal(self.escaped_char(char), flags).ranges

    def property(self, *, negated: bool, flags: _Flags) -> Ranges:
        name = self.until("}", r"\p{") if self.take("{") else self.next()
        given = charset.property_set(name)
        if given is None:
            raise self.error(f"\\p{{{name}}} is not supported")
        given = charset.both_cases(given) if flags.ignore_case else given
        return charset.complement(given) if negated else given

    def escaped_char(self, char: str) -> str:
        """The character that a backslash and ``char`` (already taken) stand for."""
        simple = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
        if char in simple:
            return simple[char]
        if char == "c":
            return chr(ord(self.next()) ^ 64)
        for letter, digits in (("x", r"\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2})"), ("u", r"([0-9a-fA-F]{4})")):
            if char == letter:
                return self.numbered(digits, 16)
        if char == "0":
            return self.numbered(r"([0-3]?[0-7]{1,2})", 8)
        if char.isascii() and char.isalnum():
            raise self.error(f"\\{char} means nothing, or is not supported")
        return char

    def numbered(self, digits: str, base: int) -> str:
        found = re.compile(digits).match(self.pattern, self.at)
        if found is None:
            raise self.error("not the digits of a character")
        self.at = found.end()
        point = int(next(group for group in found.groups() if group), base)
        if point > charset.LAST:
            raise self.error("no such character")
        return chr(point)

    def char_class(self, flags: _Flags) -> Ranges:
        """What follows ``[``: unions, nested classes, and ``&&`` between them; ``^`` negates the whole."""
        negated = self.take("^")
        result: Ranges | None = None
        operand: list[Ranges] = []
        first = True
        while not self.peek("]") or first:
            if self.take("&&"):
                result = _both(result, operand) if operand else result
                operand = []
            elif not self.blank(flags):
                operand.append(self.class_item(flags))
            first = False
        self.at += 1
        whole = _both(result, operand)
        return charset.complement(whole) if negated else whole

    def class_item(self, flags: _Flags) -> Ranges:
        """A nested class, a set, a character or a range."""
        if self.take("["):
            return self.char_class(flags)
        if self.take(r"\Q"):
            return charset.union(*(self.literal(char, flags).ranges for char in self.until(r"\E", r"\Q")))
        low = self.class_char(flags)
        ends_here = self.pattern[self.at + 1 : self.at + 2] in ("]", "[", "")
        single = Chars(low).single
        if not self.peek("-") or ends_here or single is None:
            return charset.both_cases(low) if flags.ignore_case else low
        self.at += 1
        high = Chars(self.class_char(flags)).single
        if high is None or high < single:
            raise self.error("range runs backwards")
        span = charset.ranges([(ord(single), ord(high))])
        return charset.both_cases(span) if flags.ignore_case else span

    def class_char(self, flags: _Flags) -> Ranges:
        char = self.next()
        if char != "\\":
            return charset.of(char)
        return self.escaped_set(replace(flags, ignore_case=False))


def _both(result: Ranges | None, operand: list[Ranges]) -> Ranges:
    """``result && operand``; an empty side counts for nothing, as in Java."""
    whole = charset.union(*operand)
    if result is None:
        return whole
    return charset.intersection(result, whole) if operand else result
