"""Nutch's tests of its URL filters."""

from __future__ import annotations

from conformance import corpora

from nutchpy.testing.conformance import accept


def rules_of(case: corpora.Case) -> str:
    """The rules as a file has them: options that Nutch's tests set by calls become the line they stand for."""
    options = case.get("options")
    if options:
        mode = "+" if options["mode"] == "accept" else "-"
        return f"{mode}{'I' * options['ignore_case']}{'P' * options['from_path']}\n{case['rules']}"
    return case["rules"] or ""


def passes(case: corpora.Case) -> bool:
    plugin = case["filter"]
    settings = {f"urlfilter.{plugin}.rules": rules_of(case)} if plugin != "validator" else {}
    return accept(case["url"], plugins=[plugin], settings=settings)[0] is case["accept"]


def test_regex_and_automaton() -> None:
    corpora.check("filter_nutch_regex_automaton", passes, {})


def test_the_other_filters() -> None:
    corpora.check("filter_nutch_misc", passes, {})
