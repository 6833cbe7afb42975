"""The links of parsed pages as rows on their way to the bucket of their target: which count, and in which form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.conf.layers import Conf
from nutchpy.core.counters import Counters
from nutchpy.core.errors import ConfigError
from nutchpy.core.urls import bucket_key, host_of
from nutchpy.extension.chains import URLFilters, URLNormalizers
from nutchpy.storage.schema import TABLES, Column, Table

LINKS: Final = Table(
    "links",
    "New links on their way to the bucket of their target.",
    (
        *TABLES["linkdb"].columns[:2],
        Column("bucket_key", pa.uint32(), "Of the target's host."),
        Column("from_url", pa.string(), "The page that links."),
        Column("anchor", pa.string(), "With which words."),
        Column("score", pa.float32(), "Score of the page that links."),
    ),
)
_SITE: Final = r"^(?P<site>https?://[^/\s]+)(?:/|$)"
"""What of a plain web URL its host depends on: few of them are different."""
_REMEMBERED: Final = 1 << 18


@dataclass
class Rules:
    """Which links count, and in which form."""

    internal: bool
    external: bool
    max_anchor: int
    normalizers: URLNormalizers | None
    filters: URLFilters | None

    @classmethod
    def of(cls, conf: Conf, normalize: bool, filter_urls: bool) -> Rules:
        """The rules that the settings describe; ConfigError when they leave no link."""
        internal = not conf.flag("linkdb.ignore.internal.links")
        external = not conf.flag("linkdb.ignore.external.links")
        if not internal and not external:
            raise ConfigError(
                "linkdb.ignore.internal.links and linkdb.ignore.external.links are both true: no link is left"
            )
        return cls(
            internal,
            external,
            conf.integer("linkdb.max.anchor.length"),
            URLNormalizers.from_conf(conf) if normalize else None,
            URLFilters.from_conf(conf) if filter_urls else None,
        )

    def errors(self) -> Counters:
        """What plugins raised on."""
        chains = [chain for chain in (self.normalizers, self.filters) if chain is not None]
        return sum((chain.take_errors() for chain in chains), Counters())

    def judge(self, urls: list[str]) -> tuple[list[str | None], list[str | None]]:
        """New forms of distinct URLs, None for those refused; and the reasons of the refused."""
        normal = self.normalizers.normalize_all(urls, "linkdb") if self.normalizers else list(urls)
        present = [url or "" for url in normal]
        reasons = self.filters.reject_all(present) if self.filters else [None] * len(urls)
        why = [f"filtered:{reason}" if reason else None for reason in reasons]
        why = [reason if url else "malformed" for url, reason in zip(normal, why, strict=True)]
        return [url if reason is None else None for url, reason in zip(normal, why, strict=True)], why


def links(outlinks: Iterable[pa.RecordBatch], rules: Rules, counters: Counters) -> Iterator[pa.Table]:
    """Rows of ``LINKS`` for the rows of outlinks.sql, some ten thousand at a time."""
    places = _Places()
    for batch in outlinks:
        rows = _judged(_of_interest(pa.table(batch), rules, places, counters), rules, places, counters)
        if rows.num_rows:
            yield rows


def sites(urls: pa.Array) -> pa.DictionaryArray:
    """What the host of each URL depends on, each once: the beginning of a plain one, the whole of another."""
    found = pc.struct_field(pc.extract_regex(urls, _SITE), [0])
    return pc.coalesce(found, urls).dictionary_encode()


# -- private, in calling order


class _Places:
    """Hosts and bucket keys of URLs, worked out once for each of many sites."""

    def __init__(self) -> None:
        self._host = lru_cache(_REMEMBERED)(host_of)
        self._key = lru_cache(_REMEMBERED)(bucket_key)

    def hosts(self, urls: pa.ChunkedArray) -> pa.Array:
        """The hosts of a column; null where there is none."""
        encoded = sites(urls.combine_chunks())
        found = [self._host(site) or None for site in encoded.dictionary.to_pylist()]
        return pa.array(found, pa.string()).take(encoded.indices)

    def keys(self, hosts: pa.ChunkedArray) -> pa.Array:
        """The bucket keys of a column of hosts."""
        encoded = hosts.combine_chunks().dictionary_encode()
        found = [self._key(host) for host in encoded.dictionary.to_pylist()]
        return pa.array(found, pa.uint32()).take(encoded.indices)


def _of_interest(batch: pa.Table, rules: Rules, places: _Places, counters: Counters) -> pa.Table:
    """Without the links within a host, or those between hosts, as the settings say; with ``host``."""
    batch = batch.append_column("host", places.hosts(batch["url"]))
    if rules.internal and rules.external:
        return batch
    same = pc.fill_null(pc.equal(places.hosts(batch["from_url"]), batch["host"]), rules.external)
    wanted = same if rules.internal else pc.invert(same)
    dropped = batch.num_rows - (pc.sum(wanted).as_py() or 0)
    if not dropped:
        return batch
    counters.add("outlinks_dropped:internal" if rules.external else "outlinks_dropped:external", dropped)
    return batch.filter(wanted)


def _judged(batch: pa.Table, rules: Rules, places: _Places, counters: Counters) -> pa.Table:
    """Both ends normalized and filtered, anchors cut."""
    sources, _ = _forms(batch["from_url"], rules)
    old = batch["url"]
    targets, why = _forms(old, rules)
    for entry in pc.value_counts(why.drop_null()).to_pylist():
        counters.add(entry["values"], entry["counts"])
    table = pa.table(
        {
            "url": targets,
            "host": batch["host"] if targets is old else places.hosts(targets),
            "from_url": sources,
            "anchor": pc.utf8_slice_codeunits(batch["anchor"], 0, rules.max_anchor),
            "score": batch["score"],
        }
    )
    wanted = pc.and_(pc.is_valid(table["from_url"]), pc.is_valid(table["host"]))
    table = table if pc.all(wanted).as_py() else table.filter(wanted)
    return table.append_column("bucket_key", places.keys(table["host"]))


def _forms(urls: pa.ChunkedArray, rules: Rules) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """``judge`` over a column, each distinct URL once."""
    if rules.normalizers is None and rules.filters is None:
        return urls, pa.chunked_array([], pa.string())
    encoded = urls.combine_chunks().dictionary_encode()
    forms, why = (pa.array(found, pa.string()) for found in rules.judge(encoded.dictionary.to_pylist()))
    return pa.chunked_array([forms.take(encoded.indices)]), pa.chunked_array([why.take(encoded.indices)])
