"""The fast walk: lexbor's HTML5 tree through selectolax, in one pass.

The only module that knows selectolax. The walk is one loop over ``first_child`` and ``next`` with a stack of its own,
since trees are deep and ends of elements matter; it is long because a function call per node would double its cost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser

from nutchpy.plugins.parse.extract import SKIP, Action, Mark, Page

_TEXT: Final = "#text"
_HIDDEN: Final = re.compile(r"hidden(?<=\shidden)(?=[\s=>/])")
"""An attribute, perhaps: the search for elements is made only when the source has this."""


class LexborWalker:
    """Walks pages with the actions it is built for."""

    def __init__(self, actions: Mapping[str, Action]) -> None:
        sample = LexborHTMLParser("<p>x")
        ids: dict[str, Any] = {tag: sample.create_node(tag).tag_id for tag in actions}
        self._actions: dict[int, Any] = {ids[tag]: action for tag, action in actions.items()}
        self._actions[_text_id(sample)] = _TEXT

    def walk(self, html: str, page: Page) -> None:
        """Collect into ``page`` what the tree of ``html`` says."""
        parser = LexborHTMLParser(html)
        if parser.root is not None:
            hidden = {node.mem_id for node in parser.css("[hidden]")} if _HIDDEN.search(html) else None
            self._walk(parser.root, page, hidden)

    def _walk(self, node: Any, page: Page, hidden: set[int] | None) -> None:  # noqa: C901  a call per node costs double
        action_of = self._actions.get
        append = page.sink.append
        nodes: list[Any] = []
        ends: list[Any] = []
        while True:
            action = action_of(node.tag_id)
            if action is _TEXT:
                append(node.text_content)
            else:
                if action is None or action.__class__ is str:
                    end = action
                    if end:
                        append(end)
                else:
                    end = action(page, node.attributes)
                    append = page.sink.append
                if hidden and node.mem_id in hidden:
                    end = _also(end, page.hide())
                    append = page.sink.append
                if end is not SKIP:
                    child = node.first_child
                    if child is not None:
                        nodes.append(node)
                        ends.append(end)
                        node = child
                        continue
                    if end is not None:
                        append = _ended(end, page, append)
            node = node.next
            while node is None:
                end = ends.pop()
                if end.__class__ is str:
                    append(end)
                elif end is not None:
                    append = _ended(end, page, append)
                node = nodes.pop()
                if not nodes:
                    return
                node = node.next


def _ended(end: Any, page: Page, append: Callable[[str], None]) -> Callable[[str], None]:
    """Do what an element's end asks for; answers where text goes from now on."""
    if end.__class__ is str:
        append(end)
    elif end.__class__ is Mark:
        end.stop = len(end.sink)
        if end.after:
            append(end.after)
    else:
        end()
        return page.sink.append
    return append


def _also(end: Any, show: Callable[[], None]) -> Any:
    """The end of a hidden element: its own, then what ends the hiding."""
    if end is SKIP:
        show()
        return SKIP

    def both() -> None:
        if end.__class__ is Mark:
            end.stop = len(end.sink)
        elif callable(end):
            end()
        show()

    return both


def _text_id(sample: LexborHTMLParser) -> int:
    paragraph = sample.css_first("p")
    text = paragraph.first_child if paragraph is not None else None
    if text is None:
        raise RuntimeError("selectolax built no text node for <p>x")
    return int(text.tag_id)
