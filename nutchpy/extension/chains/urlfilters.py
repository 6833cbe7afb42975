"""URLFilters: may this URL enter? The first filter that refuses ends the chain and gives the reason."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from nutchpy.conf.layers import Conf
from nutchpy.extension.chains.guard import Chain, build
from nutchpy.extension.points import URLFilter

_log = logging.getLogger(__name__)


class URLFilters(Chain):
    """The filters of ``urlfilter.order``. A filter that raises lets the URL pass (NUTCH-3164)."""

    def __init__(self, conf: Conf) -> None:
        super().__init__(conf)
        self._filters: list[tuple[str, URLFilter]] = build("urlfilter", conf.words("urlfilter.order"), conf)

    def reject(self, url: str) -> str | None:
        """None to accept, else ``filter.rule``, such as ``regex.suffix``."""
        for name, plugin in self._filters:
            reason = self._verdict(name, plugin, url)
            if reason is not None:
                return f"{name}.{reason}" if reason else name
        return None

    def reject_all(self, urls: Sequence[str]) -> list[str | None]:
        """``reject`` over a column; a filter that has a ``reject_all`` of its own is asked for all at once."""
        reasons: list[str | None] = [None] * len(urls)
        rows: Sequence[int] = range(len(urls))
        for name, plugin in self._filters:
            asked = [urls[row] for row in rows]
            verdicts = self._verdicts(name, plugin, asked)
            if verdicts.count(None) == len(verdicts):
                continue
            for row, reason in zip(rows, verdicts, strict=True):
                if reason is not None:
                    reasons[row] = f"{name}.{reason}" if reason else name
            rows = [row for row in rows if reasons[row] is None]
        return reasons

    def _verdicts(self, name: str, plugin: URLFilter, urls: Sequence[str]) -> list[str | None]:
        """One filter's reasons. When its ``reject_all`` raises, it is asked one by one, to find the record at fault."""
        together = getattr(plugin, "reject_all", None)
        if together is not None:
            try:
                found: list[str | None] = together(urls)
            except Exception:  # noqa: BLE001  counted below, record by record
                _log.debug("plugin %s raised on a column of %d URLs", name, len(urls))
            else:
                return found
        return [self._verdict(name, plugin, url) for url in urls]

    def _verdict(self, name: str, plugin: URLFilter, url: str) -> str | None:
        try:
            return plugin.reject(url)
        except Exception as error:  # noqa: BLE001  a plugin's fault costs this record's verdict, not the run
            self.failed(name, url, error)
            return None


class URLExemptions(Chain):
    """The filters of ``urlexemptionfilter.order``: a link that all of them accept may lead to another host."""

    def __init__(self, conf: Conf) -> None:
        super().__init__(conf)
        names = conf.words("urlexemptionfilter.order")
        self._filters: list[tuple[str, URLFilter]] = build("urlfilter", names, conf)

    def exempts(self, url: str) -> bool:
        """Whether ``db.ignore.external.links`` does not hold for this URL; a filter that raises exempts nothing."""
        return bool(self._filters) and all(self._accepts(name, plugin, url) for name, plugin in self._filters)

    def _accepts(self, name: str, plugin: URLFilter, url: str) -> bool:
        try:
            return plugin.reject(url) is None
        except Exception as error:  # noqa: BLE001  a plugin's fault costs this record its exemption
            self.failed(name, url, error)
            return False
