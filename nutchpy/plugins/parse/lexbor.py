"""The fast tree: lexbor's HTML5 tree through selectolax. The only module that knows selectolax.

Speed is a matter of how little of the tree becomes Python: elements are looked at once, by the number of their tag;
texts never one by one, but as a whole, collected in C.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import repeat
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from nutchpy.plugins.parse.extract import APART, BREAK
from nutchpy.plugins.parse.tree import Action, Attributes

_HIDDEN: Final = re.compile(rb"""hidden(?<=[\s/"']hidden)[\s/>=]""")
"""The attribute in a page's source in lower case: to look for it takes a third of asking the tree."""


class LexborBuilder:
    """Builds trees sorted out by these actions."""

    def __init__(self, actions: Mapping[str, Action]) -> None:
        sample = LexborHTMLParser("<p>x")
        self._actions = {sample.create_node(tag).tag_id: action for tag, action in actions.items()}

    def tree(self, html: str, utf8: bytes | None = None) -> LexborTree:
        """The tree of a page; building it of the page's bytes saves encoding it."""
        hides = utf8 is None or _HIDDEN.search(utf8.lower()) is not None
        return LexborTree(LexborHTMLParser(utf8 or html), self._actions, hides=hides)


class LexborTree:
    """See ``tree.Tree``. Nodes live as long as the tree does, in it or taken out of it."""

    def __init__(self, parser: LexborHTMLParser, actions: Mapping[int, Action], *, hides: bool = True) -> None:
        self._parser = parser
        self._hides = hides
        self._root = parser.root
        self.lines: list[Any] = []
        self.apart: list[Any] = []
        self.elements: list[tuple[Any, Any]] = []
        if self._root is not None:
            self._sort_out(self._root, actions)

    def _sort_out(self, root: LexborNode, actions: Mapping[int, Action]) -> None:
        action_of, lines, apart, elements = actions.get, self.lines, self.apart, self.elements
        for node in root.traverse():
            action = action_of(node.tag_id)
            if action is BREAK:
                lines.append(node)
            elif action is not None:
                if action is APART:
                    apart.append(node)
                else:
                    elements.append((action, node))

    def attributes(self, node: LexborNode) -> Attributes:
        """An attribute without a value has None."""
        return node.attributes

    def text(self, node: LexborNode | None = None) -> str:
        """All text inside an element, or of the page."""
        if node is None:
            node = self._root
        return node.text() if node is not None else ""

    def images(self, node: LexborNode) -> Iterable[Attributes]:
        """The attributes of the images inside an element."""
        return [image.attributes for image in node.css("img[alt]")]

    def hidden(self) -> list[LexborNode]:
        """The elements that have the attribute ``hidden``."""
        return self._parser.css("[hidden]") if self._hides else []

    def within(self, node: LexborNode) -> set[int]:
        """The identities of the elements inside an element."""
        return {inner.mem_id for inner in node.traverse()} - {node.mem_id}

    def identity(self, node: LexborNode) -> int:
        """Its address."""
        return node.mem_id

    def surround(self, nodes: Iterable[LexborNode], separator: str) -> None:
        """Put a text before and behind each element (a map into nowhere: half the time of a loop)."""
        mark = separator.encode()
        nodes = list(nodes)
        deque(map(LexborNode.insert_before, nodes, repeat(mark)), 0)
        deque(map(LexborNode.insert_after, nodes, repeat(mark)), 0)

    def remove(self, nodes: Iterable[LexborNode]) -> None:
        """Take elements out of the tree, each with all that is in it; of a page without its root nothing is left."""
        root = self._root.mem_id if self._root is not None else 0
        for node in nodes:
            if node.mem_id == root:
                self._root = None
            else:
                node.decompose(recursive=False)
