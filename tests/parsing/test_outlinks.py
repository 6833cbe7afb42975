"""Which links are kept, in which form, with which score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nutchpy.conf.layers import Conf
from nutchpy.core.errors import ConfigError
from nutchpy.core.parse import Outlink
from nutchpy.parsing.outlinks import Kept, Link, OutlinkRules

PAGE = "http://www.a.test/p"


def kept(conf: Conf, urls: list[str], **values: Any) -> Kept:
    rules = OutlinkRules(conf.with_values(values))
    return rules.keep(PAGE, [Outlink(url, f"anchor of {url}") for url in urls])


def urls(found: Kept) -> list[str]:
    return [link.url for link in found.outlinks]


def test_kept_in_order_duplicates_included(conf: Conf) -> None:
    found = kept(conf, ["http://b.test/2", "http://b.test/1", "http://b.test/2"])
    assert urls(found) == ["http://b.test/2", "http://b.test/1", "http://b.test/2"]
    assert found.outlinks[1].anchor == "anchor of http://b.test/1"
    assert found.hosts == ["b.test"] * 3


def test_self_links_long_links_and_nonsense_are_dropped(conf: Conf) -> None:
    long = "http://b.test/" + "x" * 5_000
    found = kept(conf, [PAGE, long, "http://[bad/", "http://b.test/"])
    assert urls(found) == ["http://b.test/"]
    assert dict(found.dropped) == {"self": 1, "too_long": 1, "malformed": 1}
    assert urls(kept(conf, [long], **{"db.max.outlink.length": 6_000})) == [long]


def test_only_files_lead_to_files(conf: Conf) -> None:
    rules = OutlinkRules(conf.with_values({"urlfilter.order": ""}))
    links = [Outlink("file:///etc/passwd"), Outlink("http://b.test/")]
    web = rules.keep(PAGE, links)
    assert (urls(web), dict(web.dropped)) == (["http://b.test/"], {"to_file": 1})
    assert rules.target(PAGE, "file:///etc/passwd").reason == "to_file"
    assert urls(rules.keep("file:///home/index.html", links)) == ["file:///etc/passwd", "http://b.test/"]


def test_only_valid_links_count_towards_the_limit_and_no_more_are_read(conf: Conf) -> None:
    read: list[int] = []

    def links() -> Iterator[Outlink]:
        for number in range(10):
            read.append(number)
            yield Outlink(PAGE if number < 3 else f"http://b.test/{number}")

    rules = OutlinkRules(conf.with_values({"db.max.outlinks.per.page": 2}))
    assert urls(rules.keep(PAGE, links())) == ["http://b.test/3", "http://b.test/4"]
    assert read == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("most", "expected"), [(0, 0), (-1, 300), (100, 100)])
def test_limit(conf: Conf, most: int, expected: int) -> None:
    found = kept(conf, [f"http://b.test/{n}" for n in range(300)], **{"db.max.outlinks.per.page": most})
    assert len(found.outlinks) == expected


def test_places_of_a_page_are_judged_once_and_kept_each(conf: Conf) -> None:
    values: dict[str, Any] = {"urlnormalizer.order": ["basic"], "urlfilter.order": ["prefix"]}
    rules = OutlinkRules(conf.with_values({**values, "urlfilter.prefix.rules": "http://b.test/"}))
    found = rules.keep(PAGE, [Outlink(f"http://{host}.test/#{n}", str(n)) for host in "bc" for n in range(3)])
    assert [tuple(link) for link in found.outlinks] == [("http://b.test/", str(n), None, "a") for n in range(3)]
    assert sum(found.dropped.values()) == 3


def test_a_fragment_counts_where_the_normalizers_look_at_it(conf: Conf) -> None:
    links = ["http://b.test/#!a", "http://b.test/#!b", "http://b.test/#c"]
    assert urls(kept(conf, links, **{"urlnormalizer.order": ["ajax", "basic"]})) == [
        "http://b.test/?_escaped_fragment_=a",
        "http://b.test/?_escaped_fragment_=b",
        "http://b.test/",
    ]
    assert urls(kept(conf, links)) == links


def test_what_is_forgotten_is_found_out_again(conf: Conf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nutchpy.parsing.outlinks.REMEMBERED", 1)
    rules = OutlinkRules(conf)
    for _ in range(3):
        links = [f"http://b.test/{n}" for n in range(3)]
        assert urls(rules.keep(PAGE, map(Outlink, links))) == links


LINKS = ["http://www.a.test/x", "http://other.a.test/x", "http://b.test/x"]


@pytest.mark.parametrize(
    ("internal", "external", "mode", "expected", "dropped"),
    [
        (False, False, "byHost", LINKS, {}),
        (True, False, "byHost", LINKS[1:], {"internal": 1}),
        (False, True, "byHost", LINKS[:1], {"external": 2}),
        (True, False, "byDomain", LINKS[2:], {"internal": 2}),
        (False, True, "byDomain", LINKS[:2], {"external": 1}),
        (True, True, "byDomain", [], {"internal": 2, "external": 1}),
    ],
)
def test_territory(
    conf: Conf, internal: bool, external: bool, mode: str, expected: list[str], dropped: dict[str, int]
) -> None:
    found = kept(
        conf,
        LINKS,
        **{
            "db.ignore.internal.links": internal,
            "db.ignore.external.links": external,
            "db.ignore.external.links.mode": mode,
        },
    )
    assert urls(found) == expected
    assert dict(found.dropped) == dropped


def test_unknown_mode_is_refused(conf: Conf) -> None:
    with pytest.raises(ConfigError, match="byHost or byDomain"):
        OutlinkRules(conf.with_values({"db.ignore.external.links.mode": "byIP"}))


def test_normalised_before_filtered_and_before_compared_with_the_page(conf: Conf) -> None:
    values: dict[str, Any] = {
        "urlnormalizer.order": ["slash"],
        "urlnormalizer.slashes.rules": "b.test +\nwww.a.test -\n",
        "urlfilter.order": ["prefix"],
        "urlfilter.prefix.rules": "http://b.test/kept/\nhttp://www.a.test/",
    }
    found = kept(conf, ["http://b.test/kept", "http://b.test/other", PAGE + "/"], **values)
    assert urls(found) == ["http://b.test/kept/"]
    assert found.dropped["self"] == 1
    assert sum(n for reason, n in found.dropped.items() if reason.startswith("prefix")) == 1
    off = {**values, "parse.filter.urls": False, "parse.normalize.urls": False}
    assert urls(kept(conf, ["http://b.test/kept", "http://b.test/other"], **off)) == [
        "http://b.test/kept",
        "http://b.test/other",
    ]


def test_shares_go_to_kept_links_by_territory(conf: Conf) -> None:
    rules = OutlinkRules(conf.with_values({"db.score.link.internal": 0.5}))
    found = rules.keep(PAGE, [Outlink("http://www.a.test/x"), Outlink(PAGE), Outlink("http://b.test/x")])
    assert rules.shares(PAGE, 4.0, 2, found, lambda: 10) == [
        Link("http://www.a.test/x", "www.a.test", 1.0, 3),
        Link("http://b.test/x", "b.test", 2.0, 3),
    ]
    counting = OutlinkRules(conf.with_values({"db.score.count.filtered": True}))
    assert [link.score for link in counting.shares(PAGE, 4.0, 2, found, lambda: 8)] == [0.5, 0.5]


def test_links_are_not_followed_at_the_greatest_depth(conf: Conf) -> None:
    rules = OutlinkRules(conf.with_values({"scoring.filter.order": ["opic", "depth"], "scoring.depth.max": 2}))
    found = rules.keep(PAGE, [Outlink("http://b.test/")])
    assert [link.depth for link in rules.shares(PAGE, 1.0, 0, found, lambda: 1)] == [1]
    assert rules.shares(PAGE, 1.0, 1, found, lambda: 1) == []
    assert found.dropped == {"depth": 1}


def test_redirect_targets_obey_the_territory_by_setting(conf: Conf) -> None:
    strict = conf.with_values({"db.ignore.external.links": True})
    assert OutlinkRules(strict).target(PAGE, "http://b.test/").reason == "external"
    lenient = strict.with_values({"db.ignore.also.redirects": False})
    assert OutlinkRules(lenient).target(PAGE, "http://b.test/").reason is None
    assert OutlinkRules(lenient).target(PAGE, PAGE).reason == "self"
