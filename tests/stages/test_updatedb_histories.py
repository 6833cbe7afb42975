"""updatedb beside a plain reference over random histories, and what holds of every crawl however long it has run."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stages.reference import Row, Setup, update

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import NothingDue
from nutchpy.stages.context import Context
from nutchpy.stages.dedup import DedupOptions
from nutchpy.stages.dedup import run as dedup
from nutchpy.stages.expire import ExpireOptions
from nutchpy.stages.expire import run as expire
from nutchpy.stages.generate import GenerateOptions
from nutchpy.stages.generate import run as generate
from nutchpy.stages.inject import InjectOptions
from nutchpy.stages.inject import run as inject
from nutchpy.stages.invertlinks import InvertlinksOptions
from nutchpy.stages.invertlinks import run as invertlinks
from nutchpy.stages.updatedb import UpdatedbOptions
from nutchpy.stages.updatedb import run as updatedb
from nutchpy.storage.check import check_crawl
from nutchpy.storage.database import Database
from nutchpy.storage.segment import Segment, segments_in
from nutchpy.testing.crawls import NOW, add_fetch, add_parse, make_crawldb, make_segment, read_db, read_table

COMPARED: Final = (
    *("status", "due_time", "fetch_time", "modified_time", "retries", "fetch_interval", "score", "signature", "depth"),
    *("http_status", "protocol_status", "first_seen"),
)
CARRIED: Final = ("modified_time", "retries", "fetch_interval", "score", "signature", "depth")
DAY: Final = 86_400
URLS: Final = [f"http://h{n % 4}.test/{n}" for n in range(9)]
SIGNATURES: Final = [bytes([n]) * 16 for n in range(3)]
OUTCOMES: Final = {
    "fetch_success": ("success", 200),
    "fetch_retry": ("timeout", None),
    "fetch_redir_temp": ("temp_moved", 302),
    "fetch_redir_perm": ("moved", 301),
    "fetch_gone": ("notfound", 404),
    "fetch_notmodified": ("notmodified", 304),
    "parse_failed": ("success", 200),
}
KNOWN: Final = sorted({"db_unfetched", "db_fetched", "db_gone", "db_redir_temp", "db_notmodified", "db_duplicate"})


def conf_of(setup: Setup) -> dict[str, Any]:
    return {
        "db.fetch.retry.max": setup.retry_max,
        "db.update.max.inlinks": setup.max_inlinks,
        "db.fetch.interval.default": setup.interval,
        "db.fetch.interval.max": setup.longest,
        "db.update.additions.allowed": setup.additions,
        "db.update.purge.404": setup.purge_gone,
        "generate.due.window": 0,
    }


def compared(rows: Mapping[str, Row]) -> dict[str, Row]:
    return {url: {name: row[name] for name in COMPARED} for url, row in rows.items()}


# -- random small histories

times = st.integers(-100 * DAY, 0).map(lambda seconds: NOW + timedelta(seconds=seconds))
eighths = st.integers(0, 40).map(lambda n: n / 8)
rows_before = st.fixed_dictionaries(
    {
        "status": st.sampled_from(KNOWN),
        "fetch_time": st.none() | times,
        "modified_time": st.none() | times,
        "retries": st.integers(0, 3),
        "fetch_interval": st.integers(1, 12).map(lambda n: n * 10 * DAY),
        "score": eighths,
        "signature": st.none() | st.sampled_from(SIGNATURES),
        "depth": st.integers(0, 5),
        "http_status": st.none() | st.just(200),
    }
)
fates = st.fixed_dictionaries(
    {
        "status": st.sampled_from(sorted(OUTCOMES)),
        "redirect_to": st.sampled_from(URLS),
        "new_signature": st.none() | st.sampled_from(SIGNATURES),
        "links": st.lists(st.tuples(st.sampled_from(URLS), eighths, st.integers(0, 5)), max_size=4),
    }
)
segments = st.dictionaries(st.sampled_from(URLS), fates, max_size=5)
histories = st.lists(st.lists(segments, min_size=1, max_size=2), min_size=1, max_size=3)
setups = st.builds(
    Setup,
    retry_max=st.integers(1, 3),
    max_inlinks=st.sampled_from([0, 1, 2, 10_000]),
    interval=st.sampled_from([DAY, 40 * DAY]),
    longest=st.sampled_from([30 * DAY, 90 * DAY]),
    additions=st.booleans(),
    purge_gone=st.booleans(),
)


@given(st.dictionaries(st.sampled_from(URLS), rows_before), histories, setups, st.sampled_from([1, 16]))
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
def test_random_histories(
    tmp_path_factory: pytest.TempPathFactory, start: dict[str, Row], history: Any, setup: Setup, buckets: int
) -> None:
    crawl = tmp_path_factory.mktemp("crawl")
    database = make_crawldb(crawl / "crawldb", [{"url": url, **row} for url, row in start.items()], buckets)
    expected, conf = read_db(database), defaults().with_values(conf_of(setup))
    number = 0
    for together in history:
        made, attempts, links = [], [], []
        for fetched in together:
            number += 1
            now = NOW + timedelta(days=number)
            made.append(make_segment(crawl / "segments", list(fetched), database, now))
            mine, found = outcome(expected, fetched, now, setup)
            record(made[-1], mine, found)
            attempts += mine
            links += [link for page in found.values() for link in page]
        at = NOW + timedelta(days=number, hours=1)
        paths = tuple(segment.path for segment in made)
        updatedb(UpdatedbOptions.of(conf, crawldb=database.path, segments=paths), Context(conf, at, crawl))
        if attempts:  # an update that has nothing to apply changes nothing, what is to be purged included
            expected = update(expected, attempts, links, at, setup)
        assert compared(read_db(database)) == compared(expected)
    shutil.rmtree(crawl)


def outcome(db: Mapping[str, Row], fetched: Mapping[str, Row], now: datetime, setup: Setup) -> tuple[list[Row], Any]:
    """The attempts of a round, and the links of its pages."""
    attempts, links = [], {}
    for place, (url, fate) in enumerate(fetched.items()):
        status = fate["status"]
        carried = {name: db[url][name] for name in CARRIED} if url in db else unseen(setup)
        success = status == "fetch_success"
        attempts.append(
            {
                "url": url,
                **carried,
                "status": status,
                "fetch_time": now + timedelta(seconds=place),
                "protocol_status": OUTCOMES[status][0],
                "http_status": OUTCOMES[status][1],
                "redirect_to": fate["redirect_to"] if "redir" in status else None,
                "new_signature": fate["new_signature"] if success else None,
            }
        )
        if success:
            links[url] = [{"url": to, "score": score, "depth": depth} for to, score, depth in fate["links"]]
    return attempts, links


def unseen(setup: Setup) -> Row:
    return dict.fromkeys(CARRIED) | {"retries": 0, "fetch_interval": setup.interval, "score": 0.5, "depth": 2}


def record(segment: Segment, attempts: Sequence[Row], links: Mapping[str, Sequence[Row]]) -> None:
    """The attempts and what was parsed, in two flushes when there is enough."""
    half = len(attempts) // 2
    for flush, mine in enumerate(filter(None, (attempts[:half], attempts[half:]))):
        successes = [row for row in mine if row["status"] == "fetch_success"]
        bodies = {row["url"]: {"content": b"body", "fetch_time": row["fetch_time"]} for row in successes}
        add_fetch(
            segment, [{k: v for k, v in row.items() if k != "new_signature"} for row in mine], bodies, flush=flush
        )
        signatures = {row["url"]: row["new_signature"] for row in successes if row["new_signature"]}
        add_parse(segment, signatures, {url: found for url, found in links.items() if url in bodies}, flush=flush)
    segment.record("parse", state="done")


# -- long histories


def test_long_histories_keep_every_invariant(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """``bin/test tests/stages/test_updatedb_histories.py -k long --rounds 1000`` goes on for an hour."""
    rounds = request.config.getoption("rounds")
    chance = random.Random() if rounds else random.Random(5)
    history = History(tmp_path / "crawl", chance)
    for number in range(rounds or 8):
        history.round()
        history.check()
        if number % 7 == 6:
            history.expire()
            history.check()
    assert history.seen["db_fetched"] > 5


class History:
    """A crawl of some fifty URLs that goes through rounds with whatever may come."""

    def __init__(self, crawl: Path, chance: random.Random) -> None:
        self.setup = Setup(interval=2 * DAY, longest=20 * DAY, max_inlinks=3)
        self.conf = defaults().with_values({**conf_of(self.setup), "linkdb.max.inlinks": 4})
        self.crawl, self.chance, self.now = crawl, chance, NOW
        self.database, self.linkdb = Database(crawl / "crawldb", "crawldb"), Database(crawl / "linkdb", "linkdb")
        self.seen: Counter[str] = Counter()
        self.before: dict[str, Row] = {}
        crawl.mkdir()
        self._inject()

    def round(self) -> None:
        self.now += timedelta(hours=self.chance.randrange(1, 60))
        ctx, folder = self._context(), self.crawl / "segments"
        if self.chance.random() < 0.1:
            self._inject()
        options = GenerateOptions.of(
            self.conf, crawldb=self.database.path, segments_dir=folder, top_n=12, num_fetchers=2
        )
        try:
            made = generate(options, ctx).data["segments"]
        except NothingDue:
            return
        segment = Segment(Path(made[0]))
        listed = read_table(segment, "crawl_generate")
        fetched = {row["url"]: self._fate(row) for row in listed if self.chance.random() < 0.9}
        expected = read_db(self.database)
        attempts, links = outcome(expected, fetched, self.now, self.setup)
        record(segment, attempts, links)
        segment.record("fetch", state="done")
        self.now += timedelta(hours=1)
        updatedb(UpdatedbOptions.of(self.conf, crawldb=self.database.path, segments=(segment.path,)), self._context())
        flat = [link for page in links.values() for link in page]
        expected = update(expected, attempts, flat, self.now, self.setup)
        assert compared(read_db(self.database)) == compared(expected)
        invertlinks(
            InvertlinksOptions.of(self.conf, linkdb=self.linkdb.path, segments=(segment.path,)), self._context()
        )
        dedup(DedupOptions.of(self.conf, crawldb=self.database.path), self._context())

    def expire(self) -> None:
        segments = segments_in(self.crawl / "segments")
        expire(ExpireOptions(self.crawl, keep_days=self.chance.choice([0, 3, 30])), self._context())
        assert len(segments_in(self.crawl / "segments")) <= len(segments) + 1

    def check(self) -> None:
        """What docs/tables.md lists under Invariants."""
        assert [str(one) for one in check_crawl(self.crawl)] == []
        rows = read_db(self.database)
        for url, row in rows.items():
            self.seen[row["status"]] += 1
            self._check_row(row, self.before.get(url))
        self.before = rows
        if self.linkdb.exists:
            for row in read_db(self.linkdb).values():
                links = [(link["from_url"], link["anchor"]) for link in row["inlinks"]]
                assert 1 <= len(links) <= 4
                assert links == sorted(set(links))
                assert len(row["scores"]) == len(links)
        for segment in segments_in(self.crawl / "segments"):
            attempted = {row["url"] for row in read_table(segment, "crawl_fetch")}
            assert {row["url"] for row in read_table(segment, "content")} <= attempted

    def _check_row(self, row: Row, before: Row | None) -> None:
        status = row["status"]
        settled = {"db_fetched", "db_notmodified", "db_redir_temp", "db_redir_perm"}
        assert row["retries"] == 0 or status not in settled
        assert status == "db_unfetched" or row["fetch_time"] is not None
        assert status != "db_unfetched" or row["retries"] < self.setup.retry_max
        assert row["fetch_time"] is None or row["first_seen"] <= row["fetch_time"] < row["due_time"]
        assert row["modified_time"] is None or row["modified_time"] <= row["fetch_time"]
        assert row["signature"] is None or len(row["signature"]) == 16
        assert 1 <= row["fetch_interval"] <= self.setup.longest
        if before is not None:
            assert row["depth"] <= before["depth"]
            assert row["first_seen"] == before["first_seen"]
            assert (row["fetch_time"] or NOW) >= (before["fetch_time"] or NOW)

    def _fate(self, row: Row) -> Row:
        chance = self.chance
        status = chance.choices(sorted(OUTCOMES), [2, 2, 1, 1, 2, 8, 1])[0]
        if status == "fetch_notmodified" and row["modified_time"] is None:
            status = "fetch_success"
        targets = [f"http://h{n % 7}.test/{n}" for n in (chance.randrange(50) for _ in range(chance.randrange(4)))]
        return {
            "status": status,
            "redirect_to": f"http://h0.test/{7 * chance.randrange(7)}",
            "new_signature": bytes([chance.randrange(9)]) * 16,
            "links": [(url, chance.randrange(8) / 64, row["depth"] + 1) for url in dict.fromkeys(targets)],
        }

    def _inject(self) -> None:
        seeds = self.crawl / "seeds.txt"
        seeds.write_text("".join(f"http://h{n}.test/{n + 7 * self.chance.randrange(7)}\n" for n in range(5)))
        inject(InjectOptions.of(self.conf, crawldb=self.database.path, seeds=(seeds,)), self._context())

    def _context(self) -> Context:
        return Context(self.conf, self.now, self.crawl)
