"""Outlinks: the links of a page as its parser found them, each made when it is asked for.

Most links of a page are never looked at as a whole: they lead back to the page, are refused, or come after the first
hundred. Where one leads is therefore known before its anchor is read from the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Self, overload

from nutchpy.core.parse import Outlink

Lead = tuple[str, Any]
"""Where a link leads, and what its parser makes the link of."""


class Outlinks(Sequence[Outlink]):
    """The outlinks of a page, in page order; read from the page as far as somebody asks."""

    def __init__(self, leads: Iterator[Lead], make: Callable[[str, Any], Outlink]) -> None:
        self._rest = leads
        self._read: list[Lead] = []
        self.make = make
        """The link of a lead, with the URL given, which may be another form of the lead's."""

    @classmethod
    def of(cls, links: Iterable[Outlink]) -> Self:
        """Links that are made already."""
        return cls(((link.url, link) for link in links), _moved)

    def leads(self, start: int = 0, stop: int | None = None) -> list[Lead]:
        """Where links lead, from one place to another; for ``make``. No more of the page is read than is asked for."""
        if stop is None:
            self._read.extend(self._rest)
        elif stop > len(self._read):
            self._read.extend(islice(self._rest, stop - len(self._read)))
        return self._read[start:stop]

    def __iter__(self) -> Iterator[Outlink]:
        number = 0
        while lead := self.leads(number, number + 1):
            yield self.make(*lead[0])
            number += 1

    def __len__(self) -> int:
        return len(self.leads())

    @overload
    def __getitem__(self, index: int) -> Outlink: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Outlink]: ...
    def __getitem__(self, index: int | slice) -> Outlink | Sequence[Outlink]:
        if isinstance(index, slice):
            return [self.make(url, origin) for url, origin in self.leads()[index]]
        return self.make(*self.leads()[index])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)


def _moved(url: str, link: Outlink) -> Outlink:
    return link if url is link.url else link._replace(url=url)
