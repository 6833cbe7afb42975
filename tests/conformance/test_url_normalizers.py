"""Nutch's tests of its URL normalizers."""

from __future__ import annotations

from functools import cache

from conformance import corpora

from nutchpy.conf.layers import defaults
from nutchpy.extension import registry
from nutchpy.extension.points import URLNormalizer
from nutchpy.plugins.urlnormalizer.regex import RegexURLNormalizer

NO_HOST = "no host: the URL standard fails it, and nothing could be fetched; Nutch keeps it as scheme:/"
EXPECTED_BASIC = dict.fromkeys(("61", "62", "63", "64"), NO_HOST)

RULES = {"host": "urlnormalizer.hosts.rules", "protocol": "urlnormalizer.protocols.rules"}
RULES["slash"] = "urlnormalizer.slashes.rules"


@cache
def basic(idn: str, idna2008: str, trim: str) -> URLNormalizer:
    conf = defaults().with_values(
        {
            "urlnormalizer.basic.host.idn": idn,
            "urlnormalizer.basic.host.idna2008": idna2008,
            "urlnormalizer.basic.host.trim-trailing-dot": trim,
        }
    )
    return registry.load("urlnormalizer", "basic").from_conf(conf)


@cache
def small(name: str, rules: str | None) -> URLNormalizer:
    conf = defaults().with_values({RULES[name]: rules} if rules is not None else {})
    return registry.load("urlnormalizer", name).from_conf(conf)


def twice(normalizer: URLNormalizer, url: str, scope: str) -> str | None:
    """The normal form, held against what becomes of it in a second pass."""
    once = normalizer.normalize(url, scope)
    assert once is None or normalizer.normalize(once, scope) == once
    return once


def test_basic() -> None:
    def passes(case: corpora.Case) -> bool:
        options = case["options"]  # what is not set there has Nutch's default
        idn, idna2008 = options.get("host_idn", "none"), options.get("idna2008", "false")
        normalizer = basic(idn, idna2008, options.get("trim_trailing_dot", "false"))
        return twice(normalizer, case["input"], "default") == case["expected"]

    corpora.check("url_nutch_basic_normalizer", passes, EXPECTED_BASIC)


def test_regex() -> None:
    folder = corpora.folder() / "regex_normalize"
    texts = {scope: (folder / f"regex-normalize-{scope}.xml").read_text() for scope in ("default", "scope1")}
    normalizer = RegexURLNormalizer.from_text(texts["default"], "default", {"scope1": texts["scope1"]})

    def passes(case: corpora.Case) -> bool:
        [batch] = normalizer.normalize_all([case["input"]], case["scope"])
        return twice(normalizer, case["input"], case["scope"]) == case["expected"] == batch

    corpora.check("url_nutch_regex_normalizer", passes, {})


def test_nutchs_template_of_the_regex_rules_equals_ours() -> None:
    template = (corpora.folder() / "regex_normalize" / "regex-normalize.xml.template").read_text()
    theirs = RegexURLNormalizer.from_text(template, "template")
    ours = registry.load("urlnormalizer", "regex").from_conf(defaults())
    for case in corpora.load("url_nutch_regex_normalizer"):
        assert ours.normalize(case["input"], "default") == theirs.normalize(case["input"], "default")


def test_small_normalizers() -> None:
    def passes(case: corpora.Case) -> bool:
        normalizer = small(case["normalizer"], case.get("rules"))
        return twice(normalizer, case["input"], case.get("scope", "default")) == case["expected"]

    corpora.check("url_nutch_small_normalizers", passes, {})
