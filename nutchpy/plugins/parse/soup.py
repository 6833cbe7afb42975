"""BeautifulSoup over lxml: the tree shown to parse filters, and the careful one of ``parser.html.impl = "bs4"``.

The only module that knows bs4. About twenty times the cost of the fast tree; on ordinary pages the same answers.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from bs4 import BeautifulSoup, Tag, XMLParsedAsHTMLWarning

from nutchpy.plugins.parse.extract import APART, BREAK
from nutchpy.plugins.parse.tree import Action, Attributes


def make_soup(html: str) -> BeautifulSoup:
    """The page as a BeautifulSoup; trees of any depth are kept whole."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        return BeautifulSoup(html.replace("\0", ""), "lxml", huge_tree=True)


class SoupBuilder:
    """Builds trees sorted out by these actions."""

    def __init__(self, actions: Mapping[str, Action]) -> None:
        self._actions = actions

    def tree(self, html: str, utf8: bytes | None = None) -> SoupTree:
        """The tree of a page."""
        return SoupTree(make_soup(html), self._actions)


class SoupTree:
    """See ``tree.Tree``."""

    def __init__(self, soup: BeautifulSoup, actions: Mapping[str, Action]) -> None:
        self._soup = soup
        found = [(actions.get(node.name), node) for node in soup.find_all(True)]
        self.lines = [node for action, node in found if action == BREAK]
        self.apart = [node for action, node in found if action == APART]
        self.elements: list[tuple[Any, Any]] = [(action, node) for action, node in found if callable(action)]

    def attributes(self, node: Tag) -> Attributes:
        """Values as texts; BeautifulSoup splits ``rel`` and its like into lists."""
        return {name: value if isinstance(value, str) else " ".join(value) for name, value in node.attrs.items()}

    def text(self, node: Tag | None = None) -> str:
        """All text inside an element, or of the page."""
        return (node or self._soup).get_text()

    def images(self, node: Tag) -> Iterable[Attributes]:
        """The attributes of the images inside an element."""
        return map(self.attributes, node.find_all("img"))

    def hidden(self) -> list[Tag]:
        """The elements that have the attribute ``hidden``."""
        return list(self._soup.find_all(hidden=True))

    def within(self, node: Tag) -> set[int]:
        """The identities of the elements inside an element."""
        return set(map(id, node.find_all(True)))

    def identity(self, node: Tag) -> int:
        """Its address."""
        return id(node)

    def surround(self, nodes: Iterable[Tag], separator: str) -> None:
        """Put a text before and behind each element."""
        for node in nodes:
            node.insert_before(separator)
            node.insert_after(separator)

    def remove(self, nodes: Iterable[Tag]) -> None:
        """Take elements out of the tree, each with all that is in it."""
        for node in nodes:
            node.extract()
