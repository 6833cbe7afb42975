"""Counters as a value: what a stage counted, mergeable across batches, lists and worker processes.

A counter name is ``family`` or ``family:detail`` (``filtered:urlfilter.regex``); families are listed in ``FAMILIES``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

FAMILIES: Final[dict[str, str]] = {
    # inject
    "lines": "seed lines read, blank and comment lines left out",
    "injected": "seed URLs new to the crawldb",
    "merged": "seed URLs that were in the crawldb already",
    "rejected": "seed lines or URLs refused, by reason",
    "filtered": "URLs refused by a URL filter, by filter and rule",
    "malformed": "URLs no normalizer could make sense of",
    "plugin_errors": "records on which a plugin raised, by plugin",
    "rule_timeouts": "URLs left as they were because a normalizer's rule ran out of time, by rule",
    "purged": "rows dropped by a purge setting",
    # generate
    "rows": "rows looked at",
    "due": "rows due at the time of the run",
    "not_due": "rows not yet due",
    "pending": "due rows that stand in a segment not yet applied",
    "selected": "rows written to a segment",
    "skipped": "rows or records passed over, by reason",
    "segments": "segments written or read",
    "lists": "fetch lists written or worked on",
    "unresolved": "hosts without an address, queued by their name",
    "host_overflow": "URLs left out by generate.max.count",
    # fetch
    "fetched": "attempts that ended, by protocol status",
    "fetch_status": "attempts by crawl_fetch status",
    "bytes": "body bytes received",
    "robots": "robots.txt events, by kind",
    "queues": "events by which queues were slowed down, by kind",
    "redirects": "redirects, by what became of them",
    "slots": "milliseconds in which a request could be in flight, times threads, by how they were spent",
    "dropped": "queued URLs left for a later round, by reason",
    # parse
    "parsed": "pages parsed, by parse status",
    "outlinks": "outlinks kept",
    "outlinks_dropped": "outlinks refused, by reason",
    # updatedb, dedup
    "parts": "segment parts applied",
    "linked": "known rows that new links or metadata changed",
    "updated": "rows changed, by new status",
    "added": "rows new to the table",
    "unchanged": "rows copied as they were",
    "total": "rows in the table afterwards",
    "duplicates": "rows marked db_duplicate",
    # expire
    "bodies_moved": "bodies that went into a compacted segment",
    "bodies_pruned": "bodies taken out of segments that stay",
    "bytes_freed": "bytes that segments take less",
    # invertlinks
    "links": "links inverted",
    "targets": "URLs with at least one inlink",
}


class Counters(Mapping[str, int]):
    """An immutable-by-convention multiset of names; ``a + b`` merges, ``add`` counts in place while building."""

    __slots__ = ("_counts",)

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self._counts: dict[str, int] = dict(counts or {})

    def add(self, name: str, n: int = 1) -> None:
        """Count ``n`` more of ``name``; its family (before the first ``:``) must be a listed one."""
        counts = self._counts
        if name not in counts:
            family = name.partition(":")[0]
            if family not in FAMILIES:
                raise KeyError(f"counter family {family!r} is not listed in core/counters.py")
            counts[name] = 0
        counts[name] += n

    def __add__(self, other: Mapping[str, int]) -> Counters:
        merged = Counters(self._counts)
        for name, n in other.items():
            merged._counts[name] = merged._counts.get(name, 0) + n
        return merged

    def __getitem__(self, name: str) -> int:
        return self._counts.get(name, 0)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._counts))

    def __len__(self) -> int:
        return len(self._counts)

    def family(self, family: str) -> int:
        """The sum over a family, its details included."""
        return sum(n for name, n in self._counts.items() if name.partition(":")[0] == family)

    def __repr__(self) -> str:
        return f"Counters({dict(self)!r})"
