"""Chains: order, reasons, and a plugin that raises costing one record only."""

import logging
import pickle
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from nutchpy.conf.layers import Conf, defaults
from nutchpy.core.content import Content
from nutchpy.core.errors import ConfigError, PluginError
from nutchpy.core.parse import Parse, ParseStatus
from nutchpy.extension.chains import (
    ParseFilters,
    Parsers,
    ScoringFilters,
    URLFilters,
    URLNormalizers,
    schedule,
    transport,
)

Install = Callable[..., Path]

SOURCE = """
from dataclasses import replace
from nutchpy.core.parse import Parse, ParseStatus

class Built:
    @classmethod
    def from_conf(cls, conf):
        return cls()

class Odd(Built):
    def reject(self, url):
        return "odd" if "odd" in url else None

class Nameless(Built):
    def reject(self, url):
        return "" if "nameless" in url else None

class Raising(Built):
    def reject(self, url):
        if "bad" in url:
            raise ValueError(url)
        return "always"

class Append(Built):
    def normalize(self, url, scope):
        return None if "malformed" in url else url if url.endswith("aaa") else url + "a"

class Upper(Built):
    def normalize(self, url, scope):
        return url.upper() + scope

class RaisingNormalizer(Built):
    def normalize(self, url, scope):
        raise RuntimeError

class Html(Built):
    mime_types = ("text/html",)
    def parse(self, content):
        if content.content == b"bad":
            raise RecursionError("deep")
        return Parse(ParseStatus.SUCCESS, title="html")

class AnyText(Built):
    mime_types = ("text/*",)
    def parse(self, content):
        return Parse(ParseStatus.SUCCESS, title="text")

class Title(Built):
    def filter(self, content, parse, soup):
        return replace(parse, title=parse.title + "+")

class RaisingFilter(Built):
    def filter(self, content, parse, soup):
        raise KeyError("x")

class Mover(Built):
    inlink_aggregate = "sum"
    def injected_score(self, score, metadata): return score + 1
    def initial_score(self): return 0.5
    def sort_value(self, score, batch): return score
    def outlink_scores(self, score, internal, total): return [score / total] * len(internal)
    def update(self, score, inlink_score): return inlink_score

class Ranker(Built):
    inlink_aggregate = "none"
    max_depth = 3
    def injected_score(self, score, metadata): return score * 10
    def initial_score(self): return 0.0
    def sort_value(self, score, batch): raise ValueError("no rank")
    def outlink_scores(self, score, internal, total): raise AssertionError("not asked")
    def update(self, score, inlink_score): raise AssertionError("not asked")
"""
ENTRIES = {
    "urlfilter": "odd = chained:Odd\nnameless = chained:Nameless\nraising = chained:Raising",
    "urlnormalizer": "append = chained:Append\nupper = chained:Upper\nraising = chained:RaisingNormalizer",
    "parse": "fakehtml = chained:Html\nfaketext = chained:AnyText",
    "parsefilter": "title = chained:Title\nraising = chained:RaisingFilter",
    "scoring": "mover = chained:Mover\nranker = chained:Ranker\nmover2 = chained:Mover",
}


@pytest.fixture(autouse=True)
def _installed(install: Install) -> None:
    install("chained", ENTRIES, {"chained.py": SOURCE})


def conf(**values: object) -> Conf:
    given = {name.replace("__", "."): value for name, value in values.items()}
    return defaults().with_values({"urlnormalizer.loop.count": 1, **given})  # type: ignore[misc]


def page(body: bytes = b"", content_type: str = "text/html; charset=utf-8") -> Content:
    from datetime import UTC, datetime

    return Content("http://a.b/", "http://a.b/", content_type, (), body, datetime.now(UTC))


def test_the_first_filter_that_refuses_names_itself_and_its_rule() -> None:
    chain = URLFilters.from_conf(conf(urlfilter__order=["odd", "nameless"]))
    urls = ["http://a/", "http://a/odd", "http://a/nameless"]
    assert chain.reject_all(urls) == [None, "odd.odd", "nameless"]
    assert not chain.errors


def test_a_filter_that_raises_keeps_the_url_and_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    chain = URLFilters.from_conf(conf(urlfilter__order=["raising", "odd"]))
    with caplog.at_level(logging.WARNING):
        assert chain.reject_all(["bad", "bad odd", "fine"]) == [None, "odd.odd", "raising.always"]
    assert chain.errors == {"plugin_errors:raising": 2}
    assert len([record for record in caplog.records if record.exc_info]) == 1
    assert chain.take_errors() == {"plugin_errors:raising": 2}
    assert not chain.errors


def test_no_filters_accept_everything() -> None:
    assert URLFilters.from_conf(conf(urlfilter__order=[])).reject("anything") is None


def test_an_unknown_filter_ends_the_run_at_the_start() -> None:
    with pytest.raises(PluginError, match="did you mean 'odd'"):
        URLFilters.from_conf(conf(urlfilter__order=["ood"]))


def test_normalizers_run_until_nothing_changes_or_the_count_is_reached() -> None:
    order = {"urlnormalizer__order": ["append"]}
    for loops, result in ((1, "xa"), (2, "xaa"), (9, "xaaa")):
        chain = URLNormalizers.from_conf(conf(**order, urlnormalizer__loop__count=loops))
        assert chain.normalize("x", "default") == result


def test_a_normalizer_that_finds_a_url_malformed_ends_the_chain() -> None:
    chain = URLNormalizers.from_conf(conf(urlnormalizer__order=["append", "upper"]))
    assert chain.normalize_all(["malformed", "x"], "inject") == [None, "XAinject"]


def test_a_normalizer_that_raises_leaves_the_url() -> None:
    chain = URLNormalizers.from_conf(conf(urlnormalizer__order=["raising", "append"]))
    assert chain.normalize("x", "default") == "xa"
    assert chain.errors == {"plugin_errors:raising": 1}


def test_a_scope_may_have_its_own_order() -> None:
    chain = URLNormalizers.from_conf(conf(urlnormalizer__order=["append"], urlnormalizer__order__inject=["upper"]))
    assert chain.normalize("x", "inject") == "Xinject"
    assert chain.normalize("x", "outlink") == "xa"
    with pytest.raises(ConfigError, match="no URL normalizer scope 'injcet'"):
        chain.normalize("x", "injcet")


def test_parsers_are_found_by_type_in_order() -> None:
    parsers = Parsers.from_conf(conf(parse__order=["fakehtml", "faketext"]))
    assert parsers.parse(page()).title == "html"
    assert parsers.parse(page(content_type="TEXT/Css")).title == "text"
    assert parsers.parse(page(content_type="application/pdf")).status is ParseStatus.NO_PARSER


def test_a_parser_that_raises_is_a_status() -> None:
    parsers = Parsers.from_conf(conf(parse__order=["fakehtml"]))
    parse = parsers.parse(page(b"bad"))
    assert (parse.status, parse.message) == (ParseStatus.EXCEPTION, "fakehtml: RecursionError: deep")
    assert parsers.errors == {"plugin_errors:fakehtml": 1}


def test_a_parse_filter_that_raises_costs_its_own_addition() -> None:
    filters = ParseFilters.from_conf(conf(htmlparsefilter__order=["title", "raising", "title"]))
    parse = filters.filter(page(), Parse(ParseStatus.SUCCESS, title="t"), lambda: None)
    assert parse.title == "t++"
    assert filters.errors == {"plugin_errors:raising": 1}
    assert filters
    assert not ParseFilters.from_conf(defaults())


def test_scoring_filters_hand_the_score_on() -> None:
    scoring = ScoringFilters.from_conf(conf(scoring__filter__order=["mover", "ranker"]))
    assert scoring.injected_score(1.0, {}) == 20.0
    assert scoring.initial_score() == 0.5
    assert scoring.outlink_scores(1.0, [True, False], 4) == [0.25, 0.25]
    assert scoring.inlink_aggregate == "sum"
    assert scoring.max_depth == 3
    assert scoring.update(pa.array([1.0]), pa.array([2.0])).to_pylist() == [2.0]


def test_a_ranking_that_raises_leaves_the_score() -> None:
    scoring = ScoringFilters.from_conf(conf(scoring__filter__order=["ranker"]))
    batch = pa.record_batch({"score": pa.array([1.0, 2.0])})
    assert scoring.sort_value(batch).to_pylist() == [1.0, 2.0]
    assert scoring.errors == {"plugin_errors:ranker": 2}


def test_without_a_mover_no_score_moves() -> None:
    scoring = ScoringFilters.from_conf(conf(scoring__filter__order=["ranker"]))
    assert scoring.inlink_aggregate == "none"
    assert list(scoring.outlink_scores(1.0, [True], 1)) == [0.0]
    assert scoring.update(pa.array([1.0]), pa.array([2.0])).to_pylist() == [1.0]


def test_two_filters_may_not_both_move_score() -> None:
    with pytest.raises(ConfigError, match="mover and mover2 both move score"):
        ScoringFilters.from_conf(conf(scoring__filter__order=["mover", "mover2"]))


def test_a_chain_pickles_as_its_settings() -> None:
    chain = URLFilters.from_conf(conf(urlfilter__order=["odd"]))
    chain.errors.add("plugin_errors:odd")
    copy = pickle.loads(pickle.dumps(chain))
    assert copy.reject("odd") == "odd.odd"
    assert not copy.errors


def test_single_points_take_their_setting() -> None:
    named = conf(db__fetch__schedule__class="org.apache.nutch.crawl.AdaptiveFetchSchedule")
    assert type(schedule(named)).__name__ == "AdaptiveFetchSchedule"
    assert type(transport(conf(protocol__http="requests"))).__name__ == "RequestsTransport"


def test_without_pycurl_the_default_falls_back_and_a_wish_does_not(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pycurl", None)
    monkeypatch.delitem(__import__("sys").modules, "nutchpy.plugins.protocol.curl", raising=False)
    assert type(transport(defaults())).__name__ == "RequestsTransport"
    assert "pycurl is not installed" in caplog.text
    with pytest.raises(PluginError, match="pycurl"):
        transport(conf(protocol__http="curl"))
