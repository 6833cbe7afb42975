"""Java expressions as fast functions over URLs: ``finder`` asks whether one matches anywhere, ``replacer`` substitutes.

Each is given for one URL and for a column, behind a guard (regex_guards.py): most rules concern few URLs. No search
hangs (regex_engines.py): one that takes longer than ``seconds`` raises OutOfTime.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeGuard

from nutchpy.core import java_regex
from nutchpy.core.java_needs import may_be_empty
from nutchpy.core.java_tree import (
    UNBOUNDED,
    Chars,
    Dot,
    Expression,
    JavaRegexError,
    Look,
    Node,
    Repeat,
    Seq,
    compiled,
)
from nutchpy.core.regex_engines import SECONDS, Engines
from nutchpy.core.regex_guards import Search, guarded

NextMatch = Callable[[str, int], re.Match[str] | None]


def finder(pattern: str, seconds: float = SECONDS) -> Search:
    """``Matcher.find()``: whether the Java expression matches anywhere in a text."""
    expression = java_regex.parse(pattern)
    compiled(expression)  # so that an error speaks of what was written, not of what was made of it
    return guarded(Engines(replace(expression, node=_trimmed(expression.node)), seconds))


@dataclass(frozen=True, slots=True)
class Substitution:
    """``Matcher.replaceAll``: what ``search`` finds, replaced by ``rewrite``."""

    search: Search
    rewrite: Callable[[str], str]

    def __call__(self, text: str) -> str:
        return self.rewrite(text) if self.search.find(text) else text

    def apply(self, texts: list[str]) -> list[int]:
        """Rewrite a column in place; the places where there was a match."""
        matching, rewrite = self.search.matching(texts), self.rewrite
        for place in matching:
            texts[place] = rewrite(texts[place])
        return matching


def replacer(pattern: str, replacement: str, seconds: float = SECONDS) -> Substitution:
    """``Matcher.replaceAll``, with Java's ``$1``, ``${name}`` and backslashes in the replacement."""
    expression = java_regex.parse(pattern)
    template = python_template(replacement, expression)
    expression = replace(expression, node=_literal_first(expression.node))
    engines, short = Engines(expression, seconds), compiled(expression)
    if may_be_empty(expression.node):
        return Substitution(
            guarded(engines), lambda text: _replace_all(_next_match(engines, short, text), template, text)
        )
    substitute, harmless = short.sub, engines.short

    def rewrite(text: str) -> str:
        return substitute(template, text) if len(text) <= harmless else engines.replace(template, text)

    return Substitution(guarded(engines), rewrite)


def _next_match(engines: Engines, short: re.Pattern[str], text: str) -> NextMatch:
    return short.search if len(text) <= engines.short else engines.search_from


def _replace_all(search: NextMatch, template: str, text: str) -> str:
    """``sub`` for matches that may be empty: Java moves on by one character after such a one, Python tries again."""
    parts: list[str] = []
    done = start = 0
    while start <= len(text) and (found := search(text, start)):
        parts += text[done : found.start()], found.expand(template)
        done = found.end()
        start = done + (done == found.start())
    return "".join(parts) + text[done:]


def python_template(replacement: str, expression: Expression) -> str:
    """A Java replacement as ``re.sub`` takes it."""
    parts: list[str] = []
    at = 0
    while at < len(replacement):
        reference = _reference(replacement, at, expression)
        if reference is not None:
            at, part = reference
        else:
            at += replacement[at] == "\\"
            if at == len(replacement):
                raise JavaRegexError("the replacement ends in a backslash")
            part = replacement[at].replace("\\", "\\\\")
            at += 1
        parts.append(part)
    return "".join(parts)


def _reference(replacement: str, at: int, expression: Expression) -> tuple[int, str] | None:
    """Where a group reference at ``at`` ends and how Python writes it; as many digits as there are groups."""
    if replacement[at] != "$":
        return None
    if named := re.compile(r"\$\{([a-zA-Z][a-zA-Z0-9]*)\}").match(replacement, at):
        if named[1] not in expression.names:
            raise JavaRegexError(f"the replacement names no group of the pattern: {named[1]!r}")
        return named.end(), f"\\g<{expression.names[named[1]]}>"
    digits = re.compile(r"\$([0-9]+)").match(replacement, at)
    if digits is None:
        raise JavaRegexError("the replacement has a '$' without a group (a literal one is '\\$')")
    taken = digits[1]
    while len(taken) > 1 and int(taken) > expression.groups:
        taken = taken[:-1]
    if int(taken) > expression.groups:
        raise JavaRegexError(f"the replacement names group {taken}, the pattern has {expression.groups}")
    return at + 1 + len(taken), f"\\g<{taken}>"


def _trimmed(node: Node) -> Node:
    """Without the ``.*`` that an expression begins or ends with: it changes what matches, not whether."""
    items = list(node.items) if isinstance(node, Seq) else [node]
    while len(items) > 1 and _optional(items[0]) and items[0].mode != "+":
        items.pop(0)
    while len(items) > 1 and _optional(items[-1]):
        items.pop()
    return items[0] if len(items) == 1 else Seq(tuple(items))


def _optional(node: Node) -> TypeGuard[Repeat]:
    return isinstance(node, Repeat) and node.low == 0 and isinstance(node.item, Dot | Chars)


def _literal_first(node: Node) -> Node:
    """``(?<!:)//`` as ``//(?<!://)``: the engine searches fast for what begins with fixed characters."""
    if not isinstance(node, Seq) or len(node.items) < 2:
        return node
    look, repeat, *rest = node.items
    if not (isinstance(look, Look) and look.opening in ("(?<!", "(?<=") and isinstance(look.item, Chars)):
        return node
    if not (isinstance(repeat, Repeat) and isinstance(repeat.item, Chars) and repeat.item.single and repeat.mode == ""):
        return node
    low, high = repeat.low, repeat.high
    if not 1 <= low <= 8 or high == low:
        return node
    fixed = (repeat.item,) * low
    behind = replace(look, item=Seq((look.item, *fixed)))
    more = replace(repeat, low=0, high=high if high == UNBOUNDED else high - low)
    return Seq((*fixed, behind, more, *rest))
