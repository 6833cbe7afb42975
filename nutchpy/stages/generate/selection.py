"""Which of the rows due are taken, and into which segment: best first, with limits per segment and per host or domain.

Row function over Arrow batches in ranked order; it stops asking for rows once every segment is full.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from nutchpy.core.counters import Counters
from nutchpy.core.urls import host_of, registered_domain, spread_hash
from nutchpy.extension.chains import URLFilters, URLNormalizers
from nutchpy.stages.routed import Routed
from nutchpy.storage.schema import Column, Table

SELECTED: Final = Table(
    "selected",
    "URLs taken.",
    (
        Column("url", pa.string(), "The URL."),
        Column("host", pa.string(), "Its host."),
        Column("sort_value", pa.float32(), "What it was ranked by."),
        Column("spread", pa.uint32(), "Hash that mixes the hosts of a fetch list."),
        Column("segment", pa.int32(), "Which of the new segments it goes to, from 0."),
    ),
)


class Places:
    """Finds each URL a place: the first segment with room in which its host (or domain) has not had its share."""

    def __init__(self, top_n: int, max_count: int, segments: int) -> None:
        self._top_n = top_n
        self._max_count = max_count
        self._taken = [0] * segments
        self._shares: dict[str, tuple[int, int]] = {}
        """Host → the segment it fills now, and how many of its URLs that has."""

    @property
    def capped(self) -> bool:
        """Whether hosts have a share."""
        return self._max_count >= 0

    @property
    def full(self) -> bool:
        """Whether no segment has room for anyone."""
        return self._top_n >= 0 and min(self._taken) >= self._top_n

    def place(self, key: str) -> int | None:
        """The segment for the next URL of a host; None when there is no place for it."""
        segment, count = self._shares.get(key, (0, 0))
        while segment < len(self._taken) and (self._is_full(segment) or count == self._max_count):
            segment, count = segment + 1, 0
        if segment == len(self._taken):
            return None
        self._shares[key] = (segment, count + 1)
        self._taken[segment] += 1
        return segment

    def _is_full(self, segment: int) -> bool:
        return 0 <= self._top_n <= self._taken[segment]


@dataclass
class Selection:
    """Takes ranked rows; ``counts`` says how many of which host are in which segment."""

    places: Places
    filters: URLFilters | None
    normalizers: URLNormalizers | None
    """Normalize URLs before their hosts are counted."""
    by_domain: bool
    out: Routed
    counts: Counter[tuple[int, str]] = field(default_factory=Counter)
    counters: Counters = field(default_factory=Counters)

    def take(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Take from the rows, in their order, until there is no more room."""
        for batch in batches:
            if self.places.full:
                break
            self._take(batch)
        for chain in (self.filters, self.normalizers):
            if chain is not None:
                self.counters += chain.take_errors()

    def _take(self, batch: pa.RecordBatch) -> None:
        urls = batch.column("url").to_pylist()
        reasons = self.filters.reject_all(urls) if self.filters else [None] * len(urls)
        rows: list[int] = []
        segments: list[int] = []
        for row, (reason, key) in enumerate(zip(reasons, self._keys(batch, urls), strict=True)):
            if reason is not None:
                self.counters.add(f"filtered:{reason}")
                continue
            segment = self.places.place(key)
            if segment is not None:
                rows.append(row)
                segments.append(segment)
            elif self.places.full:
                break
            else:
                self.counters.add("host_overflow")
        self._write(batch.take(pa.array(rows, pa.int64())), segments)

    def _keys(self, batch: pa.RecordBatch, urls: Sequence[str]) -> list[str]:
        """What ``generate.max.count`` counts for each row."""
        known: list[str] = batch.column("domain" if self.by_domain else "host").to_pylist()
        if self.normalizers is None:
            return known
        normal = self.normalizers.normalize_all(urls, "generate_host_count")
        hosts = [host_of(url) if url else None for url in normal]
        keys = [registered_domain(host) if host else None for host in hosts] if self.by_domain else hosts
        return [key or fallback for key, fallback in zip(keys, known, strict=True)]

    def _write(self, rows: pa.RecordBatch, segments: Sequence[int]) -> None:
        hosts = rows.column("host")
        self.counts.update(zip(segments, hosts.to_pylist(), strict=True))
        self.counters.add("selected", len(segments))
        spread = [spread_hash(url) for url in rows.column("url").to_pylist()]
        columns = {
            "url": rows.column("url"),
            "host": hosts,
            "sort_value": rows.column("sort_value"),
            "spread": pa.array(spread, pa.uint32()),
            "segment": pa.array(segments, pa.int32()),
        }
        self.out.write(pa.table(columns))
