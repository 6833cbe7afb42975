"""Which segments hold their URLs back: those generated from this crawldb and not yet wholly applied to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from nutchpy.storage.database import Generation
from nutchpy.storage.segment import Segment, SegmentMeta, segments_in


@dataclass(frozen=True)
class Pending:
    """A segment whose URLs are not listed again, and what it waits for."""

    segment: Segment
    state: str


def pending_segments(folder: Path, crawldb: Generation, now: datetime, delay: timedelta) -> Iterator[Pending]:
    """The segments of this crawldb, younger than ``delay``, that still have something to tell it; oldest first."""
    for segment in segments_in(folder):
        meta = segment.meta
        if meta.crawldb != crawldb.meta.uuid or now - datetime.fromisoformat(meta.created) >= delay:
            continue
        state = waits_for(segment, meta, crawldb)
        if state is not None:
            yield Pending(segment, state)


def waits_for(segment: Segment, meta: SegmentMeta, crawldb: Generation) -> str | None:
    """What has to happen before its URLs may be listed again; None when all of it is in the crawldb."""
    fetch = meta.state("fetch")
    if fetch is None:
        return "not fetched"
    if fetch != "done":
        return f"fetch {fetch}"
    applied = all(crawldb.meta.has_applied(meta.uuid, "crawl_fetch", part) for part, _ in segment.parts("crawl_fetch"))
    return None if applied else "fetched, not in the crawldb"
