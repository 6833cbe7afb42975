"""The regex URL filter: Nutch's ``regex-urlfilter.txt``, Java's expressions found anywhere in the URL."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Self

from nutchpy.core.regex_engines import SECONDS
from nutchpy.core.regex_search import finder
from nutchpy.plugins.urlfilter.rules import RuleChain, read_rules

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf


class RegexURLFilter(RuleChain):
    """Refuses by the first rule that matches; the reason is the rule's file and line."""

    @classmethod
    def from_text(cls, text: str, source: str, longest: int = -1, seconds: float = SECONDS) -> Self:
        """From the text of a rule file; URLs of more than ``longest`` characters are refused unsearched."""
        return cls(read_rules(text, source, partial(finder, seconds=seconds)), longest)

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """From ``urlfilter.regex.rules``, else the file ``urlfilter.regex.file``."""
        rules = conf.rules("urlfilter.regex.file", "urlfilter.regex.rules")
        longest, seconds = conf.integer("urlfilter.limits.max.url.length"), conf.number("urlfilter.rule.timeout")
        return cls.from_text(rules.text, rules.source, longest, seconds)
