"""The URLs of a fetch list normalised and filtered once more, when the settings ask for it."""

from __future__ import annotations

from typing import Self

import pyarrow as pa

from nutchpy.conf.layers import Conf
from nutchpy.core import urls
from nutchpy.core.counters import Counters
from nutchpy.extension.chains import URLFilters, URLNormalizers


class Refilter:
    """What it refuses is dropped: counted, not recorded."""

    def __init__(self, normalizers: URLNormalizers | None, filters: URLFilters | None) -> None:
        self._normalizers = normalizers
        self._filters = filters
        self.counters = Counters()

    @classmethod
    def from_conf(cls, conf: Conf) -> Self | None:
        """As ``fetcher.normalize.urls`` and ``fetcher.filter.urls`` say; None when neither is set."""
        normalize, refuse = conf.flag("fetcher.normalize.urls"), conf.flag("fetcher.filter.urls")
        if not (normalize or refuse):
            return None
        return cls(
            URLNormalizers.from_conf(conf) if normalize else None, URLFilters.from_conf(conf) if refuse else None
        )

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that remain, under their new URLs."""
        if self._normalizers is not None:
            batch = self._normalized(batch, self._normalizers)
        if self._filters is not None:
            reasons = self._filters.reject_all(batch.column("url").to_pylist())
            batch = self._kept(batch, [reason is None for reason in reasons], "filtered")
        return batch

    def _normalized(self, batch: pa.RecordBatch, normalizers: URLNormalizers) -> pa.RecordBatch:
        before = batch.column("url").to_pylist()
        forms = normalizers.normalize_all(before, "fetcher")
        if forms == before:
            return batch
        batch = self._kept(batch, [form is not None for form in forms], "malformed")
        found = [form for form in forms if form is not None]
        hosts = [urls.host_of(form) or "" for form in found]
        columns = {"url": found, "host": hosts, "domain": [urls.registered_domain(host) for host in hosts]}
        for name, values in columns.items():
            batch = batch.set_column(batch.schema.get_field_index(name), name, pa.array(values, pa.string()))
        return batch

    def _kept(self, batch: pa.RecordBatch, keep: list[bool], reason: str) -> pa.RecordBatch:
        refused = keep.count(False)
        if refused == 0:
            return batch
        self.counters.add(f"dropped:{reason}", refused)
        return batch.filter(pa.array(keep, pa.bool_()))
