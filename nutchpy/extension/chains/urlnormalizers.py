"""URLNormalizers: the one form in which the crawl knows a URL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nutchpy.conf.layers import Conf
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
_Chain = list[tuple[str, URLNormalizer]]


class URLNormalizers(Chain):
    """The normalizers of ``urlnormalizer.order``, or of ``urlnormalizer.order.<scope>`` where that is not empty.

    The chain runs until nothing changes, at most ``urlnormalizer.loop.count`` times. A normalizer that raises leaves
    the URL as it was.
    """

    def __init__(self, conf: Conf) -> None:
        super().__init__(conf)
        self._loops = conf.integer("urlnormalizer.loop.count")
        orders = {scope: tuple(_order(conf, scope)) for scope in SCOPES}
        names = dict.fromkeys(name for order in orders.values() for name in order)
        built = dict(zip(names, build("urlnormalizer", names, conf), strict=True))
        self._chains: dict[str, _Chain] = {scope: [built[name] for name in order] for scope, order in orders.items()}

    def normalize(self, url: str, scope: str) -> str | None:
        """The normal form, or None when a normalizer finds the URL malformed."""
        chain = self.chain(scope)
        for _ in range(self._loops):
            before = url
            for name, plugin in chain:
                try:
                    result = plugin.normalize(url, scope)
                except Exception as error:  # noqa: BLE001  a plugin's fault costs its own rewriting, not the run
                    self.failed(name, url, error)
                    continue
                if not result:
                    return None
                url = result
            if url == before:
                break
        return url

    def normalize_all(self, urls: Sequence[str], scope: str) -> list[str | None]:
        """``normalize`` over a column."""
        return [self.normalize(url, scope) for url in urls]

    def chain(self, scope: str) -> _Chain:
        """The named normalizers of a scope, in order."""
        if scope not in self._chains:
            raise ConfigError(f"no URL normalizer scope {scope!r}; there are {', '.join(SCOPES)}")
        return self._chains[scope]


def _order(conf: Conf, scope: str) -> list[str]:
    own = conf.words(f"urlnormalizer.order.{scope}") if scope != "default" else []
    return own or conf.words("urlnormalizer.order")
