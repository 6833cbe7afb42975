"""What extraction asks of a tree library: the elements that matter, their attributes, and the texts inside.

Two libraries answer it (``lexbor.py``, ``soup.py``); nodes are theirs and go through extraction unopened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

Node = Any
"""An element, of whichever library."""
Attributes = Mapping[str, str | None]
Action = str | Callable[[Any, Node], None]
"""A separator to put around an element, or what to do with the page and the element."""


class Tree(Protocol):
    """The tree of a page, its elements sorted out by their actions, each kind in document order."""

    @property
    def lines(self) -> Sequence[Node]:
        """Elements that begin a line, and end it."""
        ...

    @property
    def apart(self) -> Sequence[Node]:
        """Elements with a blank on either side."""
        ...

    @property
    def elements(self) -> Sequence[tuple[Callable[[Any, Node], None], Node]]:
        """Elements that have an action of their own."""
        ...

    def attributes(self, node: Node) -> Attributes:
        """Names in lower case; a value may be None where it is empty."""
        ...

    def text(self, node: Node | None = None) -> str:
        """All text inside an element, or of the page."""
        ...

    def images(self, node: Node) -> Iterable[Attributes]:
        """The attributes of the images inside an element."""
        ...

    def hidden(self) -> Sequence[Node]:
        """The elements that have the attribute ``hidden``."""
        ...

    def within(self, node: Node) -> set[int]:
        """The identities of the elements inside an element."""
        ...

    def identity(self, node: Node) -> int:
        """What tells a node from all others of its page."""
        ...

    def surround(self, nodes: Iterable[Node], separator: str) -> None:
        """Put a text before and behind each element."""
        ...

    def remove(self, nodes: Iterable[Node]) -> None:
        """Take elements out of the tree; they stay whole."""
        ...


class Builder(Protocol):
    """Builds trees; knows the actions by which their elements are sorted out."""

    def tree(self, html: str, utf8: bytes | None = None) -> Tree:
        """The tree of a page; ``utf8`` is the same page in UTF-8, when somebody has it."""
        ...
