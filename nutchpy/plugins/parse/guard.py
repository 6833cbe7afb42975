"""Cheap looks at a page's source before a tree is built of it: nesting and attributes that no honest page has.

Tree construction takes quadratic time and space in the number of elements open at once, and quadratic time in the
attributes of one tag. Browsers stop nesting at some 500 elements, so nothing is lost by doing the same: what is nested
deeper is taken as if it were not. Only pages large enough to do harm are looked at, and a page made to deceive the
counting still meets the time limit of its worker process.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

HARMLESS_TAGS: Final = 4_096
"""Tags up to which a page is not looked at; all of them open at once cost some 20 ms."""
_SHORTEST_TAG: Final = 3
HARMLESS_DEPTH: Final = 1_000
HARMLESS_LENGTH: Final = 131_072
_CHUNK: Final = 8_192
MAX_ATTRIBUTES: Final = 1_000
LONG_TAG: Final = 4_096
"""Characters of a tag from which its attributes are counted."""
_ATTRIBUTE: Final = r"""[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?"""
_START_TAG: Final = re.compile(rf"<[a-zA-Z][^\s/>]*+(?:{_ATTRIBUTE})*+")
"""A tag with its attributes as a tokenizer takes them: a ``>`` between quotes does not end it, a ``<`` is a name."""
_UNBROKEN: Final = re.compile(rf"<[a-zA-Z][^>]{{{LONG_TAG - 2}}}")
_QUOTED_END: Final = re.compile(r"""=\s*+(?:"[^">]*+>|'[^'>]*+>)""")
"""A ``>`` between the quotes of a value, or what looks like it: a long tag has this or is unbroken by any ``>``."""
_FIRST_ATTRIBUTES: Final = re.compile(rf"<[a-zA-Z][^\s/>]*+(?:{_ATTRIBUTE}){{{MAX_ATTRIBUTES}}}+")
_TAG: Final = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_HAS_FOREIGN: Final = re.compile("<(?:svg|math)", re.IGNORECASE)
_VOID: Final = "area base br col embed hr img input link meta param source track wbr"
_VOID_TAGS: Final = ("<br", "<img", "<hr", "<input", "<meta", "<link", "<!", "<wbr")
_CLOSED_BY_NEXT: Final = "p li dt dd option tr td th thead tbody tfoot colgroup"
_FLAT: Final = frozenset([*_VOID.split(), *_CLOSED_BY_NEXT.split()])
_FLAT_IN_FOREIGN: Final = frozenset(["p", "li", "dt", "dd", "br", "hr", "img", "embed", "meta"])
"""What ends SVG and MathML; all else, ``<input>`` and ``<td>`` too, nests in there."""
_VOID_TAGS_IN_FOREIGN: Final = ("<br", "<img", "<hr", "<meta", "<!")
_INLINE: Final = "b big code em font i nobr s small span strike strong tt u"
_FORMATTING: Final = frozenset(_INLINE.split())
_STRUCTURE: Final = "a area base body form frame head html iframe noscript script style textarea title"
_KEPT: Final = frozenset(_STRUCTURE.split())


def tamed(html: str, max_depth: int) -> str:
    """The page, or one that differs only where it nests deeper than ``max_depth`` or drowns a tag in attributes."""
    if len(html) > HARMLESS_LENGTH and (_UNBROKEN.search(html) or _QUOTED_END.search(html)):
        html = _shortened(html)
    limit = max(HARMLESS_DEPTH, max_depth)
    many = len(html) > _SHORTEST_TAG * HARMLESS_TAGS and html.count("<") > HARMLESS_TAGS
    if many and _may_nest(html) > limit:
        foreign = _HAS_FOREIGN.search(html) is not None
        if _may_nest(html, _VOID_TAGS_IN_FOREIGN if foreign else _VOID_TAGS) > limit:
            html = _flattened(html, max_depth)
    return html


def _shortened(html: str) -> str:
    """The page, its tags with their first attributes only (a long tag of few is left as it is)."""
    kept: list[str] = []
    position = 0
    for tag in [tag for tag in _START_TAG.finditer(html) if tag.end() - tag.start() > LONG_TAG]:
        if first := _FIRST_ATTRIBUTES.match(html, tag.start(), tag.end()):
            kept.append(html[position : first.end()])
            position = tag.end()
    return "".join([*kept, html[position:]]) if kept else html


def _may_nest(html: str, flat: tuple[str, ...] = ()) -> int:
    """At least the depth of the page's tree, by counting: tags left unclosed, unless in ``flat``, make it too high."""
    depth = highest = 0
    for start in range(0, len(html), _CHUNK):
        chunk = html[start : start + _CHUNK]
        closing = chunk.count("</")
        opening = chunk.count("<") - closing - sum(map(chunk.count, flat))
        highest = max(highest, depth + opening)
        depth += opening - closing
    return highest


def _flattened(html: str, max_depth: int) -> str:
    """Leave out the tags of elements that would stand deeper; a block becomes a line break."""
    opened: Counter[str] = Counter()
    depth = 0
    kept: list[str] = []
    position = 0
    for tag in _TAG.finditer(html):
        name = tag[2].lower()
        if name in (_FLAT_IN_FOREIGN if opened["svg"] or opened["math"] else _FLAT):
            continue
        if tag[1]:
            if not opened[name]:
                continue
            opened[name] -= 1
            depth -= 1
        else:
            opened[name] += 1
            depth += 1
        if depth - bool(not tag[1]) >= max_depth and name not in _KEPT:
            end = html.find(">", tag.end()) + 1 or len(html)
            kept += (html[position : tag.start()], "" if name in _FORMATTING else "<br>")
            position = end
    kept.append(html[position:])
    return "".join(kept)
