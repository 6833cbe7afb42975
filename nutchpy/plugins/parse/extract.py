"""What a page says, read off its tree: text, links with anchors, title, metas, headings.

Knows HTML's elements, and of tree libraries only what ``tree.py`` asks of them. The page's elements are sorted out in
one pass: those that begin a line, those that stand apart, those that mean something, and the many that mean nothing.
Then separators are put into the tree around the former and what is not shown is taken out of it, so that the library's
own text of an element, or of all, is what a reader sees; ``BREAK`` stands where a line begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from nutchpy.plugins.parse.tree import Action, Node, Tree

BREAK: Final = "\0"
"""A NUL, which HTML's tree construction never leaves in a text."""
APART: Final = " "
MAX_ANCHOR: Final = 2_000
"""Characters of one anchor or heading that are kept, so that nested links cannot multiply a page."""

_LINES: Final = """
    address article aside blockquote body br canvas caption center dd details dialog dir div dl dt fieldset figcaption
    figure footer frameset head header hgroup hr legend li main menu nav ol optgroup option p pre search section
    select summary table tbody tfoot thead tr ul video
"""
_CELLS: Final = ("button", "input", "object", "rt", "td", "textarea", "th")
_SPACE: Final = "\t\n\f\r "
_CANDIDATE: Final = re.compile(rf"[{_SPACE},]*+([^{_SPACE}]++)(?:(?<=,)|([^,(]*+(?:\([^)]*+\)?[^,(]*+)*+))")
_DESCRIPTORS: Final = re.compile(
    rf"(?:0*[1-9][0-9]*w(?:[{_SPACE}]+0*[1-9][0-9]*h)?|0*[1-9][0-9]*h[{_SPACE}]+0*[1-9][0-9]*w"
    r"|(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?x)?"
)
"""A width, a width and a height, a density, or nothing."""

Reference = tuple[str, Node, str, str | None, str]
"""A link as written: its tag and element, the reference, its rel, and what stands for it when it has no text."""
Reader = Callable[["Page", Node], Iterable[Reference]]
"""What references an element holds."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings that extraction knows."""

    form_use_action: bool = False
    ignore_tags: frozenset[str] = frozenset()
    ignore_rel: frozenset[str] = frozenset({"nofollow"})
    line_separators: tuple[str, ...] = ()
    noscript_text: bool = False


@dataclass(slots=True)
class Page:
    """What is read off a tree, at once but for the links: they are read when they are asked for."""

    rules: Rules
    tree: Tree
    links: list[tuple[Reader, Node]] = field(default_factory=list)
    """Elements that may hold references, and how to read them, in document order."""
    headings: list[tuple[str, Node]] = field(default_factory=list)
    titled: Node | None = None
    metas: list[tuple[str, str]] = field(default_factory=list)
    pragmas: list[tuple[str, str]] = field(default_factory=list)
    base_reference: str | None = None
    canonical_reference: str | None = None
    language: str | None = None
    lines: list[Node] = field(default_factory=list)
    unseen: list[Node] = field(default_factory=list)
    foreign: set[int] = field(default_factory=set)
    """What is inside SVG or MathML."""
    skipped: set[int] = field(default_factory=set)
    """What is no part of the page."""

    @classmethod
    def of(cls, tree: Tree, rules: Rules) -> Page:
        """The page of a tree, whose text is made fit to be read."""
        page = cls(rules, tree)
        for action, node in tree.elements:
            if not page.skipped or tree.identity(node) not in page.skipped:
                action(page, node)
        tree.surround(page.lines, BREAK)
        tree.surround(tree.lines, BREAK)
        tree.surround(tree.apart, APART)
        tree.remove([*page.unseen, *tree.hidden()])
        return page

    @property
    def title(self) -> str:
        """The title, on one line."""
        return self.inside(self.titled) if self.titled is not None else ""

    @property
    def text(self) -> str:
        """What is shown: white space collapsed, a line per block, empty lines left out."""
        words = map(str.split, self.tree.text().split(BREAK))
        return "\n".join(map(" ".join, filter(None, words)))

    def inside(self, node: Node) -> str:
        """The text inside an element, on one line."""
        text = self.tree.text(node)[: 2 * MAX_ANCHOR]
        return " ".join(text.replace(BREAK, " ").split())[:MAX_ANCHOR]

    def anchor(self, link: Reference) -> str:
        """The text inside a link or, failing that, the alternative text that stands for it."""
        tag, node, _, _, alt = link
        if tag not in _WITH_TEXT:
            return alt
        return self.inside(node) or next(filter(None, map(_alt, self.tree.images(node))), "")

    def in_foreign(self, node: Node) -> bool:
        """Whether an element is inside SVG or MathML."""
        return bool(self.foreign) and self.tree.identity(node) in self.foreign

    def ignores(self, rel: str) -> bool:
        """Whether the settings ignore links of that rel."""
        return not self.rules.ignore_rel.isdisjoint(rel.lower().split())


def candidates(srcset: str) -> list[str]:
    """The references of a ``srcset``, as the HTML standard splits it; without those that it says are in error."""
    return [
        match[1].rstrip(",")
        for match in _CANDIDATE.finditer(srcset.strip(f"{_SPACE},"))
        if match[2] is None or _DESCRIPTORS.fullmatch(match[2].strip(_SPACE))
    ]


def actions(rules: Rules) -> dict[str, Action]:
    """What to do at each element that is not passed over, by tag name: a separator to put around it, or an action."""
    found: dict[str, Action] = dict.fromkeys((*_LINES.split(), *rules.line_separators), BREAK)
    found |= dict.fromkeys(_CELLS, APART)
    found |= dict.fromkeys(("noembed", "noframes", "style"), _raw) | {"template": _skip}
    found |= {f"h{level}": _heading(f"h{level}") for level in range(1, 7)}
    found |= {tag: _linking(tag) for tag in ("a", "area", "frame", "img", "source") if tag not in rules.ignore_tags}
    found |= {"html": _html, "title": _title, "meta": _meta, "base": _base, "link": _link}
    found |= {"iframe": _raw_link("iframe"), "script": _raw_link("script"), "form": _form}
    found |= {"svg": _embedded, "math": _embedded}
    if rules.noscript_text:
        found.setdefault("noscript", BREAK)
    else:
        found["noscript"] = _hide
    return found


def _heading(tag: str) -> Action:
    def action(page: Page, node: Node) -> None:
        page.lines.append(node)
        page.headings.append((tag, node))

    return action


def _linking(tag: str) -> Action:
    reader = _READERS[tag]

    def action(page: Page, node: Node) -> None:
        page.links.append((reader, node))

    return action


def _raw_link(tag: str) -> Action:
    def action(page: Page, node: Node) -> None:
        if tag not in page.rules.ignore_tags:
            page.links.append((_READERS[tag], node))
        _raw(page, node)

    return action


def _hide(page: Page, node: Node) -> None:
    page.unseen.append(node)


def _skip(page: Page, node: Node) -> None:
    page.unseen.append(node)
    page.skipped |= page.tree.within(node)


def _raw(page: Page, node: Node) -> None:
    """What holds nothing but a text that is not shown; inside SVG and MathML it may hold elements, links too."""
    if page.in_foreign(node):
        _hide(page, node)
    else:
        _skip(page, node)


def _html(page: Page, node: Node) -> None:
    attributes = page.tree.attributes(node)
    page.language = attributes.get("lang") or attributes.get("xml:lang")


def _title(page: Page, node: Node) -> None:
    if page.titled is None and not page.in_foreign(node):
        page.titled = node
        page.lines.append(node)


def _meta(page: Page, node: Node) -> None:
    attributes = page.tree.attributes(node)
    content = attributes.get("content")
    if content is None:
        return
    if pragma := attributes.get("http-equiv"):
        page.pragmas.append((pragma.strip().lower(), content))
    if name := attributes.get("name") or attributes.get("property"):
        page.metas.append((name.strip().lower(), content))


def _base(page: Page, node: Node) -> None:
    if page.base_reference is None:
        page.base_reference = page.tree.attributes(node).get("href")


def _link(page: Page, node: Node) -> None:
    if "link" not in page.rules.ignore_tags:
        page.links.append((_read_link, node))
    if page.canonical_reference is None:
        attributes = page.tree.attributes(node)
        if "canonical" in (attributes.get("rel") or "").lower().split():
            page.canonical_reference = attributes.get("href")


def _embedded(page: Page, node: Node) -> None:
    if not page.in_foreign(node):
        page.foreign |= page.tree.within(node)


def _form(page: Page, node: Node) -> None:
    page.lines.append(node)
    if page.rules.form_use_action and "form" not in page.rules.ignore_tags:
        page.links.append((_read_form, node))


def _read_a(page: Page, node: Node) -> Iterable[Reference]:
    attributes = page.tree.attributes(node)
    reference = attributes.get("href")
    if reference is None and page.in_foreign(node):
        reference = attributes.get("xlink:href")
    if reference is not None and "rel" not in attributes:
        return (("a", node, reference, None, ""),)  # most links
    return _with_rel(page, "a", node, reference, attributes.get("rel"))


def _read_link(page: Page, node: Node) -> Iterable[Reference]:
    attributes = page.tree.attributes(node)
    return _with_rel(page, "link", node, attributes.get("href"), attributes.get("rel"))


def _read_area(page: Page, node: Node) -> Iterable[Reference]:
    attributes = page.tree.attributes(node)
    return _with_rel(page, "area", node, attributes.get("href"), attributes.get("rel"), _alt(attributes))


def _with_rel(
    page: Page, tag: str, node: Node, reference: str | None, rel: str | None, alt: str = ""
) -> Iterable[Reference]:
    if reference is None:
        return ()
    if rel is None:
        return ((tag, node, reference, None, alt),)
    return () if page.ignores(rel) else ((tag, node, reference, " ".join(rel.lower().split()) or None, alt),)


def _sources_of(tag: str) -> Reader:
    """``src``, then each candidate of ``srcset`` that says something new."""

    def read(page: Page, node: Node) -> Iterable[Reference]:
        attributes = page.tree.attributes(node)
        src, srcset = attributes.get("src"), attributes.get("srcset")
        found = [src] if src is not None else []
        if srcset:
            found += [reference for reference in candidates(srcset) if reference != src]
        alt = _alt(attributes) if tag == "img" else ""
        return [(tag, node, reference, None, alt) for reference in found]

    return read


def _src_of(tag: str) -> Reader:
    def read(page: Page, node: Node) -> Iterable[Reference]:
        attributes = page.tree.attributes(node)
        src = attributes.get("src")
        return ((tag, node, src, None, ""),) if src is not None else ()

    return read


def _read_form(page: Page, node: Node) -> Iterable[Reference]:
    attributes = page.tree.attributes(node)
    action = attributes.get("action")
    posted = (attributes.get("method") or "").strip().lower() == "post"
    return (("form", node, action, None, ""),) if action is not None and not posted else ()


def _alt(attributes: Mapping[str, Any]) -> str:
    """The alternative text of an image."""
    text = attributes.get("alt")
    return " ".join(text.split())[:MAX_ANCHOR] if text else ""


_WITH_TEXT: Final = frozenset({"a", "form"})
_READERS: Final[Mapping[str, Reader]] = {
    "a": _read_a,
    "area": _read_area,
    "form": _read_form,
    "frame": _src_of("frame"),
    "iframe": _src_of("iframe"),
    "img": _sources_of("img"),
    "link": _read_link,
    "script": _src_of("script"),
    "source": _sources_of("source"),
}
