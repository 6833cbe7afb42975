"""The shipped parse filters: metatags and headings."""

from __future__ import annotations

from plugins.parse.pages import ORDINARY, content, parsed

from nutchpy.conf.layers import defaults
from nutchpy.extension.chains import ParseFilters
from nutchpy.plugins.parse.headings import HeadingsFilter
from nutchpy.plugins.parse.metatags import MetatagsFilter


def test_metatags_keeps_the_names_asked_for() -> None:
    page = parsed("<meta name=Keywords content=' a\n b '><meta name=keywords content=c><meta name=x content=y>")
    assert MetatagsFilter(["KEYWORDS"]).filter(content(""), page, None).parse_meta == {"metatag.keywords": "a b\tc"}
    kept = MetatagsFilter(["*"]).filter(content(""), page, None).parse_meta
    assert kept == {"metatag.keywords": "a b\tc", "metatag.x": "y"}
    assert MetatagsFilter(["none"]).filter(content(""), page, None) is page


def test_headings_first_or_all() -> None:
    page = parsed("<h1>a</h1><h2></h2><h2>b</h2><h2>c</h2><h3>d</h3>")
    first = HeadingsFilter(["h1", "h2"]).filter(content(""), page, None)
    assert first.parse_meta == {"h1": "a", "h2": "b"}
    every = HeadingsFilter(["H2"], multivalued=True).filter(content(""), page, None)
    assert every.parse_meta == {"h2": "b\tc"}


def test_chain_runs_both_in_order_without_a_soup() -> None:
    conf = defaults().with_values({"htmlparsefilter.order": ["metatags", "headings"]})
    page = ParseFilters.from_conf(conf).filter(content(""), parsed(ORDINARY), None)
    assert page.parse_meta == {
        "metatag.description": "What it is about",
        "metatag.keywords": "a, b",
        "h1": "Heading",
        "h2": "Second",
    }
