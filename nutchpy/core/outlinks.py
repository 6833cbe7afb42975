"""Outlinks: the links of a page as its parser found them, each made when it is asked for.

Most links of a page are never looked at as a whole: they lead back to the page, are refused, or come after the first
hundred. Where one leads is therefore known before its anchor is read from the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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

    def leads(self) -> Iterator[Lead]:
        """Where each link leads; for ``make``."""
        number = 0
        while True:
            if number == len(self._read):
                lead = next(self._rest, None)
                if lead is None:
                    return
                self._read.append(lead)
            yield self._read[number]
            number += 1

    def __iter__(self) -> Iterator[Outlink]:
        return (self.make(url, origin) for url, origin in self.leads())

    def __len__(self) -> int:
        self._read.extend(self._rest)
        return len(self._read)

    @overload
    def __getitem__(self, index: int) -> Outlink: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Outlink]: ...
    def __getitem__(self, index: int | slice) -> Outlink | Sequence[Outlink]:
        self._read.extend(self._rest)
        if isinstance(index, slice):
            return [self.make(url, origin) for url, origin in self._read[index]]
        return self.make(*self._read[index])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)


def _moved(url: str, link: Outlink) -> Outlink:
    return link if url is link.url else link._replace(url=url)
