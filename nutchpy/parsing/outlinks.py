"""Which of a page's links are kept, in which form, and what score each carries.

A link is normalised (scope ``outlink``), filtered, and dropped when it leads to the page itself or where the settings
do not go; the first ``db.max.outlinks.per.page`` that remain are kept, duplicates counting like any other (as Nutch).
What becomes of a URL by itself is remembered, and found out for all new ones of a page at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from nutchpy.conf.layers import Conf
from nutchpy.core.counters import Counters
from nutchpy.core.errors import ConfigError
from nutchpy.core.outlinks import Outlinks
from nutchpy.core.parse import Outlink
from nutchpy.core.urls import host_of, registered_domain
from nutchpy.extension.chains import Chain, ScoringFilters, URLExemptions, URLFilters, URLNormalizers

REMEMBERED: Final = 1 << 16
"""URLs whose verdicts are kept: the pages of a site link to the same pages again and again."""


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
        self._fragments_ignored = self._normalizers is not None and self._normalizers.ignores_fragments("outlink")
        self._known: dict[str, Verdict] = {}

    @property
    def chains(self) -> list[Chain]:
        """Those that may count errors."""
        return [
            chain for chain in (self._filters, self._normalizers, self._scoring, self._exemptions) if chain is not None
        ]

    def keep(self, page: str, links: Iterable[Outlink]) -> Kept:
        """The links of a page that are kept, in order, and how many were dropped for which reason."""
        kept = Kept()
        host = host_of(page) or ""
        found = links if isinstance(links, Outlinks) else Outlinks.of(links)
        place = 0
        while leads := found.leads(place, self._stop(place, kept)):
            place += len(leads)
            verdicts = self._verdicts(page, host, [url for url, _ in leads])
            for (_, origin), (url, target, reason) in zip(leads, verdicts, strict=True):
                if reason is not None:
                    kept.dropped[reason] += 1
                else:
                    kept.outlinks.append(found.make(url, origin))
                    kept.hosts.append(target)
        return kept

    def _stop(self, place: int, kept: Kept) -> int | None:
        """How far links have to be read when all are kept from here on; None for all of them."""
        return None if self._most is None else place + self._most - len(kept.outlinks)

    def target(self, page: str, url: str) -> Verdict:
        """The target of a page's refresh, under the rules for redirects."""
        host = host_of(page) or ""
        (verdict,) = self._judged([page if self._is_place(url, page) else url], "fetcher")
        if verdict.reason is None and self._territory is not None and self._also_redirects:
            verdict = verdict._replace(reason=self._territory.reason(host, verdict.host))
        return _seen_from(page, verdict)

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

    def _verdicts(self, page: str, host: str, urls: Sequence[str]) -> list[Verdict]:
        """What becomes of each URL as a link of this page."""
        own, known, place = Verdict(page, host, "self"), self._memory(), page + "#"
        found = [own if url.startswith(place) and self._is_place(url, page) else known.get(url) for url in urls]
        if None in found:
            self._learn([url for url, verdict in zip(urls, found, strict=True) if verdict is None])
            found = [verdict or known[url] for url, verdict in zip(urls, found, strict=True)]
        verdicts = [_seen_from(page, verdict) for verdict in found if verdict is not None]
        return verdicts if self._territory is None else [self._in_territory(host, verdict) for verdict in verdicts]

    def _in_territory(self, host: str, verdict: Verdict) -> Verdict:
        """The verdict under ``db.ignore.*.links``."""
        if verdict.reason is not None or self._territory is None:
            return verdict
        reason = self._territory.reason(host, verdict.host)
        exempt = reason == "external" and self._exemptions.exempts(verdict.url)
        return verdict if reason is None or exempt else verdict._replace(reason=reason)

    def _is_place(self, url: str, page: str) -> bool:
        """Whether a link leads to a place on its page: half the links of documents are such."""
        return url.startswith(page + "#") and "#!" not in url and len(url) <= self._longest

    def _memory(self) -> dict[str, Verdict]:
        """The verdicts remembered, with room for a page's."""
        if len(self._known) > REMEMBERED:
            self._known.clear()
        return self._known

    def _learn(self, urls: Sequence[str]) -> None:
        """Find out about URLs, and remember it. Those that differ in a fragment nobody looks at are one."""
        known, longest = self._known, self._longest if self._fragments_ignored else -1
        bare = {url: url.partition("#")[0] if "#" in url and len(url) <= longest else url for url in urls}
        new = [url for url in dict.fromkeys(bare.values()) if url not in known]
        known.update(zip(new, self._judged(new, "outlink"), strict=True))
        known.update((url, known[form]) for url, form in bare.items())

    def _judged(self, urls: Sequence[str], scope: str) -> list[Verdict]:
        """What becomes of URLs by themselves."""
        wanted = [url for url in urls if len(url) <= self._longest]
        forms = self._normalizers.normalize_all(wanted, scope) if self._normalizers is not None else wanted
        hosts = {form: host for form in forms if form is not None and (host := host_of(form)) is not None}
        reasons = self._filters.reject_all(list(hosts)) if self._filters is not None else [None] * len(hosts)
        reason_of = dict(zip(hosts, reasons, strict=True))
        verdicts = {
            url: Verdict(form, hosts[form], reason_of[form]) if form in hosts else Verdict(url, "", "malformed")
            for url, form in zip(wanted, forms, strict=True)
        }
        return [verdicts.get(url) or Verdict(url, "", "too_long") for url in urls]


def _seen_from(page: str, verdict: Verdict) -> Verdict:
    """The verdict on a link of this page: one to itself is none, and as in browsers only files lead to files."""
    if verdict.reason is not None:
        return verdict
    if verdict.url == page:
        return verdict._replace(reason="self")
    strays = verdict.url.startswith("file:") and not page.startswith("file:")
    return verdict._replace(reason="to_file") if strays else verdict


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
