"""Outlinks: read as far as somebody asks, made as they are asked for."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

from nutchpy.core.outlinks import Lead, Outlinks
from nutchpy.core.parse import Outlink


def test_no_more_is_read_or_made_than_is_asked_for() -> None:
    read: list[int] = []
    made: list[str] = []

    def leads() -> Iterator[Lead]:
        for number in range(5):
            read.append(number)
            yield f"u{number}", number

    def make(url: str, origin: int) -> Outlink:
        made.append(url)
        return Outlink(url, str(origin))

    links = Outlinks(leads(), make)
    assert links.leads(0, 2) == [("u0", 0), ("u1", 1)]
    assert links.leads(1, 3) == [("u1", 1), ("u2", 2)]
    assert (read, made) == ([0, 1, 2], [])
    assert links[1] == Outlink("u1", "1")
    assert made == ["u1"]
    assert len(links) == 5
    assert [link.anchor for link in links] == ["0", "1", "2", "3", "4"]
    assert links[3:] == [Outlink("u3", "3"), Outlink("u4", "4")]
    assert not links.leads(5, 9)


def test_links_made_already_stay_what_they_are() -> None:
    given = [Outlink("http://a.test/", "a", "help"), Outlink("http://b.test/")]
    links = Outlinks.of(iter(given))
    assert links == given
    assert next(iter(links)) is given[0]
    assert links.make("http://c.test/", given[0]) == Outlink("http://c.test/", "a", "help")
    assert pickle.loads(pickle.dumps(links)) == tuple(given)
