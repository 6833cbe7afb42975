"""The ignoreexempt URL filter: links to other hosts that are kept although such links are ignored, by regex rules.

Named in ``urlexemptionfilter.order``, what it accepts is exempt from ``db.ignore.external.links``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from nutchpy.plugins.urlfilter.regex import RegexURLFilter

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf


class IgnoreExemptURLFilter(RegexURLFilter):
    """Accepts by the first rule that matches, as the regex filter does; rules of its own."""

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """From ``urlfilter.ignoreexempt.rules``, else the file ``db.ignore.external.exemptions.file``."""
        rules = conf.rules("db.ignore.external.exemptions.file", "urlfilter.ignoreexempt.rules")
        longest, seconds = conf.integer("urlfilter.limits.max.url.length"), conf.number("urlfilter.rule.timeout")
        return cls.from_text(rules.text, rules.source, longest, seconds)
