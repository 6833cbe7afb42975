"""Searches behind guards: a question that costs a tenth of the search, and answers for most texts that none is needed.

A guard is read from what every match of an expression has (java_needs.py). It is asked of one text or of a column, and
never changes an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from nutchpy.core import java_charset as charset
from nutchpy.core.java_needs import beginnings, endings, least, needed, width
from nutchpy.core.java_tree import At, Node, Seq, compiled
from nutchpy.core.regex_engines import Engines

Find = Callable[[str], bool]
Candidates = Callable[[Sequence[str]], list[int]]

NARROW: Final = 64
"""A match this wide at most that ends at the end is sought there alone."""
AT_START: Final = (At("^"), At(r"\A"))
AT_END: Final = (At("$"), At(r"\Z"))


@dataclass(frozen=True, slots=True)
class Search:
    """``plain`` is the search, ``find`` the same behind its guard; ``candidates`` are the texts that pass the guard."""

    find: Find
    plain: Find
    candidates: Candidates

    def matching(self, texts: Sequence[str]) -> list[int]:
        """The places in a column of the texts with a match."""
        plain = self.plain
        return [place for place in self.candidates(texts) if plain(texts[place])]


def guarded(engines: Engines) -> Search:
    """The search for an expression behind the guard that suits it. What it asks may raise OutOfTime."""
    node = engines.expression.node
    plain = _plain(engines)
    first, last = _ends(node)
    if first in AT_START and (starts := beginnings(node)):
        return _beginning(starts, plain)
    if last in AT_END and (ends := endings(node)):
        return _ending(ends, plain)
    if (slashes := least(node, "/")) > 2:
        return _slashed(slashes, plain)
    return _containing(tuple(sorted(needed(node) or ())), plain)


def unguarded(plain: Find) -> Search:
    """A search that nothing can be said about."""
    return Search(plain, plain, lambda texts: list(range(len(texts))))


def _plain(engines: Engines) -> Find:
    """The search. On texts short enough it is Python's, at the beginning or near the end when a match must be there."""
    pattern, node, short, thorough = (
        compiled(engines.expression),
        engines.expression.node,
        engines.short,
        engines.search,
    )
    first, last = _ends(node)
    wide = width(node)
    if short < 0:
        return thorough
    if first in AT_START:
        match = pattern.match
        return lambda text: match(text) is not None if len(text) <= short else thorough(text)
    search = pattern.search
    if last in AT_END and wide is not None and wide <= NARROW:
        back = wide + 1  # and a line's end, before which $ matches too
        return lambda text: search(text, max(len(text) - back, 0)) is not None
    return lambda text: search(text) is not None if len(text) <= short else thorough(text)


def _ends(node: Node) -> tuple[Node, Node]:
    if isinstance(node, Seq) and node.items:
        return node.items[0], node.items[-1]
    return node, node


def _beginning(starts: tuple[str, ...], plain: Find) -> Search:
    return Search(
        lambda text: text.startswith(starts) and plain(text),
        plain,
        lambda texts: [place for place, text in enumerate(texts) if text.startswith(starts)],
    )


def _ending(ends: charset.Ranges, plain: Find) -> Search:
    """For what must end in one of some characters, or in one and a line's end."""
    last = "".join(chr(point) for low, high in ends for point in range(low, high + 1)) + "\n"
    return Search(
        lambda text: text[-1:] in last and plain(text),
        plain,
        lambda texts: [place for place, text in enumerate(texts) if text[-1:] in last],
    )


def _slashed(slashes: int, plain: Find) -> Search:
    return Search(
        lambda text: text.count("/") >= slashes and plain(text),
        plain,
        lambda texts: [place for place, text in enumerate(texts) if text.count("/") >= slashes],
    )


def _containing(needs: tuple[str, ...], plain: Find) -> Search:
    """For what must contain one of some texts (in lower case); without such texts, no guard."""
    if not needs:
        return unguarded(plain)
    if len(needs) == 1 and not _has_letters(needs):
        return _containing_one(needs[0], plain)
    sign = _common_sign(needs)

    def contains(text: str) -> bool:
        if sign not in text:
            return False
        lower = text.lower()
        return any(need in lower for need in needs)

    return Search(
        lambda text: sign in text and contains(text) and plain(text),
        plain,
        lambda texts: [place for place, text in enumerate(texts) if sign in text and contains(text)],
    )


def _containing_one(need: str, plain: Find) -> Search:
    return Search(
        lambda text: need in text and plain(text),
        plain,
        lambda texts: [place for place, text in enumerate(texts) if need in text],
    )


def _has_letters(texts: tuple[str, ...]) -> bool:
    return any(char.isalpha() for text in texts for char in text)


def _common_sign(texts: tuple[str, ...]) -> str:
    """A character of all texts that has no case; empty when there is none."""
    return next((char for char in texts[0] if not char.isalpha() and all(char in text for text in texts)), "")
