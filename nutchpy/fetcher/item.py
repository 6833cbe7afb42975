"""FetchItem: one URL on its way through the fetcher; Request and Timeouts: what a transport is told of it.

Pure values. Times in a row are integers, microseconds since the epoch (UTC): cheap to carry through, and Arrow takes
them back as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nutchpy.core.content import Headers, ProtocolOutput

if TYPE_CHECKING:
    from nutchpy.fetcher.queue import FetchItemQueue
    from nutchpy.fetcher.robots import RobotsAnswer

Row = dict[str, Any]
"""A row by column name, times as microseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds; each a deadline of its own, zero or less for none (extension/points.py says from when to when)."""

    connect: float
    first_byte: float
    idle: float
    total: float


@dataclass(slots=True, eq=False)
class Request:
    """One GET, as extension/points.py asks for it."""

    url: str
    headers: Headers
    timeouts: Timeouts
    content_limit: int
    pinned_ips: Sequence[str] = ()
    decode: bool = True


@dataclass(frozen=True, slots=True)
class Redirect:
    """What became of a redirect: where it goes in the crawl's own form, or why nowhere."""

    target: str | None
    reason: str
    """``recorded`` or ``followed``, else why there is no target, or why it is left for a later round."""
    repr_url: str | None = None
    follow: bool = False


@dataclass(slots=True, eq=False)
class FetchItem:
    """One attempt at one URL: its crawl_generate row, and what the handlers have found out so far."""

    url: str
    host: str
    queue_id: str
    row: Row
    hops: int = 0
    """Redirects followed to get here."""
    redirected_from: tuple[str, ...] = ()
    """The URLs of those redirects, first to last."""
    repr_url: str | None = None
    """The URL that stands for the page, of those redirected from (Nutch's ``_repr_``)."""
    queue: FetchItemQueue | None = None
    """The queue whose slot this item holds; None while it waits, and once the slot is free again."""
    began: float = 0.0
    """When it was last sent down the pipeline."""
    position: int = 0
    """Index of the handler that has it."""
    settled: bool = False
    requested: bool = False
    """Whether a page request went out: only that makes the queue pause."""
    token: int | None = None
    """The transport's name for the request in flight."""
    ips: Sequence[str] = ()
    robots: RobotsAnswer | None = None
    robots_verdict: str | None = None
    """What robots.txt says of it, in the words of crawl_fetch."""
    robots_rule: str | None = None
    """What decided that."""
    robots_delay: float | None = None
    pause: float = 0.0
    """Seconds its queue rests after this request."""
    slowed: float | None = None
    """The same when it is longer than configured, for the server's sake."""
    retry_after: int | None = None
    """Until when the server asked to be left alone (microseconds)."""
    conditional: bool = False
    """Whether the request asks for the page only if it has changed."""
    output: ProtocolOutput | None = None
    fetch_time: int = 0
    """When the attempt ended (microseconds), later than the row's last."""
    redirect: Redirect | None = None
    content_type: str | None = None
    content: Row | None = None
    """The content row to be stored."""
    parse: Any = None
    """What parsing made of it, when the fetcher parses."""
