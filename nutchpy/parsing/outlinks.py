"""Which of a page's links are kept, in which form, and what score each carries.

A link is normalised (scope ``outlink``), filtered, and dropped when it leads to the page itself or where the settings
do not go; the first ``db.max.outlinks.per.page`` that remain are kept, duplicates counting like any other (as Nutch).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from nutchpy.conf.layers import Conf
from nutchpy.core.counters import Counters
from nutchpy.core.errors import ConfigError
from nutchpy.core.parse import Outlink
from nutchpy.core.urls import host_of, registered_domain
from nutchpy.extension.chains import Chain, ScoringFilters, URLExemptions, URLFilters, URLNormalizers

REMEMBERED: Final = 1 << 16
"""Verdicts kept: the pages of a site link to the same pages again and again."""


class Verdict(NamedTuple):
    """What became of a URL by itself, whatever page it stands on."""

    url: str
    host: str
    reason: str | None
    """Why it is refused; None when it is not."""


class Link(NamedTuple):
    """A link as the crawldb is to hear of it."""

    url: str
    host: str
    score: float
    depth: int


@dataclass(slots=True)
class Kept:
    """The links kept of one page."""

    outlinks: list[Outlink] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


class OutlinkRules:
    """Judges links by the settings; built once per process."""

    def __init__(self, conf: Conf) -> None:
        self._filters = URLFilters.from_conf(conf) if conf.flag("parse.filter.urls") else None
        self._normalizers = URLNormalizers.from_conf(conf) if conf.flag("parse.normalize.urls") else None
        self._scoring = ScoringFilters.from_conf(conf)
        self._count_all = conf.flag("db.score.count.filtered")
        most = conf.integer("db.max.outlinks.per.page")
        self._most = most if most >= 0 else None
        self._longest = conf.integer("db.max.outlink.length")
        self._exemptions = URLExemptions.from_conf(conf)
        self._territory = _territory(conf)
        self._also_redirects = conf.flag("db.ignore.also.redirects")
        self.judge: Callable[[str, str], Verdict] = lru_cache(REMEMBERED)(self._judge)

    @property
    def chains(self) -> list[Chain]:
        """Those that may count errors."""
        return [
            chain for chain in (self._filters, self._normalizers, self._scoring, self._exemptions) if chain is not None
        ]

    def keep(self, page: str, links: Iterable[Outlink]) -> Kept:
        """The links of a page that are kept, in order, and how many were dropped for which reason."""
        kept = Kept()
        if self._most == 0:
            return kept
        host = host_of(page) or ""
        for link in links:
            url, target, reason = self._admit(page, host, link.url)
            if reason is not None:
                kept.dropped[reason] += 1
                continue
            kept.outlinks.append(link if url is link.url else Outlink(url, link.anchor, link.rel, link.tag))
            kept.hosts.append(target)
            if len(kept.outlinks) == self._most:
                break
        return kept

    def target(self, page: str, url: str) -> Verdict:
        """The target of a page's refresh, under the rules for redirects."""
        return self._admit(page, host_of(page) or "", url, "fetcher", territory=self._also_redirects)

    def shares(self, page: str, score: float, depth: int, kept: Kept, total: Callable[[], int]) -> list[Link]:
        """What each kept link carries; none at the depth beyond which links are not followed."""
        limit = self._scoring.max_depth
        if limit is not None and depth >= limit:
            if kept.outlinks:
                kept.dropped["depth"] += len(kept.outlinks)
            return []
        host = host_of(page) or ""
        count = total() if self._count_all else len(kept.outlinks)
        scores = self._scoring.outlink_scores(score, [other == host for other in kept.hosts], count)
        rows = zip(kept.outlinks, kept.hosts, scores, strict=True)
        return [Link(link.url, target, share, depth + 1) for link, target, share in rows]

    def _admit(self, page: str, host: str, url: str, scope: str = "outlink", *, territory: bool = True) -> Verdict:
        """The verdict on a URL as a link of this page."""
        if len(url) > self._longest:
            return Verdict(url, "", "too_long")
        if "#" in url and "#!" not in url and url.partition("#")[0] == page:
            return Verdict(page, host, "self")  # a place on the page: half the links of documents are such
        verdict = self.judge(url, scope)
        if verdict.reason is not None:
            return verdict
        if verdict.url == page:
            return verdict._replace(reason="self")
        if territory and self._territory is not None:
            reason = self._territory.reason(host, verdict.host)
            if reason == "external" and scope == "outlink" and self._exemptions.exempts(verdict.url):
                return verdict
            return verdict._replace(reason=reason)
        return verdict

    def _judge(self, url: str, scope: str) -> Verdict:
        form = self._normalizers.normalize(url, scope) if self._normalizers is not None else url
        host = host_of(form) if form is not None else None
        if form is None or host is None:
            return Verdict(url, "", "malformed")
        return Verdict(form, host, self._filters.reject(form) if self._filters is not None else None)


@dataclass(frozen=True, slots=True)
class _Territory:
    """``db.ignore.internal.links`` and ``db.ignore.external.links``."""

    ignore_internal: bool
    ignore_external: bool
    by_domain: bool

    def reason(self, page: str, target: str) -> str | None:
        """Why a link from one host to another is ignored."""
        if self.by_domain:
            page, target = registered_domain(page), registered_domain(target)
        if page == target:
            return "internal" if self.ignore_internal else None
        return "external" if self.ignore_external else None


def _territory(conf: Conf) -> _Territory | None:
    mode = conf.text("db.ignore.external.links.mode")
    if mode.lower() not in ("byhost", "bydomain"):
        raise ConfigError(f"db.ignore.external.links.mode is byHost or byDomain, not {mode!r}")
    internal, external = conf.flag("db.ignore.internal.links"), conf.flag("db.ignore.external.links")
    return _Territory(internal, external, mode.lower() == "bydomain") if internal or external else None


def count(kept: Kept, counters: Counters) -> None:
    """Into the counters what was kept and dropped."""
    counters.add("outlinks", len(kept.outlinks))
    for reason, number in kept.dropped.items():
        counters.add(f"outlinks_dropped:{reason}", number)
