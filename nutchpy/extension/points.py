"""The extension points: what a plugin of each kind must offer. Protocols only, no code, no base class.

A plugin is one class in one module, one line in ``setup.cfg`` under the group ``nutchpy.<point>``, and an optional
``defaults.toml`` of its settings. Classes are built by ``from_conf(conf)``; a plugin that raises on one record costs
that record and is counted under its name by the chain that called it (extension/chains.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from selectors import BaseSelector, SelectorKey
from typing import TYPE_CHECKING, Any, Protocol, Self

from nutchpy.core.content import Content, Headers, ProtocolOutput
from nutchpy.core.parse import Parse

if TYPE_CHECKING:
    import pyarrow as pa

    from nutchpy.conf.layers import Conf


class Configurable(Protocol):
    """Whatever can be built from settings."""

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """Build the plugin; raise ConfigError (naming the file or setting) when it cannot work as configured."""
        ...


class URLFilter(Configurable, Protocol):
    """Decides whether a URL may enter."""

    def reject(self, url: str) -> str | None:
        """None to accept, else a short reason: it becomes a counter, so it names a rule, not the URL."""
        ...


class URLNormalizer(Configurable, Protocol):
    """Rewrites a URL into the form the crawl uses.

    One that counts things of its own has ``take_counters()``: Counters since the last call. One whose answer is the
    same whatever stands behind ``#`` may say so by ``ignores_fragment = True``: when it is the first, a page's links
    to many places of another are looked at once.
    """

    def normalize(self, url: str, scope: str) -> str | None:
        """The rewritten URL, or None when it is malformed. Must be idempotent.

        ``scope`` is one of ``default inject generate_host_count partition fetcher crawldb linkdb outlink indexer``.
        """
        ...


class Timeouts(Protocol):
    """Seconds; each is a deadline of its own, ``total`` bounds the whole request. Zero or less: no such limit."""

    @property
    def connect(self) -> float:
        """From the start until the connection (TLS included) stands."""
        ...

    @property
    def first_byte(self) -> float:
        """From the start until the first byte of the answer."""
        ...

    @property
    def idle(self) -> float:
        """Longest silence between two bytes of the answer."""
        ...

    @property
    def total(self) -> float:
        """From the start until the last byte; a server that drips cannot stretch it."""
        ...


class Request(Protocol):
    """What a transport needs to know of one GET (fetcher/item.py has the value)."""

    @property
    def url(self) -> str:
        """An absolute ``http`` or ``https`` URL."""
        ...

    @property
    def headers(self) -> Headers:
        """Headers of this request alone (``If-None-Match``, ``Cookie``); they replace the transport's own by name."""
        ...

    @property
    def timeouts(self) -> Timeouts:
        """The deadlines of this request."""
        ...

    @property
    def content_limit(self) -> int:
        """Most body bytes kept, after decoding; -1 for no limit."""
        ...

    @property
    def pinned_ips(self) -> Sequence[str]:
        """Addresses the resolver chose for the host; empty lets the transport resolve."""
        ...

    @property
    def decode(self) -> bool:
        """Undo the body's content codings; False leaves it as sent."""
        ...


class Transport(Configurable, Protocol):
    """Carries requests to servers and answers to the loop. Single-threaded towards its caller: never blocks.

    The loop calls ``attach`` once, ``start`` per request, ``step`` when a registered socket is ready, ``wake`` was
    called or the deadline has come, and gets back what completed. Every started request completes exactly once,
    ``cancel``led ones too. Redirects are answers like any other. Default headers (agent, accept, encoding) come from
    the settings the transport was built from. A failure is a ProtocolOutput, never an exception; a body that is not
    whole says so in ``truncated``; a connection that ends without an answer is never ``success``.
    """

    def attach(self, selector: BaseSelector, wake: Callable[[], None]) -> None:
        """Take the loop's selector, and a thread-safe callable that wakes the loop.

        Sockets are registered with the transport itself as ``data``: that is how the loop tells whose a ready key is.
        """
        ...

    def start(self, token: int, request: Request) -> None:
        """Begin a request; ``token`` names it in ``step``'s answer."""
        ...

    def step(self, ready: Sequence[tuple[SelectorKey, int]]) -> list[tuple[int, ProtocolOutput]]:
        """Work on ready sockets (selector key, event mask) and timers; return what completed."""
        ...

    def deadline(self) -> float | None:
        """``time.monotonic()`` instant by which ``step`` wants to be called again; None when it does not matter."""
        ...

    def cancel(self, token: int, reason: str) -> None:
        """Give a request up; it completes as ``retry`` with that reason in the next ``step``. Unknown tokens pass."""
        ...

    def close(self) -> None:
        """Let go of sockets and threads; what is in flight is dropped."""
        ...


class Parser(Configurable, Protocol):
    """Turns one body into a Parse. Runs in a worker process that may be killed.

    A parser of HTML may also have ``soup(content)``: the page as a BeautifulSoup, for the parse filters that ask.
    """

    mime_types: Sequence[str]

    def parse(self, content: Content) -> Parse:
        """Never raises on bad input: a page that cannot be parsed is a Parse whose status says why."""
        ...


class ParseFilter(Configurable, Protocol):
    """Adds to a Parse: metadata, a language, other text."""

    def filter(self, content: Content, parse: Parse, soup: Any) -> Parse:
        """The Parse, changed or not. ``soup()`` gives a BeautifulSoup, made at the first call; None if not HTML."""
        ...


class Signature(Configurable, Protocol):
    """Fingerprints a page, to tell changed from unchanged and to find duplicates."""

    def calculate(self, content: Content, parse: Parse | None) -> bytes:
        """16 bytes."""
        ...


class FetchSchedule(Configurable, Protocol):
    """Decides when a page is due again. A policy: Arrow batch in, Arrow batch out.

    Columns in: ``fetch_time fetch_interval modified_time(prior) state metadata host`` where state is
    ``modified notmodified unknown``. Columns out: ``fetch_interval due_time modified_time``. Rows of a batch on which
    it raises are asked for one by one, and those that raise keep their interval. per_row.py has a base for one row.
    """

    def schedule(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Interval, due time and modified time of fetched rows."""
        ...


class ScoringFilter(Configurable, Protocol):
    """Moves score along links, or ranks rows. Policies over Arrow columns.

    A filter may also have ``max_depth``, an int: links of pages that far from a seed are not followed.
    """

    inlink_aggregate: str
    """What updatedb computes of the scores of a row's new inlinks, for ``update``: ``sum``, ``max`` or ``min``; or
    ``none``: the filter moves no score along links, and neither ``outlink_scores`` nor ``update`` is called."""

    def injected_score(self, score: float, metadata: Mapping[str, str]) -> float:
        """Score of a new seed."""
        ...

    def initial_score(self) -> float:
        """Score of a URL seen for the first time as a link, before ``update``."""
        ...

    def sort_value(self, score: pa.Array, batch: pa.RecordBatch) -> pa.Array:
        """What generate ranks by; ``batch`` is crawldb rows. Return ``score`` itself to save the pass."""
        ...

    def outlink_scores(self, score: float, internal: Sequence[bool], total: int) -> Sequence[float]:
        """The share each kept outlink gets; ``internal`` flags same-host links, ``total`` counts before filters."""
        ...

    def update(self, score: pa.Array, inlink_score: pa.Array) -> pa.Array:
        """New scores of rows, from their present ones and the aggregate over new inlinks (null when there are none)."""
        ...


class Clock(Protocol):
    """Where time comes from; simulated in tests."""

    def now(self) -> datetime:
        """Aware UTC wall time."""
        ...

    def monotonic(self) -> float:
        """Seconds that never step back."""
        ...
