"""The fast URL filter: rules looked up by host and domain, after Nutch's ``fast-urlfilter.txt``; they only refuse."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Self

from nutchpy.core import urls as url_keys
from nutchpy.core.java_tree import JavaRegexError
from nutchpy.core.regex_engines import SECONDS, OutOfTime
from nutchpy.core.regex_guards import Find
from nutchpy.core.regex_search import finder
from nutchpy.plugins.rule_text import and_parents, line_error, line_name, numbered_lines, table_host
from nutchpy.plugins.urlfilter.rules import Lateness

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf

_EVERYTHING: Final = re.compile(r"\.[*?]")
GLOBAL: Final = "."


@dataclass(frozen=True, slots=True)
class Rule:
    """``find`` in the path, or ``with_query`` in path and query, refuses as ``name``."""

    name: str
    find: Find
    with_query: bool


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules by host, and by domain; those of the domain ``.`` are for all."""

    hosts: Mapping[str, Sequence[Rule]] = field(default_factory=dict)
    domains: Mapping[str, Sequence[Rule]] = field(default_factory=dict)

    def of(self, host: str) -> list[Rule]:
        """The host's own, then those of each domain it is in, the longest first, then those for all."""
        return [
            *self.hosts.get(host, ()),
            *(rule for domain in and_parents(host) for rule in self.domains.get(domain, ())),
            *self.domains.get(GLOBAL, ()),
        ]


def read_rules(text: str, source: str, seconds: float = SECONDS) -> Rules:
    """The rules of a file. What Nutch passes over with a warning (a rule outside of a block, no rule at all) stops."""
    hosts: dict[str, list[Rule]] = {}
    domains: dict[str, list[Rule]] = {}
    block: list[Rule] | None = None
    for number, words in _words(text):
        match words:
            case ["Host", name]:
                block = hosts.setdefault(table_host(name), [])
            case ["Domain", name]:
                block = domains.setdefault(name if name == GLOBAL else table_host(name), [])
            case ["DenyPath" | "DenyPathQuery" as kind, pattern]:
                if block is None:
                    raise line_error(source, number, "a rule before the first Host or Domain")
                find = _find(pattern, source, number, seconds)
                block.append(Rule(line_name(source, number), find, kind == "DenyPathQuery"))
            case _:
                raise line_error(source, number, "neither Host, Domain, DenyPath nor DenyPathQuery with one word")
    return Rules(hosts, domains)


def _words(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in numbered_lines(text):
        if words := line.partition("#")[0].split():
            yield number, words


def _find(pattern: str, source: str, number: int, seconds: float) -> Find:
    if _EVERYTHING.fullmatch(pattern):
        return lambda _: True
    try:
        return finder(pattern, seconds).find
    except JavaRegexError as error:
        raise line_error(source, number, f"{pattern}: {error}") from error


class FastURLFilter:
    """Refuses as ``length``, ``path_length``, ``query_length``, ``malformed``, ``<rule>``, ``<rule>.timeout``."""

    def __init__(self, rules: Rules, longest: int = -1, longest_path: int = -1, longest_query: int = -1) -> None:
        self._of_host = lru_cache(maxsize=1 << 14)(rules.of)
        self._longest, self._longest_path, self._longest_query = (
            limit if limit >= 0 else sys.maxsize for limit in (longest, longest_path, longest_query)
        )
        self._late = Lateness()

    @classmethod
    def from_text(cls, text: str, source: str) -> Self:
        """From the text of a rule file."""
        return cls(read_rules(text, source))

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """From ``urlfilter.fast.rules``, else the file ``urlfilter.fast.file``, and ``urlfilter.fast.url.*``."""
        rules = conf.rules("urlfilter.fast.file", "urlfilter.fast.rules")
        return cls(
            read_rules(rules.text, rules.source, conf.number("urlfilter.rule.timeout")),
            conf.integer("urlfilter.fast.url.max.length"),
            conf.integer("urlfilter.fast.url.path.max.length"),
            conf.integer("urlfilter.fast.url.query.max.length"),
        )

    def reject(self, url: str) -> str | None:
        """None to accept."""
        if len(url) > self._longest:
            return "length"
        parsed = url_keys.parse(url)
        if parsed is None:
            return "malformed"
        path, query = str(parsed.pathname), str(parsed.search)
        if len(path) > self._longest_path:
            return "path_length"
        if len(query) - 1 > self._longest_query:
            return "query_length"
        file = path + query
        for rule in self._of_host(str(parsed.hostname)):
            try:
                if rule.find(file if rule.with_query else path):
                    return rule.name
            except OutOfTime:
                return self._late.reason(rule.name, url)
        return None
