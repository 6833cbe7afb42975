"""updatedb: what segments bring, each part once, however they are cut into runs."""

from __future__ import annotations

import logging
import random
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import DamagedError, LockedError, MissingError, UsageError
from nutchpy.stages import updatedb
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.touched import NEWS, TOUCHED
from nutchpy.stages.transitions import Rules, after_attempt, after_news
from nutchpy.stages.updatedb import UpdatedbOptions, run
from nutchpy.storage.database import Database
from nutchpy.storage.parts import PartName
from nutchpy.storage.segment import Segment
from nutchpy.testing.crashes import every_death
from nutchpy.testing.crawls import (
    INTERVAL,
    LATER,
    NOW,
    add_fetch,
    add_parse,
    add_part,
    make_crawldb,
    make_segment,
    read_db,
    read_table,
    without_times,
)

A, B = b"A" * 16, b"B" * 16
HOUR = timedelta(hours=1)
URL = "http://a.test/"


def update(crawldb: Path | Database, *segments: Segment, conf: dict[str, Any] | None = None, **options: Any) -> Outcome:
    settings = defaults().with_values(conf or {})
    path = crawldb.path if isinstance(crawldb, Database) else crawldb
    given = UpdatedbOptions.of(settings, crawldb=path, segments=tuple(s.path for s in segments), **options)
    settings = settings.with_values(given.overlay())
    return run(given, Context(settings, LATER + HOUR))


def crawl(tmp_path: Path, *rows: Any) -> tuple[Database, Segment]:
    database = make_crawldb(tmp_path / "crawldb", rows)
    return database, make_segment(tmp_path / "segments", rows, database)


# -- what it does


def test_a_page_and_its_links(tmp_path: Path) -> None:
    database, segment = crawl(tmp_path, URL)
    add_fetch(segment, [{"url": URL, "score": 1.0, "etag": "e"}])
    links = [{"url": url, "score": 0.25} for url in (URL, "http://b.test/", "http://b.test/", "http://c.test/x")]
    add_parse(segment, {URL: A}, {URL: links})
    outcome = update(database, segment)
    rows = read_db(database)
    assert (rows[URL]["status"], rows[URL]["signature"], rows[URL]["etag"]) == ("db_fetched", A, "e")
    assert (rows[URL]["fetch_time"], rows[URL]["due_time"]) == (LATER, LATER + timedelta(seconds=INTERVAL))
    assert rows[URL]["score"] == 0.25
    assert (rows["http://b.test/"]["status"], rows["http://b.test/"]["score"]) == ("db_unfetched", 0.5)
    assert (rows["http://c.test/x"]["depth"], rows["http://c.test/x"]["due_time"]) == (1, LATER + HOUR)
    expected = {"updated:db_fetched": 1, "added": 2, "total": 3, "parts": 2, "segments": 1}
    assert {name: outcome.counters[name] for name in expected} == expected


def test_rows_are_counted(tmp_path: Path) -> None:
    database, segment = crawl(tmp_path, URL, "http://known.test/", "http://idle.test/")
    add_fetch(segment, [URL, {"url": "http://fromlist.test/", "status": "fetch_gone"}])
    add_parse(segment, {URL: A}, {URL: ["http://new.test/", {"url": "http://known.test/", "score": 0.5}]})
    counters = update(database, segment).counters
    expected = {"updated:db_fetched": 1, "updated:db_gone": 1, "linked": 1, "added": 2, "total": 5}
    assert {name: counters[name] for name in expected} == expected


def test_a_crawldb_is_made_when_there_is_none(tmp_path: Path) -> None:
    segment = make_segment(tmp_path / "segments", [URL])
    add_fetch(segment, [URL])
    update(tmp_path / "new", segment)
    assert read_db(Database(tmp_path / "new", "crawldb"))[URL]["status"] == "db_fetched"


def test_the_crawl_folder_instead_of_the_crawldb(tmp_path: Path) -> None:
    _, segment = crawl(tmp_path, URL)
    add_fetch(segment, [URL])
    with pytest.raises(MissingError, match=r"did you mean .*/crawldb\?"):
        update(tmp_path, segment)
    assert not (tmp_path / "current").exists()


def test_several_segments_the_newest_attempt_wins(tmp_path: Path) -> None:
    database, one = crawl(tmp_path, URL)
    two = make_segment(tmp_path / "segments", [URL], database)
    add_fetch(one, [{"url": URL, "status": "fetch_gone", "fetch_time": LATER + HOUR}])
    add_fetch(two, [{"url": URL, "status": "fetch_success", "fetch_time": LATER}])
    update(database, dir=tmp_path / "segments")
    assert read_db(database)[URL]["status"] == "db_gone"


def test_an_attempt_older_than_the_row_is_passed_over(tmp_path: Path) -> None:
    fetched = {"url": URL, "status": "db_fetched", "fetch_time": LATER + HOUR, "signature": A}
    database, segment = crawl(tmp_path, fetched)
    add_fetch(segment, [{"url": URL, "status": "fetch_gone"}])
    add_parse(segment, {URL: B})
    before = read_db(database)
    update(database, segment)
    assert read_db(database) == before


def test_urls_never_attempted_stay_due(tmp_path: Path) -> None:
    database, segment = crawl(tmp_path, URL, "http://b.test/")
    add_fetch(segment, [URL])
    before = read_db(database)["http://b.test/"]
    update(database, segment)
    assert read_db(database)["http://b.test/"] == before


def test_no_additions(tmp_path: Path) -> None:
    database, segment = crawl(tmp_path, URL)
    redirect = {"url": URL, "status": "fetch_redir_perm", "redirect_to": "http://d.test/"}
    add_fetch(segment, [redirect, "http://unknown.test/"])
    add_parse(segment, links={URL: ["http://b.test/", {"url": URL, "score": 0.5}]})
    update(database, segment, additions=False)
    assert list(read_db(database)) == [URL]
    assert read_db(database)[URL]["score"] == 0.5


def test_the_best_links_count_when_there_are_too_many(tmp_path: Path) -> None:
    database, segment = crawl(tmp_path, URL)
    add_fetch(segment, [URL])
    scores = [0.125, 0.5, 0.25, 0.0625]
    links = [{"url": "http://b.test/", "score": score, "depth": 9 - n} for n, score in enumerate(scores)]
    add_parse(segment, links={URL: [*links, {"url": "http://c.test/", "score": 0.125}]})
    update(database, segment, conf={"db.update.max.inlinks": 2})
    rows = read_db(database)
    assert (rows["http://b.test/"]["score"], rows["http://b.test/"]["depth"]) == (0.75, 6)
    assert rows["http://c.test/"]["score"] == 0.125


def test_scores_do_not_depend_on_the_order_of_links(tmp_path: Path) -> None:
    scores = [1e-7 * n**3 for n in range(3_000)] + [1e6]
    found = set()
    for seed in range(3):
        folder = tmp_path / str(seed)
        database, segment = crawl(folder, URL)
        add_fetch(segment, [URL])
        random.Random(seed).shuffle(scores)
        add_parse(segment, links={URL: [{"url": "http://b.test/", "score": score} for score in scores]})
        update(database, segment)
        found.add(read_db(database)["http://b.test/"]["score"])
    assert len(found) == 1


def test_depth_is_the_least(tmp_path: Path) -> None:
    rows = [URL, {"url": "http://near.test/", "depth": 1}, {"url": "http://far.test/", "depth": 7}]
    database, segment = crawl(tmp_path, *rows)
    add_fetch(segment, [URL])
    links = [
        {"url": url, "depth": 3, "score": 0.0} for url in ("http://near.test/", "http://far.test/", "http://n.test/")
    ]
    add_parse(segment, links={URL: [*links, {"url": "http://n.test/", "depth": 2, "score": 0.0}]})
    update(database, segment)
    found = read_db(database)
    assert [found[f"http://{host}.test/"]["depth"] for host in ("near", "far", "n")] == [1, 3, 2]


def test_a_redirect_hands_on_score_depth_interval_and_metadata(tmp_path: Path) -> None:
    seed = {"url": URL, "score": 2.0, "depth": 4, "metadata": {"seed": "s"}, "fetch_interval": 86_400}
    database, segment = crawl(tmp_path, seed)
    add_fetch(segment, [{**seed, "status": "fetch_redir_perm", "redirect_to": "http://target.test/x"}])
    update(database, segment)
    row = read_db(database)["http://target.test/x"]
    assert (row["score"], row["depth"], row["fetch_interval"], row["metadata"]) == (2.0, 4, 86_400, {"seed": "s"})
    assert (row["status"], row["host"], row["due_time"]) == ("db_unfetched", "target.test", LATER + HOUR)
    update(database, segment)
    assert read_db(database)["http://target.test/x"]["score"] == 2.0


def test_a_redirect_followed_at_once(tmp_path: Path) -> None:
    database, segment = crawl(tmp_path, {"url": URL, "score": 2.0})
    redirect = {"url": URL, "status": "fetch_redir_perm", "redirect_to": "http://t.test/", "score": 2.0}
    again = {"url": "http://t.test/", "status": "fetch_redir_temp", "redirect_to": "http://u.test/", "score": 2.0}
    add_fetch(segment, [redirect, again, {"url": "http://u.test/", "score": 2.0}])
    add_parse(segment, {"http://u.test/": A})
    update(database, segment)
    found = read_db(database)
    assert [found[url]["score"] for url in (URL, "http://t.test/", "http://u.test/")] == [2.0, 2.0, 2.0]
    assert (found["http://u.test/"]["status"], found["http://u.test/"]["signature"]) == ("db_fetched", A)


def test_a_redirect_to_nowhere(tmp_path: Path) -> None:
    database, segment = crawl(tmp_path, URL)
    add_fetch(segment, [{"url": URL, "status": "fetch_redir_perm", "redirect_to": "http://[broken/"}])
    assert update(database, segment).counters["malformed"] == 1
    assert list(read_db(database)) == [URL]


@pytest.mark.parametrize(("setting", "status"), [("404", "db_gone"), ("orphans", "db_orphan")])
def test_purging(tmp_path: Path, setting: str, status: str) -> None:
    rows = [
        URL,
        {"url": "http://old.test/", "status": status},
        {"url": "http://stays.test/", "status": "db_redir_perm"},
    ]
    database, segment = crawl(tmp_path, *rows)
    add_fetch(segment, [{"url": URL, "status": "fetch_gone"}])
    counters = update(database, segment, conf={f"db.update.purge.{setting}": True}).counters
    gone = {URL} if status == "db_gone" else set()
    assert set(read_db(database)) == {URL, "http://stays.test/"} - gone
    assert (counters["purged"], counters["total"]) == (1 + len(gone), 2 - len(gone))


def test_purged_rows_do_not_come_back_with_their_late_parse(tmp_path: Path) -> None:
    database, segment = crawl(tmp_path, URL, "http://b.test/")
    add_fetch(segment, [{"url": URL, "status": "fetch_gone"}, "http://b.test/"])
    update(database, segment, conf={"db.update.purge.404": True})
    add_parse(segment, {"http://b.test/": A})
    update(database, segment, conf={"db.update.purge.404": True})
    assert set(read_db(database)) == {"http://b.test/"}


def test_metadata_flows(tmp_path: Path) -> None:
    database, segment = crawl(tmp_path, {"url": URL, "metadata": {"seed": "1", "both": "db"}})
    add_fetch(segment, [{"url": URL, "metadata": {"both": "fetch", "got": "2"}}])
    add_parse(segment, {URL: A}, metadata={URL: {"title": "3", "got": "parse"}, "http://unknown.test/": {"k": "v"}})
    update(database, segment)
    rows = read_db(database)
    assert rows[URL]["metadata"] == {"seed": "1", "both": "fetch", "got": "parse", "title": "3"}
    assert "http://unknown.test/" not in rows


def test_filters_and_normalizers(tmp_path: Path) -> None:
    rows = [URL, "http://old.test/x.jpg", "http://upper.test:80/Old"]
    database, segment = crawl(tmp_path, *rows)
    add_fetch(
        segment, [URL, {"url": "http://r.test/", "status": "fetch_redir_perm", "redirect_to": "http://r.test/y.jpg"}]
    )
    add_parse(segment, {URL: A}, {URL: ["http://new.test:80/a", "http://new.test/b.jpg"]})
    rules = {"urlfilter.regex.rules": "-\\.jpg$\n+.", "urlnormalizer.order": ["basic"]}
    counters = update(database, segment, conf=rules, filter=True, normalize=True).counters
    assert set(read_db(database)) == {URL, "http://r.test/", "http://new.test/a", "http://upper.test/Old"}
    assert counters.family("filtered") == 3
    assert read_db(database)["http://new.test/a"]["host"] == "new.test"
    assert update(database, segment, conf=rules, filter=True, normalize=True).counters["parts"] == 0


def test_without_asking_nothing_is_filtered(tmp_path: Path) -> None:
    database, segment = crawl(tmp_path, "http://old.test/x.jpg")
    add_fetch(segment, ["http://old.test/x.jpg"])
    add_parse(segment, links={"http://old.test/x.jpg": ["http://new.test:80/b.jpg"]})
    update(database, segment, conf={"urlfilter.regex.rules": "-.", "urlnormalizer.order": ["basic"]})
    assert set(read_db(database)) == {"http://old.test/x.jpg", "http://new.test:80/b.jpg"}


# -- each part once


def test_twice_changes_nothing_and_says_so(tmp_path: Path) -> None:
    database, segment = crawl(tmp_path, URL)
    add_fetch(segment, [URL])
    add_parse(segment, {URL: A}, {URL: [{"url": "http://b.test/", "score": 0.5}]})
    update(database, segment)
    before, path = read_db(database), database.current().path
    outcome = update(database, segment)
    assert "nothing to apply" in outcome.summary[0]
    assert (read_db(database), database.current().path) == (before, path)
    assert update(database, segment, force=True).counters["parts"] == 2
    forced = read_db(database)
    assert (forced[URL], forced["http://b.test/"]["score"]) == (before[URL], 1.0)


def test_parts_without_rows_are_recorded_too(tmp_path: Path) -> None:
    database, segment = crawl(tmp_path, URL)
    add_fetch(segment, [])
    assert update(database, segment).counters["parts"] == 1
    assert "nothing to apply" in update(database, segment).summary[0]


def test_a_moved_segment_is_the_same_segment(tmp_path: Path) -> None:
    database, segment = crawl(tmp_path, URL)
    add_fetch(segment, [URL])
    update(database, segment)
    moved = tmp_path / "elsewhere"
    shutil.copytree(segment.path, moved)
    assert "nothing to apply" in update(database, Segment(moved)).summary[0]
    outcome = update(database, segment, Segment(moved), force=True)
    assert outcome.counters["segments"] == 1


def test_parts_merged_after_they_were_applied(tmp_path: Path) -> None:
    database, segment = crawl(tmp_path, URL, "http://b.test/", "http://c.test/")
    redirect = {"url": URL, "status": "fetch_redir_temp", "redirect_to": "http://t.test/", "score": 0.5}
    add_fetch(segment, [redirect], flush=0, state="interrupted")
    add_fetch(segment, ["http://b.test/"], flush=1, state="interrupted")
    update(database, segment)
    before = read_db(database)
    rows = read_table(segment, "crawl_fetch")
    merged = [*rows, {**rows[1], "url": "http://c.test/", "fetch_time": LATER + HOUR}]
    add_part(segment, "crawl_fetch", PartName(0, 0, 2), merged)
    add_parse_as(segment, PartName(0, 0, 2), {"http://b.test/": A})
    update(database, segment)
    after = read_db(database)
    assert (after["http://t.test/"]["score"], after[URL]) == (0.5, before[URL])
    assert (after["http://b.test/"]["signature"], after["http://c.test/"]["status"]) == (A, "db_fetched")
    assert "nothing to apply" in update(database, segment).summary[0]


def test_parts_merged_while_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database, segment = crawl(tmp_path, URL, "http://b.test/")
    add_fetch(segment, [URL], flush=0)
    add_fetch(segment, ["http://b.test/"], flush=1)
    calls = []

    def merging(*arguments: Any) -> pa.Table:
        calls.append(1)
        if len(calls) == 1:
            parts = segment.files("crawl_fetch")
            add_part(segment, "crawl_fetch", PartName(0, 0, 1), read_table(segment, "crawl_fetch"))
            for part in parts:
                part.unlink()
        return redirects(*arguments)

    redirects = updatedb._redirects
    monkeypatch.setattr(updatedb, "_redirects", merging)
    assert update(database, segment).counters["updated:db_fetched"] == 2
    assert len(calls) == 2
    assert len(list((database.path / "generations").iterdir())) == 2


def test_links_and_metadata_count_once_though_their_part_is_read_again(tmp_path: Path) -> None:
    database, segment = crawl(tmp_path, URL, "http://b.test/")
    add_fetch(segment, [URL], flush=0)
    add_parse(segment, {URL: A}, {URL: [{"url": "http://c.test/", "score": 0.5}]}, {URL: {"k": "parse"}}, flush=0)
    update(database, segment)
    changed = {"url": URL, "metadata": {"k": "changed since"}, "signature": A, "status": "db_fetched"}
    rows = [{**row, **(changed if row["url"] == URL else {})} for row in read_db(database).values()]
    meta = database.current().meta
    make_crawldb(database.path, rows)
    assert database.current().meta.applied == meta.applied
    both = [*read_table(segment, "crawl_fetch"), {"url": "http://b.test/"}]
    add_part(segment, "crawl_fetch", PartName(0, 0, 1), both)
    update(database, segment)
    found = read_db(database)
    assert found["http://b.test/"]["status"] == "db_fetched"
    assert found["http://c.test/"]["score"] == 0.5
    assert found[URL]["metadata"] == {"k": "changed since"}


def test_a_url_fetched_twice_in_a_segment(tmp_path: Path) -> None:
    database, segment = crawl(tmp_path, URL)
    prior = {"url": URL, "signature": A, "modified_time": NOW}
    for flush, signature in enumerate([B, A]):
        add_fetch(segment, [{**prior, "fetch_time": LATER + flush * HOUR}], flush=flush)
        add_parse(segment, {URL: signature}, flush=flush)
    update(database, segment)
    row = read_db(database)[URL]
    assert (row["status"], row["signature"], row["fetch_time"]) == ("db_notmodified", A, LATER + HOUR)


def add_parse_as(segment: Segment, name: PartName, signatures: dict[str, bytes]) -> None:
    feed = [{"url": url, "kind": "signature", "signature": value} for url, value in signatures.items()]
    add_part(segment, "crawl_parse", name, feed)


# -- however it is cut into runs

STATUSES = [
    *["fetch_success"] * 6,
    "fetch_retry",
    "fetch_gone",
    "fetch_notmodified",
    "fetch_redir_perm",
    "parse_failed",
]


class RandomCrawl:
    """A crawldb and a segment of four flushes in two lists, the same for the same seed."""

    def __init__(self, folder: Path, seed: int, buckets: int) -> None:
        self.random = random.Random(seed)
        self.urls = [f"http://h{n % 11}.test/{n}" for n in range(80)]
        rows = [self.row(url) for url in self.urls[:70]]
        self.database = make_crawldb(folder / "crawldb", rows, buckets)
        self.segment = make_segment(folder / "segments", [rows[:35], rows[35:60]], self.database)
        attempts = [self.attempt(row) for row in rows[:60]]
        self.flushes = [attempts[:20], attempts[20:35], attempts[35:45], attempts[45:]]
        self.parses = [self.parse(flush) for flush in self.flushes]

    def row(self, url: str) -> dict[str, Any]:
        seen = self.random.random() < 0.5
        before = {"fetch_time": NOW - 30 * 24 * HOUR, "modified_time": NOW - 40 * 24 * HOUR, "signature": A}
        metadata = {"seed": url} if self.random.random() < 0.3 else None
        return {
            "url": url,
            "status": "db_fetched" if seen else "db_unfetched",
            "score": self.random.randrange(64) / 64,
            "depth": self.random.randrange(5),
            "retries": self.random.randrange(4),
            "metadata": metadata,
            **(before if seen else {}),
        }

    def attempt(self, row: dict[str, Any]) -> dict[str, Any]:
        status = self.random.choice(STATUSES)
        carried = {k: v for k, v in row.items() if k not in ("status", "fetch_time")}
        target = self.random.choice(self.urls) if "redir" in status else None
        etag = "e" if status == "fetch_success" else None
        return {**carried, "status": status, "redirect_to": target, "etag": etag}

    def parse(self, flush: list[dict[str, Any]]) -> dict[str, Any]:
        pages = [row for row in flush if row["status"] == "fetch_success"]
        links = {row["url"]: [self.link(row) for _ in range(self.random.randrange(9))] for row in pages}
        metadata = {row["url"]: {"title": row["url"]} for row in pages if self.random.random() < 0.5}
        return {
            "signatures": {row["url"]: self.random.choice([A, B]) for row in pages},
            "links": links,
            "metadata": metadata,
        }

    def link(self, row: dict[str, Any]) -> dict[str, Any]:
        return {"url": self.random.choice(self.urls), "score": row["score"] / 16, "depth": row["depth"] + 1}

    def fetch(self, *numbers: int) -> None:
        for number in numbers:
            add_fetch(self.segment, self.flushes[number], flush=number % 2, number=number // 2)

    def parsed(self, *numbers: int) -> None:
        for number in numbers:
            add_parse(self.segment, **self.parses[number], flush=number % 2, number=number // 2)

    def update(self) -> None:
        update(self.database, self.segment)

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        return read_db(self.database)


@pytest.mark.parametrize(("seed", "buckets"), [(0, 1), (1, 1), (2, 1), (3, 1), (4, 16)])
def test_any_cut_leads_to_the_same_crawldb(tmp_path: Path, seed: int, buckets: int) -> None:
    whole = RandomCrawl(tmp_path / "whole", seed, 1)
    whole.fetch(0, 1, 2, 3)
    whole.parsed(0, 1, 2, 3)
    whole.update()

    before_parse = RandomCrawl(tmp_path / "before-parse", seed, buckets)
    before_parse.fetch(0, 1, 2, 3)
    before_parse.update()
    before_parse.parsed(0, 1, 2, 3)
    before_parse.update()

    halves = RandomCrawl(tmp_path / "halves", seed, buckets)
    halves.fetch(0, 2)
    halves.parsed(0)
    halves.update()
    halves.parsed(2)
    halves.fetch(1)
    halves.update()
    halves.fetch(3)
    halves.update()
    halves.parsed(3)
    halves.update()
    halves.parsed(1)
    halves.update()

    assert whole.rows == before_parse.rows
    assert whole.rows == halves.rows
    changed = without_times(whole.rows)
    assert {row["status"] for row in changed.values()} >= {"db_fetched", "db_notmodified", "db_gone", "db_unfetched"}


def test_segments_together_or_one_by_one(tmp_path: Path) -> None:
    found = []
    for together in (True, False):
        folder = tmp_path / str(together)
        database, one = crawl(folder, {"url": URL, "signature": A, "modified_time": NOW, "retries": 1})
        two = make_segment(folder / "segments", [URL], database)
        prior = {"url": URL, "signature": A, "modified_time": NOW, "retries": 1}
        add_fetch(one, [{**prior, "status": "fetch_retry"}])
        add_fetch(two, [{**prior, "status": "fetch_success", "fetch_time": LATER + HOUR}])
        add_parse(one, metadata={URL: {"k": "one", "l": "one"}}, links={URL: [{"url": "http://b.test/", "score": 0.5}]})
        add_parse(two, {URL: A}, metadata={URL: {"k": "two"}}, links={URL: [{"url": "http://b.test/", "score": 0.25}]})
        for run_of in [[one, two]] if together else [[one], [two]]:
            update(database, *run_of)
        found.append(read_db(database))
    assert found[0] == found[1]
    assert (found[0][URL]["status"], found[0][URL]["retries"]) == ("db_notmodified", 0)
    assert found[0][URL]["metadata"] == {"k": "two", "l": "one"}


def test_an_answer_and_a_failure_together_or_one_by_one(tmp_path: Path) -> None:
    """Two segments of one URL: it was a redirect's target in both, or listed again after crawl.gen.delay."""
    found = []
    for together in (True, False):
        folder = tmp_path / str(together)
        database, one = crawl(folder, {"url": URL, "etag": "old", "http_status": 500})
        two = make_segment(folder / "segments", [URL], database)
        add_fetch(one, [{"url": URL, "etag": "new"}])
        add_fetch(two, [{"url": URL, "etag": "old", "status": "fetch_retry", "fetch_time": LATER + HOUR}])
        for run_of in [[one, two]] if together else [[one], [two]]:
            update(database, *run_of)
        found.append(read_db(database)[URL])
    assert found[0] == found[1]
    assert (found[0]["http_status"], found[0]["etag"]) == (200, "old")


def test_killed_between_any_two_steps_and_run_again(tmp_path: Path) -> None:
    def prepared(name: str) -> tuple[Database, Segment]:
        database, segment = crawl(tmp_path / name, URL, "http://b.test/")
        add_fetch(segment, [URL, {"url": "http://b.test/", "status": "fetch_retry"}])
        add_parse(segment, {URL: A}, {URL: [{"url": "http://c.test/", "score": 0.5}]})
        return database, segment

    update(*prepared("unbroken"))
    expected = read_db(Database(tmp_path / "unbroken" / "crawldb", "crawldb"))
    crawls: dict[int, tuple[Database, Segment]] = {}

    def attempt(step: int) -> Callable[[], None]:
        crawls[step] = prepared(str(step))
        return lambda: update(*crawls[step]) and None

    for step, _ in every_death(attempt):
        update(*crawls[step])
        assert read_db(crawls[step][0]) == expected
    assert step > 10


# -- what may be missing or wrong


def test_segments_never_fetched_are_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    database, segment = crawl(tmp_path, URL)
    add_fetch(segment, [URL], {URL: b"hi"})
    empty = make_segment(tmp_path / "segments", ["http://b.test/"], database)
    with caplog.at_level(logging.INFO):
        counters = update(database, dir=tmp_path / "segments").counters
    assert (counters["segments"], counters["skipped:not_fetched"]) == (1, 1)
    assert f"{empty.path} is passed over" in caplog.text
    assert f"{segment.path} is not parsed yet" in caplog.text
    assert "nothing to apply: no segment was fetched yet" in update(database, empty).summary[0]


def test_a_segment_deleted_by_hand(tmp_path: Path) -> None:
    database, one = crawl(tmp_path, URL)
    two = make_segment(tmp_path / "segments", ["http://b.test/"], database)
    for segment, url in ((one, URL), (two, "http://b.test/")):
        add_fetch(segment, [url])
    update(database, one)
    shutil.rmtree(one.path)
    update(database, dir=tmp_path / "segments")
    assert {row["status"] for row in read_db(database).values()} == {"db_fetched"}


def test_no_segments(tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", [URL])
    with pytest.raises(UsageError, match="-dir"):
        update(database)
    with pytest.raises(MissingError, match="there is no segment in"):
        update(database, dir=tmp_path / "crawldb")
    with pytest.raises(MissingError, match="no folder"):
        update(database, dir=tmp_path / "nowhere")
    with pytest.raises(MissingError, match="not a segment"):
        update(database, Segment(tmp_path / "nowhere"))


def test_a_locked_crawldb_names_its_holder(tmp_path: Path) -> None:
    database, segment = crawl(tmp_path, URL)
    add_fetch(segment, [URL])
    with database.locked(), pytest.raises(LockedError, match=r"locked by pid \d+ on .* since .*") as error:
        update(database, segment)
    assert error.value.exit_code == 3


@pytest.mark.parametrize("table", ["crawl_fetch", "crawl_parse", "crawldb"])
@pytest.mark.parametrize("buckets", [1, 16])
def test_a_damaged_part_is_named_and_the_crawldb_unharmed(tmp_path: Path, table: str, buckets: int) -> None:
    database = make_crawldb(tmp_path / "crawldb", [f"http://h{n}.test/" for n in range(30)], buckets)
    segment = make_segment(tmp_path / "segments", ["http://h1.test/"], database)
    add_fetch(segment, ["http://h1.test/"])
    add_parse(segment, {"http://h1.test/": A})
    before = database.current()
    part = before.parts[0] if table == "crawldb" else segment.files(table)[0]
    whole = part.read_bytes()
    part.write_bytes(whole[:300])
    with pytest.raises(DamagedError, match=str(part)):
        update(database, segment)
    part.write_bytes(whole)
    assert database.current() == before
    assert [path.name for path in (database.path / "generations").iterdir()] == [before.path.name]


def test_a_plugin_that_raises_costs_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nutchpy.plugins.schedule.default import DefaultFetchSchedule
    from nutchpy.plugins.scoring.opic import OpicScoring

    def broken(*_: Any) -> Any:
        raise ValueError("broken")

    monkeypatch.setattr(DefaultFetchSchedule, "schedule", broken)
    monkeypatch.setattr(OpicScoring, "update", broken)
    database, segment = crawl(tmp_path, URL)
    add_fetch(segment, [URL, {"url": "http://b.test/", "status": "fetch_redir_perm"}])
    add_parse(segment, {URL: A}, {URL: ["http://c.test/"]})
    counters = update(database, segment).counters
    rows = read_db(database)
    assert set(rows) == {URL, "http://b.test/", "http://c.test/"}
    assert rows[URL]["due_time"] == LATER + timedelta(seconds=INTERVAL)
    assert counters["plugin_errors:default"] == 2
    assert counters["plugin_errors:opic"] == 3


def test_the_statements_give_what_the_state_machine_declares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schemas = {}

    def recorded(function: Callable[[pa.RecordBatch, Rules], pa.Table]) -> Callable[[pa.RecordBatch, Rules], pa.Table]:
        def recording(batch: pa.RecordBatch, rules: Rules) -> pa.Table:
            schemas[function] = batch.schema
            return function(batch, rules)

        return recording

    monkeypatch.setattr("nutchpy.stages.update.after_attempt", recorded(after_attempt))
    monkeypatch.setattr("nutchpy.stages.update.after_news", recorded(after_news))
    database, segment = crawl(tmp_path, URL)
    add_fetch(segment, [URL])
    add_parse(segment, {URL: A}, {URL: [{"url": "http://c.test/", "metadata": {"k": "v"}}]}, {URL: {"k": "v"}})
    update(database, segment)
    for function, names in ((after_attempt, TOUCHED.names), (after_news, NEWS)):
        found = schemas[function]
        assert set(found.names) == set(names)
        assert [name for name in names if not _alike(found.field(name).type, TOUCHED.field(name).type)] == []


def _alike(found: pa.DataType, declared: pa.DataType) -> bool:
    """Equal but for the name of a list's items."""
    return found == declared or (pa.types.is_list(found) and _alike(found.value_type, declared.value_type))


# -- how much of it is looked at


def test_news_that_waits_in_a_file_leads_to_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for folder, share in ((tmp_path / "memory", 1), (tmp_path / "file", 2**60)):
        monkeypatch.setattr("nutchpy.engine.rewrite._SHARE_IN_MEMORY", share)
        monkeypatch.setattr("nutchpy.engine.duckdb._BATCH_ROWS", 2)
        urls = [f"http://h{n % 4}.test/{n}" for n in range(20)]
        database, segment = crawl(folder, *urls)
        add_fetch(segment, [{"url": url, "metadata": {"f": url}} for url in urls[:6]])
        links = {url: [{"url": f"{url}/new", "metadata": {"k": url}}, urls[-1]] for url in urls[:6]}
        add_parse(segment, dict.fromkeys(urls[:6], A), links, {urls[2]: {"title": "t"}})
        update(database, segment)
        found.append(read_db(database))
    assert found[0] == found[1]
    assert len(found[0]) == 26
    assert dict(found[1]["http://h1.test/1/new"]["metadata"]) == {"k": "http://h1.test/1"}
    assert dict(found[1]["http://h2.test/2"]["metadata"])["title"] == "t"


def test_policies_see_no_row_that_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nutchpy.plugins.scoring.opic import OpicScoring

    seen = 0
    plain = OpicScoring.update

    def counting(self: OpicScoring, score: pa.Array, inlink_score: pa.Array) -> pa.Array:
        nonlocal seen
        seen += len(score)
        return plain(self, score, inlink_score)

    monkeypatch.setattr(OpicScoring, "update", counting)
    urls = [f"http://h{n}.test/" for n in range(200)]
    database, segment = crawl(tmp_path, *urls)
    add_fetch(segment, urls[:3])
    add_parse(segment, {urls[0]: A}, {urls[0]: ["http://new.test/", urls[100]]})
    update(database, segment)
    assert seen == 5
    assert len(read_db(database)) == 201
