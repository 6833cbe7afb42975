"""The domain URL filters: accept, or refuse, by listed public suffix, registered domain or host."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Self

from nutchpy.core import urls as url_keys
from nutchpy.core.registered import public_suffix, registered_domain
from nutchpy.plugins.rule_text import content_lines, table_host

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf


def read_domains(text: str) -> frozenset[str]:
    """The entries of a list, in the form hosts have in URLs: lower case, ASCII."""
    return frozenset(table_host(line) for _, line in content_lines(text))


class _Listed:
    """Whether a URL's suffix, domain or host is listed, as Nutch looks it up: not each parent domain, these three."""

    def __init__(self, entries: frozenset[str]) -> None:
        self.entries = entries
        self._lists = lru_cache(maxsize=1 << 14)(self._lists_host)

    def lists(self, url: str) -> bool | None:
        """None when the URL does not parse."""
        host = url_keys.host_of(url)
        return None if host is None else self._lists(host)

    def _lists_host(self, host: str) -> bool:
        bare = host.removesuffix(".")
        keys = {host, bare, registered_domain(bare), public_suffix(bare)}
        return not self.entries.isdisjoint(filter(None, keys))


class DomainURLFilter:
    """Accepts what is listed, refuses the rest as ``unlisted``; an empty list accepts everything (NUTCH-2189)."""

    def __init__(self, entries: frozenset[str]) -> None:
        self._listed = _Listed(entries)

    @classmethod
    def from_text(cls, text: str, source: str) -> Self:
        """From a list, one entry a line."""
        return cls(read_domains(text))

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """From ``urlfilter.domain.rules``, else the file ``urlfilter.domain.file``."""
        rules = conf.rules("urlfilter.domain.file", "urlfilter.domain.rules")
        return cls.from_text(rules.text, rules.source)

    def reject(self, url: str) -> str | None:
        """None for a listed suffix, domain or host."""
        if not self._listed.entries:
            return None
        return {True: None, False: "unlisted", None: "malformed"}[self._listed.lists(url)]


class DomainDenylistURLFilter:
    """Refuses what is listed, as ``listed``."""

    def __init__(self, entries: frozenset[str]) -> None:
        self._listed = _Listed(entries)

    @classmethod
    def from_text(cls, text: str, source: str) -> Self:
        """From a list, one entry a line."""
        return cls(read_domains(text))

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """From ``urlfilter.domaindenylist.rules``, else the file ``urlfilter.domaindenylist.file``."""
        rules = conf.rules("urlfilter.domaindenylist.file", "urlfilter.domaindenylist.rules")
        return cls.from_text(rules.text, rules.source)

    def reject(self, url: str) -> str | None:
        """None unless the suffix, domain or host is listed."""
        return {True: "listed", False: None, None: "malformed"}[self._listed.lists(url)]
