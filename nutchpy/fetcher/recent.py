"""Politeness across runs: which queues were asked just before this run began, by an earlier round or a killed one.

A crawl's rounds follow each other within seconds, and so does a run that is given again after a kill. What was
published says when each host was last asked; after a kill, when that is not all there was, every queue rests once.
What a host in trouble was slowed down to, and how long it asked to be left alone, is remembered for longer.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.core.errors import DamagedError
from nutchpy.fetcher.queue import QueueLimits
from nutchpy.fetcher.rows import QUEUE_COLUMN
from nutchpy.storage.parts import opened
from nutchpy.storage.segment import Segment, segments_in

_log = logging.getLogger(__name__)

WINDOW_SECONDS: Final = 120.0
"""Requests longer ago matter to no one."""
_SEGMENTS: Final = 3
"""So many of the newest segments are looked at."""
_REMEMBERED_SECONDS: Final = 86_400.0
"""A host's trouble longer ago than this is forgotten."""
_REMEMBERED_SEGMENTS: Final = 20
_HALVED_SECONDS: Final = 3_600.0
"""The time in which what a host was slowed down to is halved."""
_PACE_COLUMNS: Final = ("queue_delay", "retry_after")


@dataclass(frozen=True, slots=True)
class Asked:
    """When a queue was last asked, on the loop's clock, and the delay that its robots.txt wants."""

    ended: float
    robots_delay: float | None = None
    slowed: float = 0.0
    """Seconds between requests that it was slowed down to, recovered a little since."""
    left_until: float = 0.0
    """Until when its server asked to be left alone, on the loop's clock."""


@dataclass(frozen=True, slots=True)
class RecentRequests:
    """``rested`` says when a queue may first be asked."""

    asked: Mapping[str, Asked]
    unclean: float | None = None
    """When a killed run may last have asked anyone."""
    now: float = 0.0
    """When this run began."""

    def rested(self, queue_id: str, limits: QueueLimits) -> float:
        """After its delay, counted from its last request; at once when there was none."""
        rested = [0.0] if self.unclean is None else [self.unclean + (limits.pause(None) or 0.0)]
        asked = self.asked.get(queue_id)
        if asked is not None:
            slowed = asked.slowed if limits.slowest > 0 else 0.0
            rested.append(asked.ended + max(limits.pause(asked.robots_delay) or 0.0, slowed))
            if limits.bears != 0:
                rested.append(min(asked.left_until, math.inf if limits.bears < 0 else self.now + limits.bears))
        return max(rested)

    def slowed(self, queue_id: str) -> float:
        """Seconds between requests that a queue is still slowed down to; 0 when it is not."""
        asked = self.asked.get(queue_id)
        return asked.slowed if asked is not None else 0.0


def recent_requests(segment: Segment, mode: str, wall: int, now: float, unclean: bool) -> RecentRequests:
    """What the newest segments beside ``segment`` (and itself) say; ``wall`` (µs) and ``now`` are the same instant."""
    since = wall - int(WINDOW_SECONDS * 1e6)
    asked: dict[str, Asked] = {}
    remembered = wall - int(_REMEMBERED_SECONDS * 1e6)
    for back, other in enumerate(reversed(segments_in(segment.path.parent)[-_REMEMBERED_SEGMENTS:])):
        for path in other.files("crawl_fetch"):
            written = path.stat().st_mtime * 1e6
            if written >= since and back < _SEGMENTS:
                _gather(asked, _read(path, mode), since, wall, now)
            if written >= remembered:
                in_trouble = pc.field("queue_delay").is_valid() | pc.field("retry_after").is_valid()
                _gather(asked, _read(path, mode, in_trouble), remembered, wall, now)
    return RecentRequests(asked, now if unclean else None, now)


def _read(path: Path, mode: str, only: pc.Expression | None = None) -> pa.Table | None:
    """The columns that matter; None of a part from before they were there, or that cannot be read."""
    columns = _columns(mode)
    try:
        with opened(path) as file:
            if not set(columns) <= set(file.schema_arrow.names):
                return None
            rows = file.read(columns=columns)
    except DamagedError as error:
        _log.warning("%s; when its hosts were asked last is not known", error)
        return None
    return rows if only is None else rows.filter(only)


def _columns(mode: str) -> list[str]:
    """By address, what was connected to; requests that never got there have none and are no one's."""
    return ["ip" if mode == "byIP" else QUEUE_COLUMN[mode], "fetch_time", "robots_delay", "http_status", *_PACE_COLUMNS]


def _gather(asked: dict[str, Asked], rows: pa.Table | None, since: int, wall: int, now: float) -> None:
    if rows is None:
        return
    times = rows.column("fetch_time").cast(pa.int64())
    recent = rows.set_column(1, "fetch_time", times).filter(pc.greater_equal(times, since))
    until = recent.column("retry_after").cast(pa.int64())
    columns = [column.to_pylist() for column in (*recent.columns[:-1], until)]
    for queue_id, ended, robots_delay, http_status, slowed, left_until in zip(*columns, strict=True):
        if queue_id is None or (http_status is None and slowed is None):
            continue
        age = max(0, wall - ended) / 1e6
        left = 0.0 if left_until is None else now + (left_until - wall) / 1e6
        known = asked.get(queue_id)
        if known is None or known.ended < now - age:
            slowed = (slowed or 0.0) * 0.5 ** (age / _HALVED_SECONDS)
            asked[queue_id] = Asked(now - age, robots_delay, slowed, max(left, known.left_until if known else 0.0))
        elif left > known.left_until:
            asked[queue_id] = replace(known, left_until=left)
