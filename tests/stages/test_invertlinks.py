"""invertlinks: which links count, how they meet those there are, and that no order of coming matters."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import settings as hyp_settings
from hypothesis import strategies as st

from nutchpy.conf.layers import Value, defaults
from nutchpy.core.errors import ConfigError, MissingError, UsageError
from nutchpy.engine.duckdb import DuckDBEngine
from nutchpy.stages import invertlinks
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.invertlinks import InvertlinksOptions
from nutchpy.stages.invertlinks.merge import Crowds, as_rows, merged, whole_urls
from nutchpy.storage.database import Database
from nutchpy.storage.parts import PartName
from nutchpy.storage.segment import Segment
from nutchpy.testing.crawls import (
    LATER,
    add_fetch,
    add_parse,
    add_part,
    make_linkdb,
    make_segment,
    read_db,
    rows_of,
    sign,
)

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


def test_of_equal_inlinks_those_of_the_shortest_urls_stay(tmp_path: Path) -> None:
    settings: dict[str, Value] = {"linkdb.max.inlinks": 3}
    inverted(tmp_path, parsed(tmp_path, CROWD), settings=settings)
    wanted = [(f"http://host{n}.test/{'x' * n}", "") for n in range(3)]
    assert linkdb(tmp_path) == {"http://x.test/": wanted, "http://y.test/": wanted}


def test_of_too_many_inlinks_the_best_stay_then_those_of_different_domains(tmp_path: Path) -> None:
    scores = {f"http://{host}.test/{n}": 1.0 for host in ("a.one", "b.one", "two") for n in range(3)}
    scores |= {"http://far.test/away/and/long": 7.0, "http://low.test/": 0.5}
    segment = parsed(tmp_path, {page: ["http://x.test/"] for page in scores})
    add_fetch(segment, [{"url": page, "score": score} for page, score in scores.items()])
    inverted(tmp_path, segment, settings={"linkdb.max.inlinks": 4})
    row = read_db(Database(tmp_path / "linkdb", "linkdb"))["http://x.test/"]
    assert [link["from_url"] for link in row["inlinks"]] == [
        "http://a.one.test/0",
        "http://far.test/away/and/long",
        "http://two.test/0",
        "http://two.test/1",
    ]
    assert row["scores"] == [1.0, 7.0, 1.0, 1.0]


def test_a_link_has_the_highest_score_of_several_fetches(tmp_path: Path) -> None:
    for score in (1.0, 3.0, 2.0):
        segment = parsed(tmp_path, {"http://a.test/": ["http://x.test/"]})
        add_fetch(segment, [{"url": "http://a.test/", "score": score}])
        inverted(tmp_path, segment)
    row = read_db(Database(tmp_path / "linkdb", "linkdb"))["http://x.test/"]
    assert (len(row["inlinks"]), row["scores"]) == (1, [3.0])


def test_a_linkdb_from_before_scores(tmp_path: Path) -> None:
    """The links there are count as ones of score 0; rows that no link comes to stay without scores."""
    old = {"from_url": "http://a.test/", "anchor": ""}
    database = make_linkdb(tmp_path / "linkdb", [{"url": f"http://{n}.test/", "inlinks": [old]} for n in "xy"])
    (part,) = database.current().parts
    pq.write_table(pq.ParquetFile(part).read(["url", "host", "inlinks"]), part)
    sign(database)
    segment = parsed(tmp_path, {"http://b.test/": ["http://x.test/"]})
    add_fetch(segment, [{"url": "http://b.test/", "score": 2.0}])
    inverted(tmp_path, segment)
    rows = read_db(database)
    assert rows["http://x.test/"]["scores"] == [0.0, 2.0]
    assert rows["http://y.test/"]["scores"] is None


_PAGES = [f"http://{host}.test/{n}" for host in ("a", "b", "c.b", "d") for n in ("", "1", "22")]
_LINK = st.tuples(st.sampled_from(_PAGES), st.sampled_from(["http://x.test/", "http://y.test/"]))
_ROUND = st.dictionaries(_LINK, st.sampled_from([0.0, 1.0, 2.0]), max_size=12)


@given(st.lists(_ROUND, min_size=1, max_size=4), st.integers(1, 5), st.randoms())
@hyp_settings(max_examples=5)
def test_one_by_one_in_any_order_or_at_once(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[dict[tuple[str, str], float]], most: int, chance: Any
) -> None:
    crawl = tmp_path_factory.mktemp("crawl")
    segments = []
    for number, links in enumerate(rounds):
        segment = make_segment(crawl / "segments", ["http://unused.test/"], now=LATER + timedelta(seconds=number))
        targets: dict[str, list[str]] = {}
        for page, target in links:
            targets.setdefault(page, []).append(target)
        add_parse(segment, links=targets)
        add_fetch(segment, [{"url": page, "score": score} for (page, _), score in links.items()])
        segments.append(segment)
    limit: dict[str, Value] = {"linkdb.max.inlinks": most}
    inverted(crawl / "whole", *segments, settings=limit)
    chance.shuffle(segments)
    for segment in segments:
        inverted(crawl / "single", segment, settings=limit)
    whole, single = (read_db(Database(crawl / name / "linkdb", "linkdb")) for name in ("whole", "single"))
    assert single == whole


LINK_ROWS = pa.schema({name: pa.string() for name in ("url", "host", "from_url", "anchor")} | {"score": pa.float32()})


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> DuckDBEngine:
    return DuckDBEngine("256MB", 1, tmp_path_factory.mktemp("spill"))


@given(rounds=st.lists(_ROUND, min_size=2, max_size=4), most=st.integers(1, 5))
@hyp_settings(max_examples=100)
def test_a_link_that_is_left_out_would_never_have_come_in(
    engine: DuckDBEngine, rounds: list[dict[tuple[str, str], float]], most: int
) -> None:
    """Choosing after each round leads where choosing once does, whatever the rounds bring."""
    crowds = Crowds(engine, most)
    tables = [links_table([(*link, score) for link, score in links.items()]) for links in rounds]
    kept = LINK_ROWS.empty_table()
    for table in tables:
        kept = crowds.thinned(in_order(kept, table))
    assert kept.to_pylist() == crowds.thinned(in_order(*tables)).to_pylist()


def links_table(links: Sequence[tuple[str, str, float]]) -> pa.Table:
    rows = [
        {"url": url, "host": url[7:-1], "from_url": page, "anchor": "", "score": score} for page, url, score in links
    ]
    return pa.Table.from_pylist(rows, LINK_ROWS)


def in_order(*tables: pa.Table) -> pa.Table:
    names = ("host", "url", "from_url", "anchor")
    return pa.concat_tables(tables).sort_by([*((n, "ascending") for n in names), ("score", "descending")])


def test_links_that_come_in_many_batches(tmp_path: Path) -> None:
    """Of a URL with very many links no more are held than it takes to choose."""
    crowded, lone = (
        [(url, f"http://h{n % 7}.test/{n}", "", float(n % 5)) for n in range(count)]
        for url, count in (("http://x.test/", 997), ("http://y.test/", 1))
    )
    rows = [
        {"url": u, "host": u[7:-1], "from_url": f, "anchor": a, "score": s} for u, f, a, s in sorted([*crowded, *lone])
    ]
    table = pa.Table.from_pylist(rows, LINK_ROWS)
    crowds = Crowds(DuckDBEngine("256MB", 1, tmp_path), 10)
    found = list(whole_urls(table.to_batches(50), crowds))
    assert max(part.num_rows for part in found) < 100
    chosen = pa.concat_tables([as_rows(crowds.thinned(part)) for part in found])
    assert chosen["url"].to_pylist() == ["http://x.test/", "http://y.test/"]
    assert chosen.slice(0, 1).to_pylist() == as_rows(crowds.best(table)).slice(0, 1).to_pylist()


def test_two_runs_of_rows_become_one() -> None:
    def run(numbers: Sequence[int], words: str) -> pa.Table:
        urls = [f"http://h{n // 10}.test/{n}" for n in numbers]
        return rows_of("linkdb", [{"url": u, "inlinks": [{"from_url": words, "anchor": ""}]} for u in urls])

    old, new = list(range(10, 99)), [*range(10, 60, 3), 99]
    for size in (1, 7, 1000):
        pieces = [[run(n[i : i + size], w) for i in range(0, len(n), size)] for n, w in ((old, "old"), (new, "new"))]
        rows = pa.concat_tables(merged(iter(pieces[0]), iter(pieces[1]))).to_pylist()
        assert [int(row["url"].rpartition("/")[2]) for row in rows] == sorted({*old, *new})
        fresh = [int(row["url"].rpartition("/")[2]) for row in rows if row["inlinks"][0]["from_url"] == "new"]
        assert fresh == new


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
