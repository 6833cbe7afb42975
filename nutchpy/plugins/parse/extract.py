"""What a page says, collected while its tree is walked: text, links with anchors, title, metas, headings.

Knows HTML's elements and nothing of any tree library: a walker (``lexbor.py``, ``soup.py``) goes through the tree in
document order, appends text to the page's ``sink``, and calls the action of each element; what an action answers is
done when the element ends. Text is collected in pieces; ``BREAK`` stands where a line begins. Of what has a text of
its own (a link, a heading) only the place is marked: most anchors are never asked for.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

BREAK: Final = "\0"
"""A NUL, which HTML's tree construction never leaves in a text."""
SKIP: Final = object()
"""Answer of an action: pass over the element's content."""
MAX_ANCHOR: Final = 2_000
"""Characters of one anchor or heading that are kept, so that nested links cannot multiply a page."""
_MAX_PIECES: Final = 500

Attributes = Mapping[str, str | None]
Action = Callable[["Page", Attributes], object] | str
"""A separator to put around the element, or what to do at its start.

An action answers None; ``SKIP``; a text to append, a Mark to close, or a function to call when the element ends.
"""

_LINES: Final = """
    address article aside blockquote body br canvas caption center dd details dialog dir div dl dt fieldset figcaption
    figure footer frameset head header hgroup hr legend li main menu nav ol optgroup option p pre search section
    select summary table tbody tfoot thead tr ul video
"""
_CELLS: Final = ("button", "input", "object", "rt", "td", "textarea", "th")
_RAW: Final = ("noembed", "noframes", "style")
_CANDIDATE: Final = re.compile(r"[\t\n\f\r ,]*([^\t\n\f\r ]+)(?:(?<=,)|[^,(]*(?:\([^)]*\)?[^,(]*)*)")


class Mark:
    """An element worth remembering: what it is, what its attributes said, where in a sink its text lies."""

    __slots__ = ("after", "alt", "reference", "rel", "sink", "start", "stop", "tag")

    def __init__(self, tag: str, sink: list[str], reference: str, rel: str | None, alt: str, after: str = "") -> None:
        self.tag = tag
        self.sink = sink
        self.reference = reference
        self.rel = rel
        self.alt = alt
        self.after = after
        """What to append when the element ends."""
        self.start = self.stop = len(sink)

    def text(self) -> str:
        """The text inside, on one line."""
        pieces = self.sink[self.start : min(self.stop, self.start + _MAX_PIECES)]
        return " ".join("".join(pieces)[: 2 * MAX_ANCHOR].replace(BREAK, " ").split())[:MAX_ANCHOR]


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
    """What a walk collects. ``sink`` is where text goes: ``pieces``, or ``aside`` inside what is not shown."""

    rules: Rules
    pieces: list[str] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)
    links: list[Mark] = field(default_factory=list)
    headings: list[Mark] = field(default_factory=list)
    title_mark: Mark | None = None
    metas: list[tuple[str, str]] = field(default_factory=list)
    pragmas: list[tuple[str, str]] = field(default_factory=list)
    base_reference: str | None = None
    canonical_reference: str | None = None
    language: str | None = None
    sink: list[str] = field(init=False)
    _hidden: int = 0
    _foreign: int = 0
    _images: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sink = self.pieces

    @property
    def title(self) -> str:
        """The title, on one line."""
        return self.title_mark.text() if self.title_mark else ""

    @property
    def text(self) -> str:
        """What is shown: white space collapsed, a line per block, empty lines left out."""
        lines = "".join(self.pieces).split(BREAK)
        return "\n".join([" ".join(line.split()) for line in lines if line and not line.isspace()])

    def anchor(self, link: Mark) -> str:
        """The text inside a link or, failing that, the alternative text that stands for it."""
        return link.text() or link.alt or self._image_within(link)

    def _image_within(self, link: Mark) -> str:
        if link.sink is not self.pieces or link.start == link.stop:
            return ""
        nearest = bisect_left(self._images, (link.start, ""))
        found = self._images[nearest] if nearest < len(self._images) else (link.stop, "")
        return found[1] if found[0] < link.stop else ""

    def hide(self) -> Callable[[], None]:
        """Text goes aside until the answer is called."""
        self._hidden += 1
        self.sink = self.aside
        return self._show

    def _show(self) -> None:
        self._hidden -= 1
        if not self._hidden:
            self.sink = self.pieces

    def add(self, tag: str, reference: str | None, rel: str | None = None, alt: str = "") -> Mark | None:
        """Keep a link, unless the settings ignore its element or its rel."""
        if reference is None or tag in self.rules.ignore_tags:
            return None
        if rel is not None:
            tokens = rel.lower().split()
            if not self.rules.ignore_rel.isdisjoint(tokens):
                return None
            rel = " ".join(tokens) or None
        mark = Mark(tag, self.sink, reference, rel, alt)
        self.links.append(mark)
        return mark

    def sources(self, tag: str, attributes: Attributes, alt: str) -> None:
        """``src``, then each candidate of ``srcset`` that says something new."""
        src, srcset = attributes.get("src"), attributes.get("srcset")
        self.add(tag, src, alt=alt)
        for reference in candidates(srcset) if srcset else ():
            if reference != src:
                self.add(tag, reference, alt=alt)

    def line(self, tag: str) -> Mark:
        """A line of its own, marked."""
        self.sink.append(BREAK)
        return Mark(tag, self.sink, "", None, "", BREAK)

    def image(self, alt: str) -> None:
        """Remember an image's text, at a place of its own in the sink, for the link around it."""
        if alt and self.sink is self.pieces:
            self._images.append((len(self.sink), alt))
            self.sink.append("")

    def enter_foreign(self) -> Callable[[], None]:
        """Inside SVG or MathML until the answer is called."""
        self._foreign += 1
        return self._leave_foreign

    def _leave_foreign(self) -> None:
        self._foreign -= 1

    @property
    def in_foreign(self) -> bool:
        """Whether the walk is inside SVG or MathML."""
        return self._foreign > 0


def candidates(srcset: str) -> list[str]:
    """The references of a ``srcset``, as the HTML standard splits it."""
    return [match[1].rstrip(",") for match in _CANDIDATE.finditer(srcset)]


def actions(rules: Rules) -> dict[str, Action]:
    """The action of each element that has one, by tag name."""
    found: dict[str, Action] = dict.fromkeys((*_LINES.split(), *rules.line_separators), BREAK)
    found |= dict.fromkeys(_CELLS, " ")
    found |= dict.fromkeys(_RAW, _raw) | {"template": _skip}
    found |= {f"h{level}": _heading(f"h{level}") for level in range(1, 7)}
    found |= {"html": _html, "title": _title, "meta": _meta, "base": _base, "a": _a, "area": _area}
    found |= {"link": _link, "img": _img, "source": _source, "iframe": _iframe, "frame": _frame, "script": _script}
    found |= {"form": _form, "svg": _embedded, "math": _embedded}
    if rules.noscript_text:
        found.setdefault("noscript", BREAK)
    else:
        found["noscript"] = _noscript
    return found


def _heading(tag: str) -> Action:
    def start(page: Page, attributes: Attributes) -> Mark:
        mark = page.line(tag)
        page.headings.append(mark)
        return mark

    return start


def _skip(page: Page, attributes: Attributes) -> object:
    return SKIP


def _raw(page: Page, attributes: Attributes) -> object:
    """What holds nothing but a text that is not shown; inside SVG and MathML it may hold elements, links too."""
    return page.hide() if page.in_foreign else SKIP


def _html(page: Page, attributes: Attributes) -> None:
    page.language = attributes.get("lang") or attributes.get("xml:lang")


def _title(page: Page, attributes: Attributes) -> Mark | None:
    if page.in_foreign or page.title_mark is not None:
        return None
    page.title_mark = page.line("title")
    return page.title_mark


def _meta(page: Page, attributes: Attributes) -> None:
    content = attributes.get("content")
    if content is None:
        return
    if pragma := attributes.get("http-equiv"):
        page.pragmas.append((pragma.strip().lower(), content))
    if name := attributes.get("name") or attributes.get("property"):
        page.metas.append((name.strip().lower(), content))


def _base(page: Page, attributes: Attributes) -> None:
    if page.base_reference is None:
        page.base_reference = attributes.get("href")


def _embedded(page: Page, attributes: Attributes) -> Callable[[], None]:
    return page.enter_foreign()


def _a(page: Page, attributes: Attributes) -> Mark | None:
    reference = attributes.get("href")
    if reference is None:
        reference = attributes.get("xlink:href") if page.in_foreign else None
    return page.add("a", reference, attributes.get("rel"))


def _area(page: Page, attributes: Attributes) -> None:
    page.add("area", attributes.get("href"), attributes.get("rel"), _words(attributes.get("alt")))


def _link(page: Page, attributes: Attributes) -> None:
    reference, rel = attributes.get("href"), attributes.get("rel")
    page.add("link", reference, rel)
    if rel and page.canonical_reference is None and "canonical" in rel.lower().split():
        page.canonical_reference = reference


def _img(page: Page, attributes: Attributes) -> None:
    alt = _words(attributes.get("alt"))
    page.image(alt)
    page.sources("img", attributes, alt)


def _source(page: Page, attributes: Attributes) -> None:
    page.sources("source", attributes, "")


def _iframe(page: Page, attributes: Attributes) -> object:
    page.add("iframe", attributes.get("src"))
    return _raw(page, attributes)


def _frame(page: Page, attributes: Attributes) -> None:
    page.add("frame", attributes.get("src"))


def _script(page: Page, attributes: Attributes) -> object:
    page.add("script", attributes.get("src"))
    return _raw(page, attributes)


def _form(page: Page, attributes: Attributes) -> Mark | str:
    page.sink.append(BREAK)
    posted = (attributes.get("method") or "").strip().lower() == "post"
    if posted or not page.rules.form_use_action:
        return BREAK
    mark = page.add("form", attributes.get("action"))
    if mark is None:
        return BREAK
    mark.after = BREAK
    return mark


def _noscript(page: Page, attributes: Attributes) -> Callable[[], None]:
    return page.hide()


def _words(text: str | None) -> str:
    return " ".join(text.split())[:MAX_ANCHOR] if text else ""
