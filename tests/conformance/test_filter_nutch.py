"""Nutch's tests of its URL filters."""

from __future__ import annotations

from functools import cache

from conformance import corpora

from nutchpy.conf.layers import defaults
from nutchpy.extension import registry
from nutchpy.extension.points import URLFilter


@cache
def url_filter(name: str, rules: str) -> URLFilter:
    conf = defaults().with_values({f"urlfilter.{name}.rules": rules} if name != "validator" else {})
    return registry.load("urlfilter", name).from_conf(conf)


def rules_of(case: corpora.Case) -> str:
    """The rules as a file has them: options that Nutch's tests set by calls become the line they stand for."""
    options = case.get("options")
    if options:
        mode = "+" if options["mode"] == "accept" else "-"
        return f"{mode}{'I' * options['ignore_case']}{'P' * options['from_path']}\n{case['rules']}"
    return case["rules"] or "# nothing"


def passes(case: corpora.Case) -> bool:
    return (url_filter(case["filter"], rules_of(case)).reject(case["url"]) is None) == case["accept"]


def test_regex_and_automaton() -> None:
    corpora.check("filter_nutch_regex_automaton", passes, {})


def test_the_other_filters() -> None:
    corpora.check("filter_nutch_misc", passes, {})
