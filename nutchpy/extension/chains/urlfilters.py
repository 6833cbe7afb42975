"""URLFilters: may this URL enter? The first filter that refuses ends the chain and gives the reason."""

from __future__ import annotations

from collections.abc import Sequence

from nutchpy.conf.layers import Conf
from nutchpy.extension.chains.guard import Chain, build
from nutchpy.extension.points import URLFilter


class URLFilters(Chain):
    """The filters of ``urlfilter.order``. A filter that raises lets the URL pass (NUTCH-3164)."""

    def __init__(self, conf: Conf) -> None:
        super().__init__(conf)
        self._filters: list[tuple[str, URLFilter]] = build("urlfilter", conf.words("urlfilter.order"), conf)

    def reject(self, url: str) -> str | None:
        """None to accept, else ``filter.rule``, such as ``regex.suffix``."""
        for name, plugin in self._filters:
            try:
                reason = plugin.reject(url)
            except Exception as error:  # noqa: BLE001  a plugin's fault costs this record's verdict, not the run
                self.failed(name, url, error)
                continue
            if reason is not None:
                return f"{name}.{reason}" if reason else name
        return None

    def reject_all(self, urls: Sequence[str]) -> list[str | None]:
        """``reject`` over a column."""
        return [self.reject(url) for url in urls]
