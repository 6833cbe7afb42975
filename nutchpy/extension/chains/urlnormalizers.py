"""URLNormalizers: the one form in which the crawl knows a URL."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import count
from typing import Final

from nutchpy.conf.layers import Conf
from nutchpy.core.counters import Counters
from nutchpy.core.errors import ConfigError
from nutchpy.extension.chains.guard import Chain, build
from nutchpy.extension.points import URLNormalizer

SCOPES: Final = (
    "default",
    "inject",
    "generate_host_count",
    "partition",
    "fetcher",
    "crawldb",
    "linkdb",
    "outlink",
    "indexer",
)
_log = logging.getLogger(__name__)
_Chain = list[tuple[str, URLNormalizer]]


class URLNormalizers(Chain):
    """The normalizers of ``urlnormalizer.order``, or of ``urlnormalizer.order.<scope>`` where that is not empty.

    The chain runs until nothing changes, at most ``urlnormalizer.loop.count`` times; where that is more than once, on
    for as long as each pass makes the URL shorter. A normalizer that raises leaves the URL as it was.
    """

    def __init__(self, conf: Conf) -> None:
        super().__init__(conf)
        self._loops = conf.integer("urlnormalizer.loop.count")
        orders = {scope: tuple(_order(conf, scope)) for scope in SCOPES}
        names = dict.fromkeys(name for order in orders.values() for name in order)
        built = dict(zip(names, build("urlnormalizer", names, conf), strict=True))
        self._plugins = [plugin for _, plugin in built.values()]
        self._chains: dict[str, _Chain] = {scope: [built[name] for name in order] for scope, order in orders.items()}

    def take_errors(self) -> Counters:
        """What was counted since the last call, by the plugins that count too."""
        takers = [taker for plugin in self._plugins if (taker := getattr(plugin, "take_counters", None))]
        return sum((take() for take in takers), super().take_errors())

    def normalize(self, url: str, scope: str) -> str | None:
        """The normal form, or None when a normalizer finds the URL malformed."""
        chain = self.chain(scope)
        for number in count(1):
            before = url
            for name, plugin in chain:
                result = self._normal(name, plugin, url, scope)
                if not result:
                    return None
                url = result
            if not self._goes_on(number, before, url):
                break
        return url

    def normalize_all(self, urls: Sequence[str], scope: str) -> list[str | None]:
        """``normalize`` over a column; a normalizer that has a ``normalize_all`` of its own is given all at once."""
        normal: list[str | None] = list(urls)
        rows: Sequence[int] = range(len(urls))
        for number in count(1):
            before = [url for row in rows if (url := normal[row]) is not None]
            after = self._passed(before, scope)
            for row, url in zip(rows, after, strict=True):
                normal[row] = url
            rows = [row for row, old, new in zip(rows, before, after, strict=True) if self._goes_on(number, old, new)]
            if not rows:
                break
        return normal

    def _goes_on(self, passes: int, before: str, after: str | None) -> bool:
        """Whether a URL goes through the chain once more: one that sheds its tail bit by bit is shed of all of it."""
        if after is None or after == before:
            return False
        return passes < self._loops or (self._loops > 1 and len(after) < len(before))

    def _passed(self, urls: list[str], scope: str) -> list[str | None]:
        """All normalizers once over a column."""
        normal: list[str | None] = list(urls)
        for name, plugin in self.chain(scope):
            rows = [row for row, url in enumerate(normal) if url]
            asked = [url for url in normal if url]
            changed = self._all_normal(name, plugin, asked, scope)
            if len(rows) == len(normal):
                normal = changed
                continue
            normal = [None] * len(urls)
            for row, url in zip(rows, changed, strict=True):
                normal[row] = url
        return [url or None for url in normal]

    def _all_normal(self, name: str, plugin: URLNormalizer, urls: Sequence[str], scope: str) -> list[str | None]:
        """One normalizer's forms. When its ``normalize_all`` raises, each URL is asked about by itself."""
        together = getattr(plugin, "normalize_all", None)
        if together is not None:
            try:
                found: list[str | None] = together(urls, scope)
            except Exception:  # noqa: BLE001  counted below, record by record
                _log.debug("plugin %s raised on a column of %d URLs", name, len(urls))
            else:
                return found
        return [self._normal(name, plugin, url, scope) for url in urls]

    def _normal(self, name: str, plugin: URLNormalizer, url: str, scope: str) -> str | None:
        try:
            return plugin.normalize(url, scope)
        except Exception as error:  # noqa: BLE001  a plugin's fault costs its own rewriting, not the run
            self.failed(name, url, error)
            return url

    def ignores_fragments(self, scope: str) -> bool:
        """Whether URLs that differ in nothing but the fragment have one form: the first normalizer takes it off."""
        chain = self.chain(scope)
        return bool(chain) and bool(getattr(chain[0][1], "ignores_fragment", False))

    def chain(self, scope: str) -> _Chain:
        """The named normalizers of a scope, in order."""
        if scope not in self._chains:
            raise ConfigError(f"no URL normalizer scope {scope!r}; there are {', '.join(SCOPES)}")
        return self._chains[scope]


def _order(conf: Conf, scope: str) -> list[str]:
    own = conf.words(f"urlnormalizer.order.{scope}") if scope != "default" else []
    return own or conf.words("urlnormalizer.order")
