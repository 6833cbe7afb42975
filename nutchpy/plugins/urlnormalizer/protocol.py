"""The protocol URL normalizer: the scheme that a host's pages are known by, by Nutch's ``protocols.txt``."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self

from nutchpy.plugins.rule_text import and_parents, content_lines, table_host
from nutchpy.plugins.urlnormalizer.parts import Parts

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf

_log = logging.getLogger(__name__)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")


class ProtocolURLNormalizer:
    """``schemes`` maps hosts to schemes; ``.example.org`` stands for all hosts under a domain."""

    def __init__(self, schemes: Mapping[str, str]) -> None:
        self._schemes = dict(schemes)

    @classmethod
    def from_text(cls, text: str, source: str) -> Self:
        """From lines of a host or ``*.domain`` (itself too) and a scheme; other lines are passed over, as in Nutch."""
        schemes: dict[str, str] = {}
        for number, line in content_lines(text):
            words = line.split()
            if len(words) != 2 or not _SCHEME.fullmatch(words[1]):
                _log.warning("%s:%d: not a host and a scheme, passed over: %s", source, number, line)
                continue
            host, scheme = table_host(words[0].removeprefix("*.")), words[1].lower()
            if words[0].startswith("*."):
                schemes[f".{host}"] = scheme
            schemes[host] = scheme
        return cls(schemes)

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """From ``urlnormalizer.protocols.rules``, else the file ``urlnormalizer.protocols.file``."""
        rules = conf.rules("urlnormalizer.protocols.file", "urlnormalizer.protocols.rules")
        return cls.from_text(rules.text, rules.source)

    def normalize(self, url: str, scope: str) -> str | None:
        """The URL with the scheme of its host's rule; one with a port keeps its own. None when it has no scheme."""
        parts = Parts.of(url)
        if parts is None or not parts.host or parts.port:
            return None if parts is None else url
        scheme = self._scheme(parts.host.lower())
        return url if scheme in (None, parts.scheme.lower()) else str(replace(parts, scheme=scheme))

    def _scheme(self, host: str) -> str | None:
        """The host's own rule, else that of the longest domain above it."""
        if host in self._schemes:
            return self._schemes[host]
        parents = (f".{parent}" for parent in and_parents(host)[1:])
        return next((self._schemes[parent] for parent in parents if parent in self._schemes), None)
