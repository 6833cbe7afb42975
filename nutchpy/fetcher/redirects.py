"""Redirects in the crawl's terms: which form of the target, whether it may enter, whether it is followed at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nutchpy.core import urls
from nutchpy.extension.chains import URLFilters, URLNormalizers
from nutchpy.fetcher.item import FetchItem, Redirect


@dataclass(frozen=True, slots=True)
class RedirectSettings:
    """The settings that speak of redirects."""

    most: int
    """Redirects followed at once; 0 records targets for a later round."""
    skip_exceeded: bool
    """Beyond that, drop the target instead of recording it."""
    length_limit: int
    ignore_internal: bool
    ignore_external: bool
    by_domain: bool
    """What *external* is measured by: the domain instead of the host."""


class RedirectJudge:
    """``may_follow(url, host, source_host)``: None, or why this process must leave the target for a later round."""

    def __init__(
        self,
        settings: RedirectSettings,
        normalizers: URLNormalizers,
        filters: URLFilters,
        may_follow: Callable[[str, str, str], str | None],
    ) -> None:
        self._settings = settings
        self._normalizers = normalizers
        self._filters = filters
        self._may_follow = may_follow

    def judge(self, item: FetchItem, location: str | None, temporary: bool) -> Redirect:
        """What becomes of a redirect of ``item`` to the absolute URL ``location`` (None: it names no usable one)."""
        target, reason = self._accepted(item, location)
        if target is None:
            return Redirect(None, reason)
        representative = choose_repr(item.repr_url or item.url, target, temporary)
        if self._settings.most <= 0:
            return Redirect(target, "recorded", representative)
        if item.hops >= self._settings.most:
            kept = None if self._settings.skip_exceeded else target
            return Redirect(kept, "exceeded", representative)
        obstacle = self._may_follow(target, urls.host_of(target) or "", item.host)
        return Redirect(target, obstacle or "followed", representative, follow=obstacle is None)

    def _accepted(self, item: FetchItem, location: str | None) -> tuple[str | None, str]:
        """The target's normal form, or None and why it may not enter."""
        if location is None:
            return None, "no_target"
        if 0 <= self._settings.length_limit < len(location):
            return None, "too_long"
        target = self._normalizers.normalize(location, "fetcher")
        if target is None:
            return None, "malformed"
        if target == item.url:
            return None, "to_itself"
        if self._filters.reject(target) is not None:
            return None, "filtered"
        return self._within(item.host, target)

    def _within(self, host: str, target: str) -> tuple[str | None, str]:
        settings = self._settings
        if not (settings.ignore_internal or settings.ignore_external):
            return target, ""
        other = urls.host_of(target) or ""
        if settings.ignore_internal and other == host:
            return None, "internal"
        if settings.by_domain:
            host, other = urls.registered_domain(host), urls.registered_domain(other)
        if settings.ignore_external and other != host:
            return None, "external"
        return target, ""


def choose_repr(source: str, target: str, temporary: bool) -> str:
    """Which of two URLs stands for the page, by Nutch's rule (URLUtil.chooseRepr)."""
    one, other = urls.parse(source), urls.parse(target)
    if one is None or other is None:
        return target
    host, target_host = str(one.hostname), str(other.hostname)
    if urls.registered_domain(host) != urls.registered_domain(target_host):
        return target
    file, target_file = f"{one.pathname}{one.search}", f"{other.pathname}{other.search}"
    if not temporary:
        return source if file == "/" else target
    if (file == "/") != (target_file == "/"):
        return source if file == "/" else target
    if file != "/" and host == target_host:
        size, target_size = (file.count("/"), len(file)), (target_file.count("/"), len(target_file))
        return target if target_size < size else source
    return target if target_host.count(".") < host.count(".") else source
