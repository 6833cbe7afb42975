"""Sink: where every item ends. Turns its outcome into a crawl_fetch row, frees its slot, decides what comes after it.

Outcomes that say the server is in trouble count against its queue; a queue that fails too often is given up, and what
waited in it is dropped: counted and named, never recorded, so it stays due.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from nutchpy.core import urls
from nutchpy.core.content import Headers, header
from nutchpy.core.counters import Counters
from nutchpy.core.protocol_status import ProtocolStatus, fetch_status
from nutchpy.core.retry_after import retry_after
from nutchpy.core.status import Status
from nutchpy.fetcher.feeder import QueueFeeder
from nutchpy.fetcher.item import FetchItem, Row
from nutchpy.fetcher.pipeline import Finish, Unrecorded
from nutchpy.fetcher.queue import QueueLimits
from nutchpy.fetcher.queues import FetchItemQueues

_log = logging.getLogger(__name__)

FAILURES: Final = frozenset(
    {
        ProtocolStatus.EXCEPTION,
        ProtocolStatus.TIMEOUT,
        ProtocolStatus.DNS_FAILED,
        ProtocolStatus.CONNECT_FAILED,
        ProtocolStatus.TLS_FAILED,
        ProtocolStatus.BAD_RESPONSE,
        ProtocolStatus.BAD_ENCODING,
        ProtocolStatus.HEADERS_TOO_LARGE,
    }
)
"""Outcomes that count as an exception of their queue."""

_TROUBLE: Final = frozenset({429, 503})
"""HTTP statuses by which a server says that it is asked too much."""
_LEAST_DEFERRAL: Final = 1.0
_NEW_BODY: Final = frozenset({Status.FETCH_SUCCESS})
_SAME_BODY: Final = frozenset({Status.FETCH_NOTMODIFIED, Status.FETCH_RETRY})
_WHO_REFUSES: Final = "http.filter.ipaddress.exclude and http.filter.ipaddress.include say which addresses may be asked"
_TIMINGS: Final = tuple((step, f"{step}_ms") for step in ("dns", "connect", "tls", "first_byte"))
_CARRIED: Final = ("modified_time", "retries", "fetch_interval", "score", "signature", "depth", "metadata")


class Output(Protocol):
    """Where rows go."""

    @property
    def full(self) -> bool:
        """Whether it is behind: nothing new should be begun."""
        ...

    def put(self, fetch: Row, content: Row | None, parse: Any) -> None:
        """Take the rows of one attempt; never blocks."""
        ...

    def keep(self, content: Row) -> None:
        """Take a body that is no attempt's: a robots.txt."""
        ...


@dataclass(frozen=True, slots=True)
class Deferral:
    """How a host is put off whose robots.txt cannot be had now."""

    seconds: float
    most: int


class Sink:
    """``settle`` ends items, ``ended`` hears of requests that are over, ``drop`` counts what is never attempted."""

    def __init__(
        self,
        queues: FetchItemQueues,
        output: Output,
        deferral: Deferral,
        wall: Callable[[], int],
        queue_key: Callable[[str], str],
        keep_ip: bool = True,
    ) -> None:
        self._queues = queues
        self._output = output
        self._deferral = deferral
        self._wall = wall
        self._queue_key = queue_key
        self._keep_ip = keep_ip
        self.feeder: QueueFeeder | None = None
        self.closed: str | None = None
        """Why nothing more is begun."""
        self.counters = Counters()
        self.dropped_queues: dict[str, int] = {}
        """Queues given up, with how many of their URLs were dropped."""
        self.pages = 0
        self.errors = 0
        self.bytes = 0

    def ended(self, item: FetchItem, now: float) -> None:
        """Note the end of a page request: its time, and its queue's slot is free."""
        item.fetch_time = max(self._wall(), (item.row.get("fetch_time") or 0) + 1)
        if item.queue is not None:
            output = item.output
            status = output.protocol_status if output is not None else ProtocolStatus.FAILED
            self._release(item, status, now, output.ended if output is not None else None)

    def settle(self, item: FetchItem, finish: Finish, now: float) -> None:
        """End an attempt: record it, or put it back, or drop it."""
        if isinstance(finish.reason, Unrecorded):
            self._unrecorded(item, finish.reason, finish.message, now)
            return
        if item.queue is not None:
            self._release(item, finish.reason, now)
        if not item.fetch_time:
            item.fetch_time = max(self._wall(), (item.row.get("fetch_time") or 0) + 1)
        self._record(item, finish.reason, finish.message)
        if item.redirect is not None:
            self.counters.add(f"redirects:{item.redirect.reason}")
            if item.redirect.follow and item.redirect.target is not None:
                self._follow(item, item.redirect.target, now)

    def drop(self, queue_id: str, reason: str, count: int) -> None:
        """Count URLs of a queue that are left for a later run."""
        if count:
            self.counters.add(f"dropped:{reason}", count)
            if queue_id in self._queues.blocked:
                self.dropped_queues[queue_id] = self.dropped_queues.get(queue_id, 0) + count

    def drop_items(self, items: list[FetchItem], reason: str) -> None:
        """Drop items that waited."""
        for item in items:
            self.drop(item.queue_id, reason, 1)

    def _release(self, item: FetchItem, status: ProtocolStatus, now: float, ended: float | None = None) -> None:
        asked = self._pace(item, status, now) if item.requested and item.queue is not None else None
        limits = item.queue.limits if item.queue is not None else None
        if status in FAILURES:
            waiting = self._queues.fail(item, now, ended)
            if waiting is not None:
                self._give_up(item.queue_id, waiting)
        else:
            self._queues.release(item, now, item.pause if item.requested else None, ended)
        if asked is not None and limits is not None:
            self._heed(item.queue_id, asked, limits, now)

    def _pace(self, item: FetchItem, status: ProtocolStatus, now: float) -> float | None:
        """Let the item's queue rest as its server takes it; the seconds that the server asks for itself."""
        output, queue = item.output, item.queue
        if output is None or queue is None:
            return None
        trouble = status is ProtocolStatus.TIMEOUT or output.http_status in _TROUBLE
        paced = queue.paced(item.pause, output.elapsed_ms / 1000, trouble)
        if paced > item.pause:
            item.slowed = item.pause = paced
            self.counters.add("queues:slowed_requests")
        item.pause = max(item.pause, queue.spend(output.wire_bytes, now - output.elapsed_ms / 1000) - now)
        seconds = retry_after(output.http_status, output.headers, item.fetch_time / 1e6)
        if seconds is None or queue.limits.bears == 0:
            return None
        item.retry_after = item.fetch_time + int(seconds * 1e6)
        return seconds

    def _heed(self, queue_id: str, seconds: float, limits: QueueLimits, now: float) -> None:
        """Leave a queue alone for as long as its server asks, or for the rest of this run."""
        if queue_id in self._queues.blocked or self.closed:
            return
        self.counters.add("queues:retry_after")
        if 0 <= limits.bears < seconds:
            self._give_up(queue_id, self._queues.block(queue_id, "retry_after"))
        else:
            self._queues.rest_until(queue_id, now + seconds, now)

    def _unrecorded(self, item: FetchItem, reason: Unrecorded, message: str, now: float) -> None:
        if reason is Unrecorded.INTERRUPTED:
            if item.queue is not None:
                self._queues.release(item, now, item.pause if item.requested else None)
            self.drop(item.queue_id, reason, 1)
        elif reason is Unrecorded.DEFERRED:
            self._put_off(item, message, now)
        elif reason is Unrecorded.UNRESOLVED and not self._closed_to(item):
            self._queues.hold(item, now)
        else:
            self._queues.release(item, now, None)
            self._enqueue(item, now)

    def _put_off(self, item: FetchItem, message: str, now: float) -> None:
        """Back into its queue, which rests; the robots.txt is asked for anew then."""
        asked = item.robots.retry_after if item.robots is not None else None
        bears = item.queue.limits.bears if item.queue is not None else -1.0
        item.robots = None
        if self._closed_to(item):
            self._queues.release(item, now, None)
            self._enqueue(item, now)
            return
        self.counters.add("robots:items_deferred")
        if asked is None or bears == 0:
            asked = self._deferral.seconds
        elif 0 <= bears < asked:
            self._queues.release(item, now, None)
            self._give_up(item.queue_id, [item, *self._queues.block(item.queue_id, "retry_after")])
            return
        seconds = max(_LEAST_DEFERRAL, asked)
        _log.info("%s: queue %s is put off by %g s", message, item.queue_id, seconds)
        waiting = self._queues.put_off(item, now, seconds, self._deferral.most)
        if waiting is not None:
            self._give_up(item.queue_id, waiting)

    def _give_up(self, queue_id: str, waiting: list[FetchItem]) -> None:
        """Drop what waits for a queue that was blocked just now, parked rows included."""
        reason = self._queues.blocked[queue_id]
        self.drop_items(waiting, reason)
        if self.feeder is not None:
            self.feeder.drop_parked(queue_id, reason)
        dropped = self.dropped_queues.get(queue_id, 0)
        _log.warning("queue %s is given up for this run (%s): %d URLs wait for a later one", queue_id, reason, dropped)

    def _closed_to(self, item: FetchItem) -> str | None:
        """Why an item may not be queued, if it may not."""
        return self.closed or self._queues.blocked.get(item.queue_id)

    def _enqueue(self, item: FetchItem, now: float) -> None:
        reason = self._closed_to(item)
        if reason is None:
            self._queues.add(item, now)
        else:
            self.drop(item.queue_id, reason, 1)

    def _record(self, item: FetchItem, reason: ProtocolStatus, message: str) -> None:
        status = fetch_status(reason)
        self.counters.add(f"fetched:{reason}")
        self.counters.add(f"fetch_status:{status}")
        if status is Status.FETCH_RETRY:
            self.errors += 1
        else:
            self.pages += 1
        row = fetch_row(item, status, reason, message)
        if not self._keep_ip:
            row["ip"] = None
        self.bytes += row["bytes"]
        self.counters.add("bytes", row["bytes"])
        if reason is ProtocolStatus.ADDRESS_REFUSED:
            row["message"] = f"{message}: {_WHO_REFUSES}"
        content = item.content if status is not Status.FETCH_RETRY else None
        self._output.put(row, content, item.parse)

    def _follow(self, source: FetchItem, target: str, now: float) -> None:
        host = urls.host_of(target) or ""
        redirect = source.redirect
        item = FetchItem(
            target,
            host,
            self._queue_key(host),
            target_row(source.row, target, host),
            hops=source.hops + 1,
            redirected_from=(*source.redirected_from, source.url),
            repr_url=redirect.repr_url if redirect else None,
        )
        self._enqueue(item, now)


def fetch_row(item: FetchItem, status: Status, reason: ProtocolStatus, message: str) -> Row:
    """The crawl_fetch row of an attempt."""
    source, output, redirect = item.row, item.output, item.redirect
    row: Row = {name: source[name] for name in _CARRIED}
    row["url"] = item.url
    row["host"] = item.host
    row["domain"] = source["domain"]
    row["bucket_key"] = urls.bucket_key(item.host)
    row["status"] = status
    row["fetch_time"] = item.fetch_time
    row["protocol_status"] = reason
    row["message"] = message or _not_taken(item) or None
    row["redirect_to"] = redirect.target if redirect else None
    row["repr_url"] = redirect.repr_url if redirect else item.repr_url
    row["content_type"] = item.content_type
    row["robots"] = item.robots_verdict
    row["robots_rule"] = item.robots_rule
    row["robots_delay"] = item.robots_delay
    row["redirected_from"] = list(item.redirected_from) or None
    row["queue_delay"] = item.slowed
    row["retry_after"] = item.retry_after
    row["http_status"] = output.http_status if output else None
    row["ip"] = output.ip if output else None
    row["elapsed_ms"] = output.elapsed_ms if output else 0
    row["bytes"] = output.wire_bytes if output else 0
    row["http_version"] = output.http_version if output else None
    row["truncated"] = output.truncated if output else None
    timings = output.timings_ms if output else {}
    for step, column in _TIMINGS:
        row[column] = timings.get(step)
    row["etag"], row["last_modified"] = validators(status, source, output.headers if output else ())
    return row


def _not_taken(item: FetchItem) -> str:
    """Why a redirect has no target, and what it named."""
    redirect, output = item.redirect, item.output
    if redirect is None or redirect.target is not None or output is None:
        return ""
    return f"redirect not taken, {redirect.reason}: {header(output.headers, 'location') or 'no Location'}"


def validators(status: Status, source: Mapping[str, Any], headers: Headers) -> tuple[str | None, str | None]:
    """ETag and Last-Modified to ask with next time: those of the body that we now hold."""
    if status in _NEW_BODY:
        return header(headers, "etag"), header(headers, "last-modified")
    if status not in _SAME_BODY:
        return None, None
    etag, modified = source.get("etag"), source.get("last_modified")
    if status is Status.FETCH_NOTMODIFIED:
        return header(headers, "etag") or etag, header(headers, "last-modified") or modified
    return etag, modified


def target_row(source: Row, url: str, host: str) -> Row:
    """What a redirect's target, followed at once, starts with: its source's score, depth and seed metadata.

    Its own links share that score; the crawldb gets it by ``redirect_to`` alone, so that it is counted once.
    """
    return {
        "url": url,
        "host": host,
        "domain": urls.registered_domain(host),
        "status": Status.DB_UNFETCHED.value,
        "fetch_time": None,
        "modified_time": None,
        "retries": 0,
        "fetch_interval": source["fetch_interval"],
        "score": source["score"],
        "signature": None,
        "depth": source["depth"],
        "etag": None,
        "last_modified": None,
        "metadata": source["metadata"],
    }
