"""BeautifulSoup over lxml: the tree shown to parse filters, and the careful walk of ``parser.html.impl = "bs4"``.

The only module that knows bs4. About twenty times the cost of the fast walk; on ordinary pages the same answers.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from bs4 import BeautifulSoup, CData, NavigableString, Tag, XMLParsedAsHTMLWarning

from nutchpy.plugins.parse.extract import SKIP, Action, Attributes, Mark, Page


def make_soup(html: str) -> BeautifulSoup:
    """The page as a BeautifulSoup; trees of any depth are kept whole."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        return BeautifulSoup(html.replace("\0", ""), "lxml", huge_tree=True)


class SoupWalker:
    """Walks pages with the actions it is built for."""

    def __init__(self, actions: Mapping[str, Action]) -> None:
        self._actions = actions

    def walk(self, html: str, page: Page) -> None:
        """Collect into ``page`` what the tree of ``html`` says."""
        nodes: list[tuple[Any, Any]] = [(node, None) for node in reversed(make_soup(html).contents)]
        while nodes:
            node, end = nodes.pop()
            if node is None:
                _ended(end, page)
            elif isinstance(node, Tag):
                end = self._begun(node, page)
                nodes.append((None, None if end is SKIP else end))
                if end is not SKIP:
                    nodes.extend((child, None) for child in reversed(node.contents))
            elif type(node) in (NavigableString, CData):
                page.sink.append(str(node))

    def _begun(self, node: Tag, page: Page) -> Any:
        action = self._actions.get(node.name)
        end: Any = action
        if isinstance(action, str):
            page.sink.append(action)
        elif action is not None:
            end = action(page, _attributes(node))
        if "hidden" in node.attrs:
            return _also(end, page)
        return end


def _also(end: Any, page: Page) -> Any:
    show = page.hide()
    if end is SKIP:
        show()
        return SKIP

    def both() -> None:
        if not isinstance(end, str):
            _ended(end, page)
        show()

    return both


def _ended(end: Any, page: Page) -> None:
    if end is None:
        return
    if isinstance(end, str):
        page.sink.append(end)
    elif isinstance(end, Mark):
        end.stop = len(end.sink)
        page.sink.append(end.after or "")
    else:
        end()


def _attributes(node: Tag) -> Attributes:
    """Attribute values as texts; BeautifulSoup splits ``rel`` and its like into lists."""
    return {name: value if isinstance(value, str) else " ".join(value) for name, value in node.attrs.items()}
