"""invertlinks: which links count, how they meet those there are, and that no order of coming matters."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from nutchpy.conf.layers import Value, defaults
from nutchpy.core.errors import ConfigError, MissingError, UsageError
from nutchpy.stages import invertlinks
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.invertlinks import InvertlinksOptions
from nutchpy.storage.database import Database
from nutchpy.storage.parts import PartName
from nutchpy.storage.segment import Segment
from nutchpy.testing.crawls import LATER, add_parse, add_part, make_linkdb, make_segment, read_db

PLAIN: dict[str, Value] = {"urlfilter.order": [], "urlnormalizer.order": []}
ALL: dict[str, Value] = {"linkdb.ignore.internal.links": False}
Links = Mapping[str, Sequence[str | Mapping[str, Any]]]


def inverted(crawl: Path, *segments: Segment, settings: Mapping[str, Value] | None = None, **options: Any) -> Outcome:
    conf = defaults().with_values(PLAIN | dict(settings or {}))
    paths = tuple(segment.path for segment in segments)
    made = InvertlinksOptions.of(conf, linkdb=crawl / "linkdb", segments=paths, **options)
    return invertlinks.run(made, Context(conf, LATER, crawl))


def parsed(crawl: Path, *flushes: Links) -> Segment:
    segment = make_segment(crawl / "segments", ["http://unused.test/"])
    for flush, links in enumerate(flushes):
        add_parse(segment, links=links, flush=flush)
    return segment


def linkdb(crawl: Path) -> dict[str, list[tuple[str, str]]]:
    rows = read_db(Database(crawl / "linkdb", "linkdb"))
    return {url: [(link["from_url"], link["anchor"]) for link in row["inlinks"]] for url, row in rows.items()}


def test_links_by_their_targets(tmp_path: Path) -> None:
    segment = parsed(
        tmp_path,
        {
            "http://a.test/": [
                {"url": "http://x.test/", "anchor": "ex"},
                "http://a.test/own",
                {"url": "http://x.test/", "anchor": "ex"},
            ],
            "http://b.test/": [
                {"url": "http://x.test/", "anchor": "x" * 150},
                {"url": "http://x.test/", "anchor": "ä" * 120},
            ],
        },
    )
    outcome = inverted(tmp_path, segment)
    assert linkdb(tmp_path) == {
        "http://x.test/": [
            ("http://a.test/", "ex"),
            ("http://b.test/", "x" * 100),
            ("http://b.test/", "ä" * 100),
        ]
    }
    assert read_db(Database(tmp_path / "linkdb", "linkdb"))["http://x.test/"]["host"] == "x.test"
    assert (outcome.counters["links"], outcome.counters["targets"]) == (4, 1)
    assert outcome.counters["outlinks_dropped:internal"] == 1


@pytest.mark.parametrize(
    ("internal", "external", "wanted"),
    [(True, False, {"x"}), (False, False, {"x", "a"}), (False, True, {"a"})],
)
def test_internal_and_external(tmp_path: Path, internal: bool, external: bool, wanted: set[str]) -> None:
    segment = parsed(tmp_path, {"http://a.test:80/": ["http://x.test/", "http://a.test:8080/", "nonsense"]})
    settings = {"linkdb.ignore.internal.links": internal, "linkdb.ignore.external.links": external}
    inverted(tmp_path, segment, settings=settings)
    assert {url[7] for url in linkdb(tmp_path)} == wanted


def test_ignoring_both_kinds_is_a_mistake(tmp_path: Path) -> None:
    settings: dict[str, Value] = {"linkdb.ignore.internal.links": True, "linkdb.ignore.external.links": True}
    with pytest.raises(ConfigError, match="both true"):
        inverted(tmp_path, parsed(tmp_path, {"http://a.test/": ["http://x.test/"]}), settings=settings)


def test_merged_into_what_is_there(tmp_path: Path) -> None:
    old = {"from_url": "http://old.test/", "anchor": "old"}
    rows = [{"url": "http://x.test/", "inlinks": [old]}, {"url": "http://y.test/", "inlinks": [old]}]
    make_linkdb(tmp_path / "linkdb", rows)
    inverted(tmp_path, parsed(tmp_path, {"http://a.test/": ["http://x.test/", "http://z.test/"]}))
    assert linkdb(tmp_path) == {
        "http://x.test/": [("http://a.test/", ""), ("http://old.test/", "old")],
        "http://y.test/": [("http://old.test/", "old")],
        "http://z.test/": [("http://a.test/", "")],
    }


def test_each_part_once(tmp_path: Path) -> None:
    segment = parsed(tmp_path, {"http://a.test/": ["http://x.test/"]})
    inverted(tmp_path, segment)
    before = Database(tmp_path / "linkdb", "linkdb").current()
    again = inverted(tmp_path, segment)
    assert "as it was" in again.summary[0]
    assert Database(tmp_path / "linkdb", "linkdb").current() == before
    add_parse(segment, links={"http://b.test/": ["http://x.test/"]}, flush=1)
    outcome = inverted(tmp_path, segment)
    assert outcome.counters["links"] == 1
    assert linkdb(tmp_path) == {"http://x.test/": [("http://a.test/", ""), ("http://b.test/", "")]}
    assert inverted(tmp_path, segment, force=True).counters["links"] == 2
    assert linkdb(tmp_path) == {"http://x.test/": [("http://a.test/", ""), ("http://b.test/", "")]}


def test_parts_without_a_link_are_done_too(tmp_path: Path) -> None:
    segment = parsed(tmp_path, {"http://a.test/": []})
    inverted(tmp_path, segment)
    meta = Database(tmp_path / "linkdb", "linkdb").current().meta
    assert meta.has_applied(segment.meta.uuid, "parse_data", PartName(0, 0, 0))
    assert meta.rows == 0


def test_a_part_not_committed_waits(tmp_path: Path) -> None:
    segment = parsed(tmp_path, {"http://a.test/": ["http://x.test/"]})
    links = [{"url": "http://y.test/", "anchor": "", "rel": None}]
    add_part(segment, "parse_data", PartName(0, 1, 1), [{"url": "http://b.test/", "outlinks": links}])
    inverted(tmp_path, segment)
    assert set(linkdb(tmp_path)) == {"http://x.test/"}


def test_segments_not_parsed_are_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bare = make_segment(tmp_path / "segments", ["http://a.test/"])
    segment = parsed(tmp_path, {"http://a.test/": ["http://x.test/"]})
    outcome = inverted(tmp_path, dir=tmp_path / "segments")
    assert set(linkdb(tmp_path)) == {"http://x.test/"}
    assert (outcome.counters["skipped:not_parsed"], outcome.counters["segments"]) == (1, 1)
    assert str(bare.path) in caplog.text
    assert str(segment.path) not in caplog.text
    assert "as it was" in inverted(tmp_path, bare).summary[0]


def test_asking_for_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="-dir"):
        inverted(tmp_path)
    with pytest.raises(MissingError, match="no segment in"):
        inverted(tmp_path, dir=tmp_path)
    with pytest.raises(MissingError, match="not a segment"):
        inverted(tmp_path, Segment(tmp_path / "nowhere"))
    assert not (tmp_path / "linkdb").exists()


CROWD: Links = {f"http://host{n}.test/{'x' * n}": ["http://x.test/", "http://y.test/"] for n in range(9)}


def test_of_too_many_inlinks_those_of_the_shortest_urls_stay(tmp_path: Path) -> None:
    settings: dict[str, Value] = {"linkdb.max.inlinks": 3}
    inverted(tmp_path, parsed(tmp_path, CROWD), settings=settings)
    wanted = [(f"http://host{n}.test/{'x' * n}", "") for n in range(3)]
    assert linkdb(tmp_path) == {"http://x.test/": wanted, "http://y.test/": wanted}


@pytest.mark.parametrize("buckets", [1, 16])
def test_no_order_of_coming_matters(tmp_path: Path, buckets: int) -> None:
    settings: dict[str, Value] = {"linkdb.max.inlinks": 4}
    pieces = [dict(list(CROWD.items())[n::3]) for n in range(3)]
    found = []
    for order in itertools.permutations(pieces):
        crawl = tmp_path / str(len(found))
        make_linkdb(crawl / "linkdb", ["http://untouched.test/"], buckets)
        for piece in order:
            inverted(crawl, parsed(crawl, piece), settings=settings)
        found.append(linkdb(crawl))
    assert all(other == found[0] for other in found)
    assert len(found[0]["http://x.test/"]) == 4
    assert found[0]["http://untouched.test/"] == []


def test_both_ends_are_normalized_and_filtered(tmp_path: Path) -> None:
    pytest.importorskip("nutchpy.plugins.urlfilter.regex")
    pytest.importorskip("nutchpy.plugins.urlnormalizer.basic")
    settings: dict[str, Value] = {
        "urlnormalizer.order": ["basic"],
        "urlfilter.order": ["regex"],
        "urlfilter.regex.rules": "-/private\n+.",
    }
    links = {
        "http://A.test/../page": ["http://X.test", "http://x.test/private"],
        "http://b.test/private": ["http://x.test/"],
    }
    segment = parsed(tmp_path, links)
    outcome = inverted(tmp_path, segment, settings=settings)
    assert linkdb(tmp_path) == {"http://x.test/": [("http://a.test/page", "")]}
    assert outcome.counters.family("filtered") == 1
    raw = tmp_path / "raw"
    inverted(raw, segment, settings=settings, normalize=False, filter=False)
    assert set(linkdb(raw)) == {"http://X.test", "http://x.test/private", "http://x.test/"}
