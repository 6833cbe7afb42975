"""What holds of every normalizer and filter, whatever they are given: an answer, soon, and the same a second time."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nutchpy.conf.layers import defaults
from nutchpy.extension import registry
from nutchpy.extension.chains.urlnormalizers import URLNormalizers

CONF = defaults().with_values(
    {
        "urlnormalizer.hosts.rules": "a.org b.org\nb.org a.org\n*.c.org c.org",
        "urlnormalizer.protocols.rules": "a.org https\n*.c.org http",
        "urlnormalizer.slashes.rules": "a.org +\nc.org -",
        "urlfilter.domain.rules": "org\nexample.co.uk",
        "urlfilter.fast.rules": "Domain .\n DenyPath b/",
    }
)
NORMALIZERS = {
    name: registry.load("urlnormalizer", name).from_conf(CONF)
    for name in ("basic", "regex", "pass", "querystring", "host", "protocol", "slash", "ajax")
}
for form in ("none", "toUnicode", "toAscii"):
    for idna2008 in ("false", "true"):
        host = {"urlnormalizer.basic.host.idn": form, "urlnormalizer.basic.host.idna2008": idna2008}
        trim = {"urlnormalizer.basic.host.trim-trailing-dot": idna2008}
        plugin = registry.load("urlnormalizer", "basic").from_conf(CONF.with_values({**host, **trim}))
        NORMALIZERS[f"basic {form} {idna2008}"] = plugin
FILTERS = {
    name: registry.load("urlfilter", name).from_conf(CONF)
    for name in ("regex", "limits", "prefix", "suffix", "domain", "domaindenylist", "validator", "automaton", "fast")
}

CHAIN = URLNormalizers.from_conf(defaults())

anything = st.text(st.characters(exclude_categories=()), max_size=60)
SCHEMES = ["http://", "https://", "HTTP:", "file:", "file://", "file:///", "ftp://u:p@", "http:\\", "mailto:", ""]
AUTHORITIES = [
    "a.org",
    "x.C.org",
    "B.org:80",
    "c.org.",
    "bücher.de",
    "xn--bcher-kva.de",
    "b%C3%BC.de",
    "faß.de",
    "127.1",
    "[::1]",
    "u@a.org",
    "",
    ".",
    "a。org",
    "xn--a",
    "C|",
]
PIECES = [
    "/",
    "//",
    "a",
    "/.",
    "/..",
    "%2e",
    "%",
    "%4",
    "%41",
    "%%32",
    "%c3%a9",
    "é",
    "?",
    "&",
    "&&",
    "=",
    "#",
    "#!",
    ";sid=",
    "sid=1",
    "_escaped_fragment_=",
    "\\",
    "|",
    "[",
    "'",
    " ",
    "\t",
    "\x00",
    ".",
    "..",
    "C:",
    ":",
    "@",
    "\ud800",
    "💩",
]
urls = st.builds(
    lambda scheme, authority, pieces: scheme + authority + "".join(pieces),
    st.sampled_from(SCHEMES),
    st.sampled_from(AUTHORITIES),
    st.lists(st.sampled_from(PIECES), max_size=10),
)


@pytest.mark.parametrize("name", NORMALIZERS)
@pytest.mark.parametrize("scope", ["default", "indexer"])
@given(url=urls | anything)
@settings(max_examples=150)
@example(url="http://a.org/" + "." * 500)
@example(url="file:///C|/%43|/..")
def test_normalizing_twice_is_normalizing_once(name: str, scope: str, url: str) -> None:
    normalizer = NORMALIZERS[name]
    once = normalizer.normalize(url, scope)
    if once is not None:
        assert normalizer.normalize(once, scope) == once


@given(url=urls | anything)
@settings(max_examples=500)
def test_the_default_chain_leaves_its_own_results_alone(url: str) -> None:
    once = CHAIN.normalize(url, "default")
    if once is not None:
        assert CHAIN.normalize(once, "default") == once


@pytest.mark.parametrize("name", [name for name in NORMALIZERS if hasattr(NORMALIZERS[name], "normalize_all")])
@given(given_urls=st.lists(urls | anything, max_size=5))
@settings(max_examples=100)
def test_a_column_is_normalized_like_its_urls(name: str, given_urls: list[str]) -> None:
    normalizer = NORMALIZERS[name]
    assert normalizer.normalize_all(given_urls, "inject") == [normalizer.normalize(url, "inject") for url in given_urls]


@pytest.mark.parametrize("name", FILTERS)
@given(given_urls=st.lists(urls | anything, max_size=5))
@settings(max_examples=100)
def test_every_filter_has_a_verdict(name: str, given_urls: list[str]) -> None:
    verdicts = [FILTERS[name].reject(url) for url in given_urls]
    assert all(verdict is None or verdict for verdict in verdicts)
    if hasattr(FILTERS[name], "reject_all"):
        assert FILTERS[name].reject_all(given_urls) == verdicts


LONG = [
    "a",
    "/",
    "//",
    "/../",
    "/a/b",
    ".",
    "%",
    "%41",
    "%zz",
    "&",
    "?",
    "#",
    "#!",
    ";sid=",
    "@",
    ":",
    "é",
    "\ud800",
    "\x00",
    "[",
    "xn--",
    "a.",
    "_escaped_fragment_=&",
]


@pytest.mark.parametrize("piece", LONG)
@pytest.mark.parametrize("start", ["http://a.org/", "http://", "file:/", ""])
def test_a_hundred_kilobytes_take_no_time(start: str, piece: str) -> None:
    url = start + piece * (100_000 // len(piece))
    for plugin in (*NORMALIZERS.values(), *FILTERS.values()):
        begun = time.process_time()
        if hasattr(plugin, "normalize"):
            plugin.normalize(url, "default")
        else:
            plugin.reject(url)
        assert time.process_time() - begun < 1, plugin
