"""What URL normalizers and filters cost: microseconds of CPU per URL and plugin, beside a bare parse of each URL.

Run by hand: ``python tests/benchmarks/urls.py [URLS]``. The URLs are made up, of the kinds a crawl of documentation,
news and shop sites has: most are in normal form and pass, some must be rewritten or refused.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence

import can_ada

from nutchpy.conf.layers import defaults
from nutchpy.extension import registry
from nutchpy.extension.chains.urlfilters import URLFilters
from nutchpy.extension.chains.urlnormalizers import URLNormalizers

KINDS = ("docs", "library", "index-of", "page", "a", "news", "item", "product", "long-title_of-something", "v", "2024")
WORDS = [f"{kind}{number or ''}" for kind in KINDS for number in range(6)]
HOSTS = [
    f"{sub}{kind}{number}.{top}"
    for sub in ("www.", "", "docs.")
    for kind in KINDS[:6]
    for number in range(9)
    for top in ("org", "com", "co.uk")
]
TAILS = (
    "",
    "/",
    ".html",
    ".html",
    ".php?id=17",
    "?page=2&lang=en",
    "/?q=a+b",
    "#top",
    ".jpg",
    ";jsessionid=0A1B",
    "//x",
)
REPEATS = 5


def made_up(count: int) -> list[str]:
    """The same URLs each time."""
    chance = random.Random(1)
    weights = (10, 20, 20, 10, 6, 6, 3, 2, 2, 1, 1)
    return [
        f"{chance.choice(('http', 'https'))}://{chance.choice(HOSTS)}/"
        f"{'/'.join(chance.choices(WORDS, k=chance.randint(1, 5)))}{chance.choices(TAILS, weights)[0]}"
        for _ in range(count)
    ]


def report(name: str, run: Callable[[Sequence[str]], Sequence[object]], urls: Sequence[str]) -> None:
    """The least of several runs: the others were disturbed."""
    least = float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        run(urls)
        least = min(least, time.process_time() - start)
    print(f"{name:28} {least / len(urls) * 1e6:7.2f} µs")


def main(count: int) -> None:
    """Floor, each plugin alone, then the default chains as inject runs them."""
    conf, urls = defaults(), made_up(count)
    print(f"{count} URLs of {sum(map(len, urls)) / count:.0f} characters")
    report("floor: can_ada.parse", lambda given: [can_ada.parse(url) for url in given], urls)
    for name in ("basic", "regex"):
        normalizer = registry.load("urlnormalizer", name).from_conf(conf)
        report(f"normalizer {name}", lambda given, plugin=normalizer: plugin.normalize_all(given, "inject"), urls)
    for name in ("limits", "regex"):
        url_filter = registry.load("urlfilter", name).from_conf(conf)
        report(f"filter {name}", lambda given, plugin=url_filter: plugin.reject_all(given), urls)
    normalizers, filters = URLNormalizers.from_conf(conf), URLFilters.from_conf(conf)
    report("chain of normalizers", lambda given: normalizers.normalize_all(given, "inject"), urls)
    report("chain of filters", filters.reject_all, urls)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
