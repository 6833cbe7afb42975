"""crawler-commons' sitemaps, through the facade."""

from __future__ import annotations

from typing import Any

from conformance import corpora

from nutchpy.core.sitemap import SitemapEntry, sitemap


def passes(case: corpora.Case) -> bool:
    body = (corpora.folder() / case["file"]).read_bytes()
    options = case["options"]
    found = sitemap(body, case["sitemap_url"], options["strict"], strict_namespace=options["strict_namespace"])
    if "error" in case:
        return (found.type, list(found.urls), list(found.sitemaps)) == (None, [], []) and found.problem is not None
    wanted = [entry_of(entry) for entry in case.get("urls", ())]
    wanted_sitemaps = [SitemapEntry(entry["loc"], entry["lastmod"]) for entry in case.get("sitemaps", ())]
    return (found.type, list(found.urls), list(found.sitemaps)) == (case["type"], wanted, wanted_sitemaps)


def entry_of(entry: dict[str, Any]) -> SitemapEntry:
    return SitemapEntry(entry["loc"], entry["lastmod"], entry["changefreq"], entry["priority"])


def test_crawler_commons() -> None:
    corpora.check("sitemaps_crawler_commons", passes, {})
