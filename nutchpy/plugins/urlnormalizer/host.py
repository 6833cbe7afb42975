"""The host URL normalizer: hosts that are another's other name, by Nutch's ``host-urlnormalizer.txt``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self

from nutchpy.plugins.rule_text import and_parents, content_lines, line_error, table_host
from nutchpy.plugins.urlnormalizer.parts import Parts
from nutchpy.plugins.urlnormalizer.settle import settled

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf

_HOST: Final = re.compile(r"[^\s/:?#@]+|\[[0-9A-Fa-f:.]+\]")


class HostURLNormalizer:
    """``targets`` maps hosts, and ``*.domain`` for all hosts under a domain, to what is put in their place."""

    def __init__(self, targets: Mapping[str, str]) -> None:
        self._targets = dict(targets)

    @classmethod
    def from_text(cls, text: str, source: str) -> Self:
        """From lines of a host (or ``*.domain``) and its replacement."""
        targets: dict[str, str] = {}
        for number, line in content_lines(text):
            words = line.split()
            if len(words) != 2 or not _HOST.fullmatch(words[1]):
                raise line_error(source, number, f"a line is a host and its replacement, not {line!r}")
            star = "*." if words[0].startswith("*.") else ""
            targets[star + table_host(words[0].removeprefix(star))] = table_host(words[1])
        return cls(targets)

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """From ``urlnormalizer.hosts.rules``, else the file ``urlnormalizer.hosts.file``."""
        rules = conf.rules("urlnormalizer.hosts.file", "urlnormalizer.hosts.rules")
        return cls.from_text(rules.text, rules.source)

    def normalize(self, url: str, scope: str) -> str | None:
        """The URL with its host replaced, and that one's, and so on; None when it has no scheme."""
        parts = Parts.of(url)
        if parts is None or not parts.host:
            return None if parts is None else url
        host = settled(self._target, parts.host.lower())
        return url if host == parts.host.lower() else str(replace(parts, host=host))

    def _target(self, host: str) -> str:
        """Exact first, then ``*.`` and the shortest parent of two labels that is listed, as in Nutch."""
        if host in self._targets:
            return self._targets[host]
        parents = [f"*.{parent}" for parent in reversed(and_parents(host)[1:-1])]
        return next((self._targets[parent] for parent in parents if parent in self._targets), host)
