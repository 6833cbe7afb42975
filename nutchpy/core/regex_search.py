"""Java expressions as fast functions over URLs: ``finder`` asks whether one matches anywhere, ``replacer`` substitutes.

Most rules concern few URLs. So each function first asks what costs a tenth of a search: is a text that every match
contains there at all, does the URL begin as it must, are there slashes enough, is the match at the end. What a match
needs is read from the expression's tree; the answer is always that of the plain search.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeGuard

from nutchpy.core import java_regex
from nutchpy.core.java_needs import beginnings, least, may_be_empty, needed, width
from nutchpy.core.java_tree import (
    UNBOUNDED,
    At,
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

Find = Callable[[str], bool]
Replace = Callable[[str], str]

NARROW: Final = 64
"""A match this wide at most that ends at the end is sought there alone."""


def finder(pattern: str) -> Find:
    """``Matcher.find()``: whether the Java expression matches anywhere in a text."""
    expression = java_regex.parse(pattern)
    compiled(expression)  # so that an error speaks of what was written, not of what was made of it
    expression = replace(expression, node=_trimmed(expression.node))
    return _guarded(expression, _search(expression))


def replacer(pattern: str, replacement: str) -> Replace:
    """``Matcher.replaceAll``, with Java's ``$1``, ``${name}`` and backslashes in the replacement."""
    expression = java_regex.parse(pattern)
    template = python_template(replacement, expression)
    expression = replace(expression, node=_literal_first(expression.node))
    engine, found = compiled(expression), _guarded(expression, _search(expression))
    if may_be_empty(expression.node):
        return lambda text: _replace_all(engine, template, text) if found(text) else text
    substitute = engine.sub
    return lambda text: substitute(template, text) if found(text) else text


def _replace_all(pattern: re.Pattern[str], template: str, text: str) -> str:
    """``sub`` for matches that may be empty: Java moves on by one character after such a one, Python tries again."""
    parts: list[str] = []
    done = start = 0
    while start <= len(text) and (found := pattern.search(text, start)):
        parts += text[done : found.start()], found.expand(template)
        done = found.end()
        start = done + (done == found.start())
    return "".join(parts) + text[done:]


def full_matcher(pattern: str) -> Find:
    """``Matcher.matches()``: whether the Java expression matches a text as a whole."""
    match = compiled(java_regex.parse(pattern)).fullmatch
    return lambda text: match(text) is not None


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


def _search(expression: Expression) -> Find:
    """The plain search, at the beginning or near the end when a match cannot be elsewhere."""
    pattern = compiled(expression)
    first, last = _ends(expression.node)
    wide = width(expression.node)
    if first in (At("^"), At(r"\A")):
        match = pattern.match
        return lambda text: match(text) is not None
    search = pattern.search
    if last in (At("$"), At(r"\Z")) and wide is not None and wide <= NARROW:
        back = wide + 1
        return lambda text: search(text, max(len(text) - back, 0)) is not None
    return lambda text: search(text) is not None


def _ends(node: Node) -> tuple[Node, Node]:
    if isinstance(node, Seq) and node.items:
        return node.items[0], node.items[-1]
    return node, node


def _guarded(expression: Expression, find: Find) -> Find:
    """``find`` behind the cheapest question that can do without it."""
    first, last = _ends(expression.node)
    texts = needed(expression.node)
    if first in (At("^"), At(r"\A")) and (starts := beginnings(expression.node)):
        return lambda text: text.startswith(starts) and find(text)
    if last in (At("$"), At(r"\Z")) and width(expression.node) is not None:
        return find
    slashes = least(expression.node, "/")
    if slashes > 2:
        return lambda text: text.count("/") >= slashes and find(text)
    return _containing(tuple(sorted(texts)), find) if texts else find


def _containing(texts: tuple[str, ...], find: Find) -> Find:
    """``find`` for what contains one of ``texts``, which are in lower case."""
    if any(char.isalpha() for text in texts for char in text):

        def folded(url: str) -> bool:
            lower = url.lower()
            return any(text in lower for text in texts) and find(url)

        return folded
    if len(texts) == 1:
        only = texts[0]
        return lambda url: only in url and find(url)
    return lambda url: any(text in url for text in texts) and find(url)


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
