"""Politeness across runs: which queues were asked just before this run began, by an earlier round or a killed one.

A crawl's rounds follow each other within seconds, and so does a run that is given again after a kill. What was
published says when each host was last asked; after a kill, when that is not all there was, every queue rests once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nutchpy.fetcher.queue import QueueLimits
from nutchpy.fetcher.rows import QUEUE_COLUMN
from nutchpy.storage.segment import Segment, segments_in

WINDOW_SECONDS: Final = 120.0
"""Requests longer ago matter to no one."""
_SEGMENTS: Final = 3
"""So many of the newest segments are looked at."""


@dataclass(frozen=True, slots=True)
class Asked:
    """When a queue was last asked, on the loop's clock, and the delay that its robots.txt wants."""

    ended: float
    robots_delay: float | None


@dataclass(frozen=True, slots=True)
class RecentRequests:
    """``rested`` says when a queue may first be asked."""

    asked: Mapping[str, Asked]
    unclean: float | None = None
    """When a killed run may last have asked anyone."""

    def rested(self, queue_id: str, limits: QueueLimits) -> float:
        """After its delay, counted from its last request; at once when there was none."""
        rested = [0.0] if self.unclean is None else [self.unclean + (limits.pause(None) or 0.0)]
        asked = self.asked.get(queue_id)
        if asked is not None:
            rested.append(asked.ended + (limits.pause(asked.robots_delay) or 0.0))
        return max(rested)


def recent_requests(segment: Segment, mode: str, wall: int, now: float, unclean: bool) -> RecentRequests:
    """What the newest segments beside ``segment`` (and itself) say; ``wall`` (µs) and ``now`` are the same instant."""
    since = wall - int(WINDOW_SECONDS * 1e6)
    asked: dict[str, Asked] = {}
    for other in segments_in(segment.path.parent)[-_SEGMENTS:]:
        for path in other.files("crawl_fetch"):
            if path.stat().st_mtime * 1e6 >= since:
                _gather(asked, pq.read_table(path, columns=_columns(mode)), since, wall, now)
    return RecentRequests(asked, now if unclean else None)


def _columns(mode: str) -> list[str]:
    """By address, what was connected to; requests that never got there have none and are no one's."""
    return ["ip" if mode == "byIP" else QUEUE_COLUMN[mode], "fetch_time", "robots_delay", "http_status"]


def _gather(asked: dict[str, Asked], rows: pa.Table, since: int, wall: int, now: float) -> None:
    times = rows.column("fetch_time").cast(pa.int64())
    recent = rows.set_column(1, "fetch_time", times).filter(pc.greater_equal(times, since))
    columns = [column.to_pylist() for column in recent.columns]
    for queue_id, ended, robots_delay, http_status in zip(*columns, strict=True):
        if queue_id is None or http_status is None:
            continue
        when = now - max(0, wall - ended) / 1e6
        known = asked.get(queue_id)
        if known is None or known.ended < when:
            asked[queue_id] = Asked(when, robots_delay)
