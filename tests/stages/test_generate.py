"""generate: which rows are due, how many of them are taken, and how they lie in the fetch lists."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from nutchpy.conf.layers import Value, defaults
from nutchpy.core.counters import Counters
from nutchpy.core.errors import ConfigError, LockedError, MissingError, NothingDue, UsageError
from nutchpy.core.urls import host_of, spread_hash
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.generate import GenerateOptions, generate
from nutchpy.stages.generate.due import Due
from nutchpy.stages.generate.lists import balanced, queue_ids
from nutchpy.stages.generate.selection import Places
from nutchpy.storage.database import Database
from nutchpy.storage.segment import Segment, segments_in, segments_lock
from nutchpy.testing.crawls import LATER, NOW, add_fetch, make_crawldb, make_segment, read_table

PLAIN: dict[str, Value] = {"urlfilter.order": [], "urlnormalizer.order": [], "scoring.filter.order": []}
DAY = 86_400


def no_address(host: str) -> str | None:
    raise AssertionError(f"{host} was resolved")


def generated(crawl: Path, settings: Mapping[str, Value] | None = None, **options: Any) -> Outcome:
    conf = defaults().with_values(PLAIN | dict(settings or {}))
    resolve = options.pop("resolve", no_address)
    now = options.pop("now", NOW + timedelta(minutes=1))
    wait = options.pop("wait", 0.0)
    made = GenerateOptions.of(conf, crawldb=crawl / "crawldb", segments_dir=crawl / "segments", **options)
    conf = conf.with_values({name: value for name, value in made.overlay().items() if value != conf[name]})
    return generate(made, Context(conf, now, crawl, wait_lock=wait), resolve)


def listed(outcome: Outcome) -> list[list[dict[str, Any]]]:
    """The rows of each new segment."""
    return [read_table(Segment(Path(line)), "crawl_generate") for line in outcome.lines]


def listed_urls(outcome: Outcome) -> list[set[str]]:
    return [{row["url"] for row in rows} for rows in listed(outcome)]


def scored(urls: Iterable[tuple[str, float]]) -> list[dict[str, Any]]:
    return [{"url": url, "score": score} for url, score in urls]


def probe_rows() -> list[dict[str, Any]]:
    """The crawldb that generator_probe was run on: five pages of six hosts, 1.1 to 6.5; seven ties on three hosts."""
    hosts = ("a.example.com", "b.example.com", "www.example.org", "x.co.uk", "127.0.0.9", "example.org")
    rows = [(f"http://{host}/p{p}.html", n + p / 10) for n, host in enumerate(hosts, 1) for p in range(1, 6)]
    return scored(rows + [(f"http://tie{t % 3}.example.net/t{t}.html", 1.0) for t in range(1, 8)])


def test_only_due_rows_whatever_their_status(tmp_path: Path) -> None:
    late, early = NOW + timedelta(hours=1), NOW - timedelta(days=9)
    rows = [
        {"url": "http://a.test/due"},
        {"url": "http://a.test/late", "due_time": late},
        {"url": "http://a.test/gone", "status": "db_gone", "due_time": early},
        {"url": "http://a.test/duplicate", "status": "db_duplicate", "due_time": early, "metadata": {"k": "v"}},
    ]
    make_crawldb(tmp_path / "crawldb", rows)
    outcome = generated(tmp_path)
    assert listed_urls(outcome) == [{"http://a.test/due", "http://a.test/gone", "http://a.test/duplicate"}]
    row = next(row for row in listed(outcome)[0] if row["url"].endswith("duplicate"))
    assert (row["status"], row["due_time"], row["metadata"]) == ("db_duplicate", early, {"k": "v"})
    assert (row["queue_id"], row["list"]) == ("a.test", 0)
    assert {name: outcome.counters[name] for name in ("rows", "due", "not_due", "selected")} == {
        "rows": 4,
        "due": 3,
        "not_due": 1,
        "selected": 3,
    }


def test_adddays_and_window(tmp_path: Path) -> None:
    rows = [
        {"url": "http://a.test/1d", "due_time": NOW + timedelta(days=1)},
        {"url": "http://a.test/1h", "due_time": NOW + timedelta(hours=1), "fetch_interval": DAY},
        {"url": "http://a.test/hourly", "due_time": NOW + timedelta(minutes=30), "fetch_interval": 3600},
    ]
    make_crawldb(tmp_path / "crawldb", rows)
    with pytest.raises(NothingDue, match=r"3 not yet due \(the next at 2026-03-01 12:30:00 UTC\)"):
        generated(tmp_path)
    window = {"generate.due.window": 7200}
    assert listed_urls(generated(tmp_path, window)) == [{"http://a.test/1h"}]
    assert listed_urls(generated(tmp_path, add_days=1.0)) == [{"http://a.test/1d", "http://a.test/hourly"}]


def test_a_due_time_too_far_ahead_is_pulled_to_now(tmp_path: Path) -> None:
    far = NOW + timedelta(days=200)
    rows = [
        {"url": "http://a.test/far", "due_time": far, "fetch_interval": 365 * DAY},
        {"url": "http://a.test/short", "due_time": far, "fetch_interval": DAY},
    ]
    database = make_crawldb(tmp_path / "crawldb", rows)
    now = NOW + timedelta(minutes=1)
    found = {row["url"]: row for row in listed(generated(tmp_path))[0]}
    assert found["http://a.test/far"]["due_time"] == found["http://a.test/short"]["due_time"] == now
    assert found["http://a.test/far"]["fetch_interval"] == 81 * DAY
    assert found["http://a.test/short"]["fetch_interval"] == DAY
    assert database.current().meta.rows == 2


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"generate.restrict.status": "db_fetched"}, {"b"}),
        ({"generate.min.score": 0.5}, {"a", "c"}),
        ({"generate.min.interval": DAY}, {"c"}),
        ({"generate.expr": "score > 0.1 and depth < 3"}, {"a"}),
        ({"generate.expr": "metadata['k'] = 'v'"}, {"c"}),
        ({"generate.expr": "http_status = 404"}, None),
    ],
)
def test_conditions(tmp_path: Path, settings: dict[str, Value], wanted: set[str] | None) -> None:
    rows = [
        {"url": "http://a.test/a", "score": 0.5},
        {"url": "http://a.test/b", "status": "db_fetched", "score": 0.1},
        {"url": "http://a.test/c", "fetch_interval": DAY, "score": 0.9, "depth": 3, "metadata": {"k": "v"}},
    ]
    make_crawldb(tmp_path / "crawldb", rows)
    if wanted is None:
        with pytest.raises(NothingDue, match="3 left out by http_status = 404"):
            generated(tmp_path, settings)
    else:
        outcome = generated(tmp_path, settings)
        assert listed_urls(outcome) == [{f"http://a.test/{name}" for name in wanted}]
        assert outcome.counters.family("skipped") == 3 - len(wanted)


def test_settings_that_cannot_be(tmp_path: Path) -> None:
    make_crawldb(tmp_path / "crawldb", ["http://a.test/"])
    with pytest.raises(ConfigError, match="did you mean 'db_fetched'"):
        generated(tmp_path, {"generate.restrict.status": "db_fetch"})
    with pytest.raises(ConfigError, match="byHost, byDomain, byIP"):
        generated(tmp_path, {"partition.url.mode": "byhost"})
    with pytest.raises(UsageError, match="character 7"):
        generated(tmp_path, {"generate.expr": "score >"})
    with pytest.raises(UsageError, match="subquery"):
        generated(tmp_path, {"generate.expr": "(select 1) = 1"})
    with pytest.raises(UsageError, match="-topN"):
        generated(tmp_path, top_n=0)
    for days in (float("nan"), float("inf"), -1e10):
        with pytest.raises(UsageError, match="-adddays"):
            generated(tmp_path, add_days=days)
    assert not segments_in(tmp_path / "segments")


def test_missing_crawldb_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(MissingError):
        generated(tmp_path)
    assert not (tmp_path / "segments").exists()


def test_top_n_is_global_and_ties_go_by_url(tmp_path: Path) -> None:
    make_crawldb(tmp_path / "crawldb", probe_rows(), buckets=16)
    assert listed_urls(generated(tmp_path, top_n=5)) == [{f"http://example.org/p{p}.html" for p in range(1, 6)}]
    ties = sorted(row["url"] for row in probe_rows() if row["score"] == 1.0)
    rest = listed_urls(generated(tmp_path, top_n=27))[0]
    assert {url for url in rest if "tie" in url} == set(ties[:2])


def test_max_count_by_host_and_domain_as_nutch_chose(tmp_path: Path) -> None:
    make_crawldb(tmp_path / "crawldb", probe_rows())
    by_host = generated(tmp_path, {"generate.max.count": 2})
    assert Counter(host_of(row["url"]) for row in listed(by_host)[0]) == dict.fromkeys(
        {host_of(row["url"]) for row in probe_rows()}, 2
    )
    assert (by_host.counters["selected"], by_host.counters["host_overflow"]) == (18, 19)
    (tmp_path / "segments").rename(tmp_path / "first")
    by_domain = listed_urls(generated(tmp_path, {"generate.max.count": 2, "generate.count.mode": "domain"}))[0]
    assert by_domain == {
        "http://example.org/p4.html",
        "http://example.org/p5.html",
        "http://127.0.0.9/p4.html",
        "http://127.0.0.9/p5.html",
        "http://x.co.uk/p4.html",
        "http://x.co.uk/p5.html",
        "http://b.example.com/p4.html",
        "http://b.example.com/p5.html",
        "http://tie0.example.net/t3.html",
        "http://tie0.example.net/t6.html",
    }


def test_overflow_goes_to_further_segments_as_nutch_chose(tmp_path: Path) -> None:
    make_crawldb(tmp_path / "crawldb", probe_rows())
    first, second, third = listed_urls(generated(tmp_path, {"generate.max.count": 2}, top_n=9, max_segments=3))
    hosts = ("example.org", "127.0.0.9", "x.co.uk", "www.example.org")
    expected = [{f"http://{host}/p{p}.html" for host in hosts for p in pages} for pages in ((5, 4), (3, 2), (1,))]
    assert first == expected[0] | {"http://b.example.com/p5.html"}
    assert second == expected[1] | {"http://b.example.com/p4.html"}
    assert third == expected[2] | {
        *(f"http://b.example.com/p{p}.html" for p in (3, 2)),
        *(f"http://a.example.com/p{p}.html" for p in (5, 4)),
        "http://tie0.example.net/t3.html",  # Nutch takes b's p1 here: a host moved on by a full segment gets one more
    }


def test_segments_fill_one_after_the_other(tmp_path: Path) -> None:
    make_crawldb(tmp_path / "crawldb", scored((f"http://a.test/{n}", n) for n in range(10)))
    outcome = generated(tmp_path, top_n=4, max_segments=5)
    assert [len(urls) for urls in listed_urls(outcome)] == [4, 4, 2]
    names = [Path(line).name for line in outcome.lines]
    assert names == sorted(set(names))
    assert outcome.data["segments"] == list(outcome.lines)


def test_windows_give_what_one_sort_gives(tmp_path: Path) -> None:
    rows = scored((f"http://host{n % 7}.test/{n}", n % 5) for n in range(9_000))
    make_crawldb(tmp_path / "crawldb", rows, buckets=16)
    ranked = [row["url"] for row in sorted(rows, key=lambda row: (-row["score"], row["url"])) if "host3" in row["url"]]
    rules: Mapping[str, Value] = {"urlfilter.order": ["regex"], "urlfilter.regex.rules": "-host[^3]\n+."}
    outcome = generated(tmp_path, rules, top_n=1_000)
    assert listed_urls(outcome) == [set(ranked[:1_000])]
    assert outcome.counters["filtered:regex.host[^3]"] or outcome.counters.family("filtered") > 5_000


@pytest.mark.parametrize("fetchers", [1, 3, 8])
def test_lists(tmp_path: Path, fetchers: int) -> None:
    sizes = {"big.test": 40, "b.test": 21, "c.test": 20, "d.test": 3, "e.test": 1}
    rows = [{"url": f"http://{host}/{n}", "score": n} for host, size in sizes.items() for n in range(size)]
    make_crawldb(tmp_path / "crawldb", rows)
    outcome = generated(tmp_path, num_fetchers=fetchers)
    segment = Segment(Path(next(iter(outcome.lines))))
    lists = min(fetchers, len(sizes))
    assert segment.meta.lists == lists == outcome.counters["lists"]
    assert segment.meta.stages["generate"]["urls"] == len(rows)
    found = [read_rows(segment, number) for number in range(lists)]
    hosts = [{row["host"] for row in rows} for rows in found]
    assert sum(len(some) for some in hosts) == len(sizes)
    assert all(row["list"] == number for number, rows in enumerate(found) for row in rows)
    if fetchers == 3:
        assert sorted(len(rows) for rows in found) == [22, 23, 40]
    for rows_found in found:
        assert [row["url"] for row in rows_found] == spread_evenly(rows_found)


def read_rows(segment: Segment, number: int) -> list[dict[str, Any]]:
    return [row for row in read_table(segment, "crawl_generate") if row["list"] == number]


def spread_evenly(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The order that a fetch list should have: each host's URLs in their order, each in its share of the list."""
    sizes = Counter(row["host"] for row in rows)
    seen: Counter[str] = Counter()
    places = []
    for row in sorted(rows, key=lambda row: (-row["score"], row["url"])):
        places.append(((seen[row["host"]] + spread_hash(row["url"]) / 2**32) / sizes[row["host"]], row["url"]))
        seen[row["host"]] += 1
    return [url for _, url in sorted(places)]


def test_each_part_of_a_list_has_its_share_of_every_host(tmp_path: Path) -> None:
    sizes = {"big.test": 200, "middle.test": 40, **{f"h{n}.test": 1 for n in range(200)}}
    make_crawldb(tmp_path / "crawldb", [f"http://{host}/{n}" for host, size in sizes.items() for n in range(size)])
    (rows,) = listed(generated(tmp_path))
    quarter = len(rows) // 4
    for part in (rows[:quarter], rows[quarter : 2 * quarter], rows[-quarter:]):
        counts = Counter("few" if row["host"].startswith("h") else row["host"] for row in part)
        assert 42 <= counts["big.test"] <= 58
        assert 7 <= counts["middle.test"] <= 13
        assert 35 <= counts["few"] <= 65


def test_lists_by_domain_and_address(tmp_path: Path) -> None:
    urls = ["http://a.x.test/", "http://b.x.test/", "http://y.test/", "http://z.test/", "http://lost.test/"]
    make_crawldb(tmp_path / "crawldb", urls)
    domains = listed(generated(tmp_path, {"partition.url.mode": "byDomain"}, num_fetchers=9))[0]
    assert {row["host"]: row["queue_id"] for row in domains}["b.x.test"] == "x.test"
    assert len({row["list"] for row in domains if row["queue_id"] == "x.test"}) == 1
    (tmp_path / "segments").rename(tmp_path / "first")
    addresses = {"a.x.test": "10.0.0.1", "b.x.test": "10.0.0.2", "y.test": "10.0.0.1", "z.test": "10.0.0.1"}
    outcome = generated(tmp_path, {"partition.url.mode": "byIP"}, num_fetchers=9, resolve=addresses.get)
    queues = {row["host"]: row["queue_id"] for row in listed(outcome)[0]}
    assert queues == {**addresses, "lost.test": "lost.test"}
    assert len({row["list"] for row in listed(outcome)[0] if row["queue_id"] == "10.0.0.1"}) == 1
    assert outcome.counters["unresolved"] == 1


def test_generates_in_a_row_are_disjoint(tmp_path: Path) -> None:
    make_crawldb(tmp_path / "crawldb", probe_rows())
    first, second = (listed_urls(generated(tmp_path, top_n=20))[0] for _ in range(2))
    assert not first & second
    assert first | second == {row["url"] for row in probe_rows()}
    with pytest.raises(NothingDue, match=r"20 pending in .*/segments/\d{14} \(not fetched\), 17 pending in"):
        generated(tmp_path)


def test_generates_at_the_same_moment_are_disjoint(tmp_path: Path) -> None:
    make_crawldb(tmp_path / "crawldb", scored((f"http://host{n}.test/", n) for n in range(300)))
    found: list[set[str]] = []
    threads = [
        threading.Thread(target=lambda: found.extend(listed_urls(generated(tmp_path, top_n=100, wait=30.0))))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(len(urls) for urls in found) == len(set().union(*found)) == 300


def test_a_second_generate_does_not_wait_unasked(tmp_path: Path) -> None:
    make_crawldb(tmp_path / "crawldb", ["http://a.test/"])
    with segments_lock(tmp_path / "segments"), pytest.raises(LockedError):
        generated(tmp_path)


@pytest.mark.parametrize(
    ("state", "applied", "age", "pending"),
    [
        (None, False, 0, "not fetched"),
        ("running", False, 0, "fetch running"),
        ("interrupted", True, 0, "fetch interrupted"),
        ("done", False, 0, "fetched, not in the crawldb"),
        ("done", True, 0, None),
        (None, False, 7, None),
    ],
)
def test_what_makes_a_segment_pending(
    tmp_path: Path, state: str | None, applied: bool, age: int, pending: str | None
) -> None:
    database = make_crawldb(tmp_path / "crawldb", ["http://a.test/"])
    segment = make_segment(tmp_path / "segments", ["http://a.test/"], database, now=NOW - timedelta(days=age))
    if state:
        add_fetch(segment, [{"url": "http://a.test/"}], state=state)
    if applied:
        apply(database, segment)
    if pending is None:
        assert listed_urls(generated(tmp_path)) == [{"http://a.test/"}]
    else:
        with pytest.raises(NothingDue, match=f"1 pending in .*{pending}"):
            generated(tmp_path)


def apply(database: Database, segment: Segment) -> None:
    names = [str(name) for name, _ in segment.parts("crawl_fetch")]
    with database.locked(), database.replacing("updatedb", LATER, grace=3600) as draft:
        for part in database.current().parts:
            draft.keep(part)
        draft.meta = draft.meta.with_applied(segment.meta.uuid, "crawl_fetch", names)


def test_segments_of_another_crawl_hold_nothing_back(tmp_path: Path) -> None:
    other = make_crawldb(tmp_path / "other", ["http://a.test/"])
    make_crawldb(tmp_path / "crawldb", ["http://a.test/"])
    make_segment(tmp_path / "segments", ["http://a.test/"], other)
    assert listed_urls(generated(tmp_path)) == [{"http://a.test/"}]


def shown(folder: Path) -> list[str]:
    """What lies in a folder but for its locks."""
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_nothing_due_says_why(tmp_path: Path) -> None:
    make_crawldb(tmp_path / "crawldb", [])
    with pytest.raises(NothingDue, match="has no rows; inject"):
        generated(tmp_path)
    assert shown(tmp_path / "segments") == []


def test_what_a_killed_generate_left_is_swept(tmp_path: Path) -> None:
    make_crawldb(tmp_path / "crawldb", ["http://a.test/"])
    for name in ("_20260301000000.tmp", "_generate.tmp"):
        (tmp_path / "segments" / name / "crawl_generate").mkdir(parents=True)
    outcome = generated(tmp_path)
    assert shown(tmp_path / "segments") == [Path(next(iter(outcome.lines))).name]


def test_equal_inputs_give_equal_lists(tmp_path: Path) -> None:
    found = []
    for n, buckets in enumerate((1, 16)):
        crawl = tmp_path / str(n)
        make_crawldb(crawl / "crawldb", probe_rows(), buckets=buckets)
        found.append(listed(generated(crawl, {"generate.max.count": 3}, top_n=12, num_fetchers=3)))
    assert found[0] == found[1]


class Doubling:
    """Scoring filters that rank by depth before score."""

    def sort_value(self, batch: pa.RecordBatch) -> pa.Array:
        return pc.add(pc.multiply(batch.column("depth").cast(pa.float32()), 10.0), batch.column("score"))


def test_scoring_filters_rank(tmp_path: Path) -> None:
    rows = [{"url": f"http://a.test/{n}", "score": n, "depth": n % 3} for n in range(9)]
    database = make_crawldb(tmp_path / "crawldb", rows)
    conf = defaults().with_values(PLAIN | {"generate.min.score": 15.0, "generate.expr": "score < 8"})
    due = Due.of(conf, Context(conf, NOW).engine, database.current(), [], NOW, 0.0)
    counters = Counters()
    batches = list(replace(due, scoring=Doubling()).ranked(2, tmp_path / "due", counters))
    assert [url for batch in batches for url in batch.column("url").to_pylist()] == [
        "http://a.test/5",
        "http://a.test/2",
        "http://a.test/7",
    ]
    assert counters["skipped:min_score"] == 5
    plain = [url for batch in due.ranked(2, tmp_path / "due", counters) for url in batch.column("url").to_pylist()]
    assert plain == []


def test_places_without_limits() -> None:
    places = Places(-1, -1, 2)
    assert [places.place("a") for _ in range(3)] == [0, 0, 0]
    assert not places.full


def test_places_move_on() -> None:
    places = Places(3, 2, 2)
    assert [places.place(key) for key in "aaabbbbcc"] == [0, 0, 1, 0, 1, 1, None, None, None]
    assert places.full


def test_balanced() -> None:
    assert balanced({"a": 5, "b": 4, "c": 3, "d": 3}, 2) == {"a": 0, "b": 1, "c": 1, "d": 0}
    assert balanced({"a": 1}, 4) == {"a": 0}


def test_queue_ids_of_literal_addresses() -> None:
    found, lost = queue_ids(["127.0.0.1", "[::1]", ""], "byIP")
    assert (found, lost) == ({"127.0.0.1": "127.0.0.1", "[::1]": "::1", "": ""}, 1)
