"""dedup: who stays, who is marked, and what it leaves alone."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import LockedError, MissingError, UsageError
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.dedup import DedupOptions, run
from nutchpy.storage.database import Database
from nutchpy.testing.crawls import NOW, make_crawldb, read_db

A, B = b"A" * 16, b"B" * 16
HTTPS_FIRST = "httpsOverHttp,score,fetchTime,urlLength"


def page(url: str, signature: bytes | None = A, **row: Any) -> dict[str, Any]:
    return {"url": url, "status": "db_fetched", "signature": signature, "fetch_time": NOW, "score": 1.0, **row}


def dedup(database: Database, **options: Any) -> Outcome:
    conf = defaults()
    return run(DedupOptions.of(conf, crawldb=database.path, **options), Context(conf, NOW))


def marked(tmp_path: Path, *rows: dict[str, Any], buckets: int = 1, **options: Any) -> set[str]:
    database = make_crawldb(tmp_path / "crawldb", rows, buckets)
    outcome = dedup(database, **options)
    found = {url for url, row in read_db(database).items() if row["status"] == "db_duplicate"}
    known = {row["url"] for row in rows if row["status"] == "db_duplicate"}
    assert outcome.counters["duplicates"] == len(found - known)
    return found - known


def test_the_higher_score_stays(tmp_path: Path) -> None:
    rows = [page("http://a.test/1"), page("http://b.test/longer", score=2.0), page("http://c.test/")]
    assert marked(tmp_path, *rows) == {"http://a.test/1", "http://c.test/"}


def test_then_the_later_fetch(tmp_path: Path) -> None:
    rows = [page("http://a.test/"), page("http://a.test/longer", fetch_time=NOW + timedelta(microseconds=1))]
    assert marked(tmp_path, *rows) == {"http://a.test/"}


@pytest.mark.parametrize(
    ("shorter", "longer"),
    [
        ("http://a.test/1", "http://a.test/12"),
        ("http://a.test/%41%42%43", "http://a.test/abcd"),
        ("http://a.test/%E4%BD%A0%E5%A5%BD", "http://a.test/abc"),
        ("http://a.test/z%", "http://a.test/a%x"),
    ],
)
def test_then_the_shorter_url_decoded(tmp_path: Path, shorter: str, longer: str) -> None:
    assert marked(tmp_path, page(longer), page(shorter)) == {longer}


def test_at_last_the_url_decides(tmp_path: Path) -> None:
    rows = [page(f"http://a.test/{letter}") for letter in "cabd"]
    assert marked(tmp_path, *rows) == {f"http://a.test/{letter}" for letter in "bcd"}


def test_only_fetched_rows_with_a_signature_count(tmp_path: Path) -> None:
    others = [
        "db_unfetched",
        "db_gone",
        "db_redir_temp",
        "db_redir_perm",
        "db_duplicate",
        "db_orphan",
        "db_parse_failed",
    ]
    rows = [page(f"http://a.test/{status}", status=status, score=9.0) for status in others]
    rows += [page("http://a.test/x1", None), page("http://a.test/x2", None), page("http://a.test/y")]
    assert marked(tmp_path, *rows) == set()


def test_notmodified_counts_like_fetched(tmp_path: Path) -> None:
    rows = [page("http://a.test/1"), page("http://a.test/22", status="db_notmodified")]
    assert marked(tmp_path, *rows) == {"http://a.test/22"}


@pytest.mark.parametrize(("group", "expected"), [("none", 3), ("domain", 2), ("host", 1)])
def test_groups(tmp_path: Path, group: str, expected: int) -> None:
    rows = [page(f"http://{host}/") for host in ("www.a.test", "old.a.test", "www.b.test")] + [
        page("http://www.a.test/x")
    ]
    assert len(marked(tmp_path, *rows, group=group)) == expected


@pytest.mark.parametrize("buckets", [1, 16, 64])
def test_duplicates_are_found_across_buckets(tmp_path: Path, buckets: int) -> None:
    rows = [page(f"http://h{n}.test/", A if n % 2 else B, score=float(n)) for n in range(60)]
    assert marked(tmp_path, *rows, buckets=buckets) == {f"http://h{n}.test/" for n in range(58)}


def test_other_orders(tmp_path: Path) -> None:
    rows = [page("http://a.test/", score=1.0), page("http://a.test/longer", score=2.0)]
    assert marked(tmp_path, *rows, compare_order="urlLength,score,fetchTime") == {"http://a.test/longer"}


def test_https_over_http(tmp_path: Path) -> None:
    rows = [page("http://a.test/", score=2.0), page("https://a.test/")]
    assert marked(tmp_path / "1", *rows, compare_order=HTTPS_FIRST) == {"http://a.test/"}
    assert marked(tmp_path / "2", *rows, compare_order="score,httpsOverHttp") == {"https://a.test/"}


def test_https_counts_only_for_one_and_the_same_address(tmp_path: Path) -> None:
    rows = [page("http://a.test/", score=2.0), page("https://b.test/", score=1.0)]
    assert marked(tmp_path, *rows, compare_order=HTTPS_FIRST) == {"https://b.test/"}


def test_https_over_http_in_a_ring_of_preferences(tmp_path: Path) -> None:
    """https://x beats http://x, which beats http://y by score, which beats https://x by score."""
    rows = [page("https://x.test/", score=1.0), page("http://x.test/", score=5.0), page("http://y.test/", score=3.0)]
    assert marked(tmp_path, *rows, compare_order=HTTPS_FIRST) == {"http://x.test/", "https://x.test/"}


def test_https_as_a_later_key_weighs_only_among_equals(tmp_path: Path) -> None:
    rows = [page("http://a.test/", score=5.0), page("http://b.test/x", score=5.0), page("https://a.test/", score=1.0)]
    assert marked(tmp_path, *rows, compare_order="score,httpsOverHttp,urlLength") == {
        "http://b.test/x",
        "https://a.test/",
    }


def test_nothing_to_mark_leaves_the_crawldb_alone(tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", [page("http://a.test/1"), page("http://a.test/2", B)])
    before = database.current().path
    outcome = dedup(database)
    assert database.current().path == before
    assert list(outcome.summary) == ["no duplicates; the crawldb is as it was"]
    assert [p.name for p in (tmp_path / "crawldb" / "generations").iterdir()] == [before.name]


def test_twice_is_once(tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", [page("http://a.test/1"), page("http://a.test/2")])
    dedup(database)
    before = database.current().path
    assert dedup(database).counters["duplicates"] == 0
    assert database.current().path == before


def test_nothing_but_the_status_changes(tmp_path: Path) -> None:
    rows = [
        page("http://a.test/1", metadata={"k": "v"}, etag="e", http_status=200, modified_time=NOW),
        page("http://a.test/"),
    ]
    database = make_crawldb(tmp_path / "crawldb", rows)
    before = read_db(database)
    dedup(database)
    expected = {**before, "http://a.test/1": {**before["http://a.test/1"], "status": "db_duplicate"}}
    assert read_db(database) == expected


@pytest.mark.parametrize("order", ["", "score,beauty", "score,score"])
def test_orders_that_make_no_sense(tmp_path: Path, order: str) -> None:
    with pytest.raises(UsageError, match="-compareOrder"):
        marked(tmp_path, page("http://a.test/"), compare_order=order)


def test_a_group_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="-group"):
        marked(tmp_path, page("http://a.test/"), group="path")


def test_no_crawldb(tmp_path: Path) -> None:
    with pytest.raises(MissingError):
        dedup(Database(tmp_path / "crawldb", "crawldb"))
    assert not list(tmp_path.iterdir())


def test_a_locked_crawldb(tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", [page("http://a.test/")])
    with database.locked(), pytest.raises(LockedError, match=r"crawldb is locked by pid \d+"):
        dedup(database)
