"""parse: have a fetched page parsed by the worker processes that the parse stage uses too."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from nutchpy.core.content import Content, ProtocolOutput
from nutchpy.core.counters import Counters
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.fetcher.item import FetchItem
from nutchpy.fetcher.pipeline import PAUSE, PROCEED, Answer
from nutchpy.parsing.jobs import PagesJob
from nutchpy.parsing.page import PageInput
from nutchpy.parsing.pool import ParsePool


class ParseHandler:
    """Pages that were fetched go to the pool; its queue's slot is free by then, only a thread waits with the item."""

    def __init__(self, pool: ParsePool) -> None:
        self._pool = pool

    def handle(self, item: FetchItem, now: float) -> Answer:
        """Proceed once ``item.parse`` is there; pages that are no success have none."""
        output = item.output
        if item.parse is not None or output is None or output.protocol_status is not ProtocolStatus.SUCCESS:
            return PROCEED
        self._pool.submit(PagesJob([PageInput(_content(item, output), item.row["score"], item.row["depth"])]), item)
        return PAUSE


class ParseSource:
    """Brings the pool's answers into the loop: registered in its selector, and one of its sources."""

    def __init__(self, pool: ParsePool, resume: Callable[[FetchItem], None]) -> None:
        self._pool = pool
        self._resume = resume
        self.counters = Counters()

    def fileno(self) -> int:
        """For the selector."""
        return self._pool.fileno()

    def notice(self) -> None:
        """Being awake is enough: ``step`` follows."""

    def deadline(self) -> float | None:
        """When the pool wants to look at its workers."""
        return self._pool.deadline()

    def step(self, _now: float) -> None:
        """Hand the parsed pages to their items."""
        if not self._pool.pending:
            return
        for done in self._pool.step():
            self.counters += done.counters
            item: FetchItem = done.token
            (item.parse,) = done.answer
            self._resume(item)

    def close(self) -> None:
        """End the workers."""
        self._pool.close()


def _content(item: FetchItem, output: ProtocolOutput) -> Content:
    return Content(
        url=item.url,
        base_url=item.url,
        content_type=item.content_type or "",
        headers=output.headers,
        content=output.content,
        fetch_time=datetime.fromtimestamp(item.fetch_time / 1_000_000, UTC),
        truncated=output.truncated,
    )
