"""Feeds with their URLs normalized and filtered: copies of the parts, put aside for the length of an update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.core.counters import Counters
from nutchpy.core.urls import bucket_key, host_of, registered_domain
from nutchpy.extension.chains import URLFilters, URLNormalizers
from nutchpy.stages.feeds import Feed
from nutchpy.stages.refilter import verdict
from nutchpy.storage.parts import opened, write_part
from nutchpy.storage.schema import TABLES


@dataclass
class Judge:
    """What becomes of a URL; each is judged, and counted, once."""

    normalizers: URLNormalizers | None
    filters: URLFilters | None
    counters: Counters = field(default_factory=Counters)
    _known: dict[str, str | None] = field(default_factory=dict)

    def __call__(self, url: str) -> str | None:
        """The URL's new form, or None when it may not enter. Only those that change are remembered."""
        if url in self._known:
            return self._known[url]
        new = verdict(url, self.normalizers, self.filters, "crawldb", self.counters)
        if new != url:
            self._known[url] = new
        return new

    def errors(self) -> Counters:
        """What plugins raised on since the last call."""
        chains = [chain for chain in (self.normalizers, self.filters) if chain is not None]
        return sum((chain.take_errors() for chain in chains), Counters())

    def take_counters(self) -> Counters:
        """What was refused and what plugins raised on, since the last call."""
        counted, self.counters = self.counters, Counters()
        return counted + self.errors()


def cleaned(found: Sequence[Feed], judge: Judge, folder: Path) -> list[Feed]:
    """The feeds, each pointing to a copy in ``folder`` that holds only what the judge lets pass, under its new URL."""
    copies = [folder / f"{number:05d}.parquet" for number in range(len(found))]
    for feed, copy in zip(found, copies, strict=True):
        _copy(feed, copy, judge)
    return [replace(feed, path=copy) for feed, copy in zip(found, copies, strict=True)]


def _copy(feed: Feed, target: Path, judge: Judge) -> None:
    with opened(feed.path) as file:
        rows = file.read()
    rows = _renamed(rows, "url", judge)
    rows = rows.filter(pc.is_valid(rows["url"]))
    if "redirect_to" in rows.column_names:
        rows = _renamed(rows, "redirect_to", judge)
    write_part(target, TABLES[feed.table], _keyed(rows).sort_by([("bucket_key", "ascending"), ("url", "ascending")]))


def _renamed(rows: pa.Table, name: str, judge: Judge) -> pa.Table:
    """The column judged, null where it is refused."""
    return _mapped(rows, name, rows[name], judge)


def _keyed(rows: pa.Table) -> pa.Table:
    """The columns that follow from the URL."""
    rows = _mapped(rows, "host", rows["url"], lambda url: host_of(url) or "")
    rows = _mapped(rows, "bucket_key", rows["host"], bucket_key)
    return _mapped(rows, "domain", rows["host"], registered_domain) if "domain" in rows.column_names else rows


def _mapped(rows: pa.Table, name: str, source: pa.ChunkedArray, function: Callable[[Any], Any]) -> pa.Table:
    """Column ``name`` computed from the distinct values of another."""
    encoded = source.combine_chunks().dictionary_encode()
    place = rows.column_names.index(name)
    values = pa.array([function(value) for value in encoded.dictionary.to_pylist()], rows.schema.field(name).type)
    return rows.set_column(place, rows.schema.field(name), values.take(encoded.indices))
