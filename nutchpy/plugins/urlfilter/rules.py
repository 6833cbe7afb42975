"""The rules of Nutch's regex filters: ``+`` and ``-`` lines, the first that matches decides, none means refused.

Shared by the filters that differ in what a line's expression is (regex, automaton). Sections that begin
with ``> host-or-domain`` and end with ``<`` hold rules for that host or registered domain alone. A URL on which a rule
runs out of time is refused, since nobody knows what the rule would have said.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from nutchpy.core import urls as url_keys
from nutchpy.core.java_tree import JavaRegexError
from nutchpy.core.regex_engines import OutOfTime
from nutchpy.core.regex_guards import Search
from nutchpy.plugins.rule_text import line_error, line_name, numbered_lines

Compile = Callable[[str], Search]

TOO_LONG = "length"
NO_MATCH = "no_match"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rule:
    """One line. ``section`` is the host or domain it is for; None for all."""

    name: str
    accept: bool
    search: Search
    section: str | None = None

    @property
    def verdict(self) -> str | None:
        """What the chain is told when it matches: None to accept, else the reason."""
        return None if self.accept else self.name


class Lateness:
    """What becomes of a rule that runs out of time: a reason of its own, and a line in the log at the first time."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def reason(self, rule: str, url: str) -> str:
        """``regex-urlfilter.txt:12.timeout``."""
        if rule not in self._known:
            self._known.add(rule)
            _log.warning("rule %s ran out of time on %.200s, which is refused; so will others be", rule, url)
        return f"{rule}.timeout"


def read_rules(text: str, source: str, compiler: Compile) -> list[Rule]:
    """The rules of a file; ConfigError with file and line for one that Nutch would stop at, or cannot compile."""
    rules: list[Rule] = []
    section: str | None = None
    for number, line in numbered_lines(text):
        match line[:1]:
            case "" | " " | "#":
                continue
            case ">":
                section = line[1:].strip().lower() or None
            case "<":
                section = None
            case "+" | "-":
                search = _compiled(line[1:], compiler, source, number)
                rules.append(Rule(line_name(source, number), line[0] == "+", search, section))
            case first:
                raise line_error(source, number, f"a rule begins with + or -, not with {first!r}")
    return rules


def _compiled(pattern: str, compiler: Compile, source: str, number: int) -> Search:
    try:
        return compiler(pattern)
    except JavaRegexError as error:
        raise line_error(source, number, f"{pattern}: {error}") from error


class RuleChain:
    """Rules in order. URLs of more than ``longest`` characters are refused unsearched."""

    def __init__(self, rules: Iterable[Rule], longest: int = -1) -> None:
        self.rules = tuple(rules)
        self._longest = longest if longest >= 0 else sys.maxsize
        self._sections = frozenset(rule.section for rule in self.rules if rule.section is not None)
        self._of_host = lru_cache(maxsize=1 << 14)(self._for_host)
        self._late = Lateness()

    def reject(self, url: str) -> str | None:
        """None to accept, else the name of the rule that refused, ``no_match``, ``length``, or ``<rule>.timeout``."""
        if len(url) > self._longest:
            return TOO_LONG
        for rule in self._of_host(url_keys.host_of(url)) if self._sections else self.rules:
            try:
                if rule.search.find(url):
                    return rule.verdict
            except OutOfTime:
                return self._late.reason(rule.name, url)
        return NO_MATCH

    def reject_all(self, urls: Sequence[str]) -> list[str | None]:
        """``reject`` over a column, rule by rule: each is asked for what the rules before it left open."""
        if self._sections or max(map(len, urls), default=0) > self._longest:
            return [self.reject(url) for url in urls]
        answers: list[str | None] = [NO_MATCH] * len(urls)
        places, left = list(range(len(urls))), list(urls)
        for rule in self.rules:
            matching, late = self._matching(rule, left)
            verdict = rule.verdict
            for index in matching:
                answers[places[index]] = verdict
            for index, reason in late.items():
                answers[places[index]] = reason
            decided = {*matching, *late}
            if len(decided) == len(left):
                break
            if decided:
                places = [place for index, place in enumerate(places) if index not in decided]
                left = [url for index, url in enumerate(left) if index not in decided]
        return answers

    def _matching(self, rule: Rule, urls: Sequence[str]) -> tuple[list[int], dict[int, str]]:
        """The places of the URLs that a rule matches, and the reasons of those it ran out of time on."""
        try:
            return rule.search.matching(urls), {}
        except OutOfTime:
            return self._matching_singly(rule, urls)

    def _matching_singly(self, rule: Rule, urls: Sequence[str]) -> tuple[list[int], dict[int, str]]:
        matching, late = [], {}
        for index, url in enumerate(urls):
            try:
                if rule.search.find(url):
                    matching.append(index)
            except OutOfTime:
                late[index] = self._late.reason(rule.name, url)
        return matching, late

    def _for_host(self, host: str | None) -> list[Rule]:
        """The rules outside of sections and those of this host's, in the order they stand in."""
        names = {None, host, url_keys.registered_domain(host) if host else None}
        return [rule for rule in self.rules if rule.section in names]
