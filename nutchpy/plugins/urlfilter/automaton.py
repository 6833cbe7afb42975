"""The automaton URL filter: Nutch's ``automaton-urlfilter.txt``, expressions that match the whole URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from nutchpy.plugins.urlfilter.automaton_syntax import whole_matcher
from nutchpy.plugins.urlfilter.rules import RuleChain, read_rules

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf


class AutomatonURLFilter(RuleChain):
    """Refuses by the first rule that matches; the reason is the rule's file and line."""

    @classmethod
    def from_text(cls, text: str, source: str, longest: int = -1) -> Self:
        """From the text of a rule file; URLs of more than ``longest`` characters are refused unsearched."""
        return cls(read_rules(text, source, whole_matcher), longest)

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """From ``urlfilter.automaton.rules``, else the file ``urlfilter.automaton.file``."""
        rules = conf.rules("urlfilter.automaton.file", "urlfilter.automaton.rules")
        return cls.from_text(rules.text, rules.source, conf.integer("urlfilter.limits.max.url.length"))
