"""Links to other hosts that are kept though such links are ignored."""

from __future__ import annotations

from nutchpy.conf.layers import defaults
from nutchpy.core.parse import Outlink
from nutchpy.parsing.outlinks import OutlinkRules
from nutchpy.plugins.urlfilter.ignoreexempt import IgnoreExemptURLFilter

PAGE = "http://www.a.test/p"
LINKS = ["http://www.a.test/in", "http://cdn.test/i.PNG?1", "http://cdn.test/page", "http://b.test/keep/x"]


def kept(**values: object) -> list[str]:
    settings = {"db.ignore.external.links": True, "urlfilter.order": [], "urlnormalizer.order": []}
    conf = defaults().with_values({**settings, **values})  # type: ignore[dict-item]
    return [link.url for link in OutlinkRules(conf).keep(PAGE, [Outlink(url) for url in LINKS]).outlinks]


def test_nothing_is_exempt_by_default() -> None:
    assert kept() == LINKS[:1]


def test_shipped_rules_exempt_images() -> None:
    assert kept(**{"urlexemptionfilter.order": ["ignoreexempt"]}) == LINKS[:2]


def test_own_rules() -> None:
    rules = {"urlfilter.ignoreexempt.rules": "-/page\n+^http://b\\.test/keep/\n"}
    assert kept(**{"urlexemptionfilter.order": ["ignoreexempt"]}, **rules) == [LINKS[0], LINKS[3]]
    assert IgnoreExemptURLFilter.from_conf(defaults().with_values(rules)).reject(LINKS[2]) is not None
