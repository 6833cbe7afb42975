"""A few URLs fetched as a fetch list would be, their rows handed back instead of stored.

The same queues, delays, robots.txt, redirects and limits: only the list and the output are different.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol

from nutchpy.conf.layers import Conf
from nutchpy.core import urls
from nutchpy.core.counters import Counters
from nutchpy.core.errors import UsageError
from nutchpy.extension import chains
from nutchpy.fetcher import settings
from nutchpy.fetcher.dns import ThreadedLookups
from nutchpy.fetcher.item import FetchItem, Row
from nutchpy.fetcher.limits import Hung
from nutchpy.fetcher.loop import FetchLoop, Waker
from nutchpy.fetcher.machine import Share, World, build
from nutchpy.fetcher.sink import target_row


class Signal(Protocol):
    """Readable once the fetch is to end."""

    def fileno(self) -> int:
        """For the selector."""
        ...


@dataclass(frozen=True, slots=True)
class Fetched:
    """The crawl_fetch row of an attempt, and its content row when there is one."""

    fetch: Row
    content: Row | None


@dataclass(slots=True)
class _Kept:
    """An output that keeps rows."""

    rows: list[Fetched] = field(default_factory=list)
    full: bool = False

    def put(self, fetch: Row, content: Row | None, parse: Any) -> None:
        self.rows.append(Fetched(fetch, content))

    def keep(self, content: Row) -> None:
        """No robots.txt is of interest."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """The URLs as a piece of a list."""

    rows: Sequence[Row]
    queue_ids: Sequence[str]

    def items(self, positions: Sequence[int]) -> list[FetchItem]:
        return [self._item(self.rows[position], self.queue_ids[position]) for position in positions]

    def _item(self, row: Row, queue_id: str) -> FetchItem:
        return FetchItem(row["url"], row["host"], queue_id, row)


@dataclass(frozen=True, slots=True)
class _Stop:
    """Ends the loop when the signal comes."""

    signal: Signal
    loop: FetchLoop
    selector: selectors.BaseSelector
    grace: float

    def notice(self) -> None:
        self.selector.unregister(self.signal.fileno())
        self.loop.stop("interrupted", self.grace)


def fetch_urls(conf: Conf, wanted: Sequence[str], stop: Signal) -> tuple[list[Fetched], Counters]:
    """What came of each, in the order in which they ended; targets of redirects that were followed are among them."""
    listed = [_row(conf, url) for url in dict.fromkeys(wanted)]
    key = settings.queue_key(conf)
    pieces: Iterator[_Listed] = iter([_Listed(listed, [key(row["host"]) for row in listed])])
    kept = _Kept()
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        machine = build(conf, _world(conf, kept, selector, stack), pieces, Share())
        loop = FetchLoop(machine, selector, time.monotonic)
        machine.sources.append(Hung(settings.hung_seconds(conf), time.monotonic(), machine.pipeline, machine.traffic))
        ending = _Stop(stop, loop, selector, conf.number("fetcher.stop.grace"))
        selector.register(stop.fileno(), selectors.EVENT_READ, ending)
        loop.run()
        return kept.rows, machine.counters()


def _world(conf: Conf, kept: _Kept, selector: selectors.BaseSelector, stack: ExitStack) -> World:
    waker = Waker(selector)
    stack.callback(waker.close)
    transport = chains.transport(conf)
    stack.callback(transport.close)
    transport.attach(selector, waker.wake)
    lookups = ThreadedLookups(conf.integer("fetcher.dns.threads"), waker.wake)
    stack.callback(lookups.close)
    return World(transport, lookups, kept, time.monotonic, lambda: time.time_ns() // 1000)


def _row(conf: Conf, text: str) -> Row:
    parsed = urls.parse(text)
    if parsed is None:
        raise UsageError(f"{text} is not a URL")
    url = str(parsed.href)
    source = {"fetch_interval": conf.integer("db.fetch.interval.default"), "score": 0.0, "depth": 0, "metadata": None}
    return target_row(source, url, urls.host_of(url) or "")
