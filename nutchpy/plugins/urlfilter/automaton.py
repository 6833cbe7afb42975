"""The automaton URL filter: Nutch's ``automaton-urlfilter.txt``, expressions that match the whole URL."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Self

from nutchpy.core.regex_engines import SECONDS
from nutchpy.plugins.urlfilter.automaton_syntax import whole_matcher
from nutchpy.plugins.urlfilter.rules import RuleChain, read_rules

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf


class AutomatonURLFilter(RuleChain):
    """Refuses by the first rule that matches; the reason is the rule's file and line."""

    @classmethod
    def from_text(cls, text: str, source: str, longest: int = -1, seconds: float = SECONDS) -> Self:
        """From the text of a rule file; URLs of more than ``longest`` characters are refused unsearched."""
        return cls(read_rules(text, source, partial(whole_matcher, seconds=seconds)), longest)

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """From ``urlfilter.automaton.rules``, else the file ``urlfilter.automaton.file``."""
        rules = conf.rules("urlfilter.automaton.file", "urlfilter.automaton.rules")
        longest, seconds = conf.integer("urlfilter.limits.max.url.length"), conf.number("urlfilter.rule.timeout")
        return cls.from_text(rules.text, rules.source, longest, seconds)
