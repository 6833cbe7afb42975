"""The state machine on single rows and over long histories."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from itertools import cycle, islice
from typing import Any

import pyarrow as pa
import pytest

from nutchpy.conf.layers import Conf, Layer, defaults
from nutchpy.engine.base import statement
from nutchpy.stages.metadata import merged_pairs
from nutchpy.stages.touched import DETAILS, NEWS, TOUCHED
from nutchpy.stages.transitions import Rules, after_attempt, after_news
from nutchpy.storage.schema import TABLES
from nutchpy.testing.crawls import INTERVAL, LATER, NOW

DAY = timedelta(days=1)
A, B = b"A" * 16, b"B" * 16
URL = "http://a.test/"
MAX = 90 * 86_400
LONGER = INTERVAL * 3 // 2


def rules(**values: Any) -> Rules:
    return Rules.of(defaults().with_values(values), NOW)


def touched(*rows: dict[str, Any]) -> pa.RecordBatch:
    plain = {"url": URL, "host": "a.test", "known": False}
    full = [{**plain, **row} for row in rows]
    for row in full:
        unknown = set(row) - set(TOUCHED.names)
        assert not unknown, unknown
    return pa.RecordBatch.from_pylist(full, TOUCHED)


def transition(rows: list[dict[str, Any]], mine: Rules) -> list[dict[str, Any]]:
    """What touched rows become: those attempted first."""
    attempted = [row for row in rows if "attempt_status" in row]
    others = [row for row in rows if "attempt_status" not in row]
    changed = after_attempt(touched(*attempted), mine).to_pylist()
    return changed + after_news(touched(*others).select(NEWS), mine).to_pylist()


def known(**row: Any) -> dict[str, Any]:
    """The columns of a row of the crawldb."""
    plain = {"known": True, "domain": "a.test", "status": "db_unfetched", "due_time": NOW, "retries": 0, "depth": 0}
    return {**plain, "fetch_interval": INTERVAL, "score": 1.0, "first_seen": NOW - DAY, **row}


def attempt(status: str, **row: Any) -> dict[str, Any]:
    """The columns of an attempt; those of the row it began with have no prefix in ``row``'s names either."""
    plain = {
        "domain": "a.test",
        "fetch_time": LATER,
        "retries": 0,
        "fetch_interval": INTERVAL,
        "score": 1.0,
        "depth": 0,
    }
    values = {**plain, "protocol_status": "x", "status": status, **row}
    signature = {"new_signature": values.pop("new")} if "new" in values else {}
    return {**{f"attempt_{name}": value for name, value in values.items()}, **signature}


def link(score: float | None = 0.5, depth: int = 3, **row: Any) -> dict[str, Any]:
    return {"inlink_score": score, "inlink_depth": depth, **row}


def after(*parts: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """What one touched row becomes."""
    row: dict[str, Any] = {}
    for part in parts:
        row |= part
    return transition([row], rules(**settings))[0]


# -- one step


def check(row: dict[str, Any], **expected: Any) -> None:
    assert {name: row[name] for name in expected} == expected


BEFORE = {"modified_time": NOW - 30 * DAY, "signature": A}


def test_first_success() -> None:
    row = after(known(retries=2), attempt("fetch_success", new=A, retries=2, http_status=200))
    check(
        row, status="db_fetched", signature=A, modified_time=LATER, retries=0, fetch_interval=INTERVAL, http_status=200
    )
    check(row, due_time=LATER + 30 * DAY, fetch_time=LATER, protocol_status="x", first_seen=NOW - DAY)


def test_changed_content() -> None:
    row = after(known(**BEFORE), attempt("fetch_success", new=B, **BEFORE))
    check(row, status="db_fetched", signature=B, modified_time=LATER)


def test_same_content() -> None:
    row = after(known(**BEFORE), attempt("fetch_success", new=A, **BEFORE))
    check(row, status="db_notmodified", signature=A, modified_time=NOW - 30 * DAY)


def test_not_parsed_yet() -> None:
    row = after(known(**BEFORE), attempt("fetch_success", **BEFORE))
    check(row, status="db_fetched", signature=None, modified_time=LATER)


def test_304() -> None:
    row = after(known(**BEFORE), attempt("fetch_notmodified", etag="e", last_modified="m", retries=1, **BEFORE))
    check(
        row, status="db_notmodified", signature=A, modified_time=NOW - 30 * DAY, etag="e", last_modified="m", retries=0
    )


@pytest.mark.parametrize("kind", ["perm", "temp"])
def test_redirect(kind: str) -> None:
    row = after(known(etag="e", **BEFORE), attempt(f"fetch_redir_{kind}", etag="e", new=A, retries=1, **BEFORE))
    check(row, status=f"db_redir_{kind}", signature=None, modified_time=None, etag=None, retries=0)
    assert row["due_time"] == LATER + 30 * DAY


def test_retry() -> None:
    row = after(known(etag="x", http_status=200, **BEFORE), attempt("fetch_retry", etag="e", retries=1, **BEFORE))
    check(row, status="db_unfetched", retries=2, due_time=LATER + DAY, fetch_interval=INTERVAL, signature=A, etag="e")
    check(row, modified_time=NOW - 30 * DAY, http_status=200, protocol_status="x")


def test_retries_used_up() -> None:
    row = after(known(etag="e", **BEFORE), attempt("fetch_retry", retries=2, **BEFORE))
    check(row, status="db_gone", retries=3, fetch_interval=LONGER, due_time=LATER + 45 * DAY, signature=A)
    check(row, modified_time=None, etag=None)
    check(after(known(), attempt("fetch_retry", retries=9)), status="db_gone", retries=10)


@pytest.mark.parametrize(("status", "becomes"), [("fetch_gone", "db_gone"), ("parse_failed", "db_parse_failed")])
def test_gone(status: str, becomes: str) -> None:
    row = after(known(etag="e", **BEFORE), attempt(status, retries=2, etag="e", **BEFORE))
    check(row, status=becomes, retries=0, fetch_interval=LONGER, due_time=LATER + 45 * DAY, signature=A)
    check(row, modified_time=None, etag=None)


def test_an_attempt_at_an_unknown_url() -> None:
    row = after(attempt("fetch_success", new=A, score=2.5, depth=4))
    check(row, status="db_fetched", score=2.5, depth=4, first_seen=NOW, domain="a.test", host="a.test")


def test_an_attempt_made_before_its_url_was_known() -> None:
    row = after(attempt("fetch_success", new=A, fetch_time=NOW - DAY))
    check(row, first_seen=NOW - DAY, fetch_time=NOW - DAY)


def test_new_link() -> None:
    row = after({"url": "http://www.b.test/x", "host": "www.b.test"}, link())
    check(row, status="db_unfetched", due_time=NOW, first_seen=NOW, retries=0, fetch_interval=INTERVAL, domain="b.test")
    check(row, score=0.5, depth=3, fetch_time=None, signature=None, metadata=None)


def test_links_to_a_known_row() -> None:
    before = known(status="db_gone", retries=3, due_time=NOW + DAY, etag="e", depth=5, score=1.0, **BEFORE)
    row = after(before, link(score=0.25, depth=2))
    check(row, score=1.25, depth=2, status="db_gone", retries=3, due_time=NOW + DAY, etag="e", signature=A)
    check(after(known(depth=1), link(depth=2)), depth=1)


def test_links_and_an_attempt() -> None:
    row = after(known(score=2.0), attempt("fetch_success", new=A, score=1.0), link(score=0.5, depth=0))
    check(row, status="db_fetched", score=2.5)


def test_scores_stay_finite() -> None:
    assert after(known(score=3e38), link(score=3e38))["score"] < float("inf")
    assert after(known(score=1.0), link(score=float("nan")))["score"] == 1.0
    assert after(known(score=1.0), link(score=None))["score"] == 1.0


def test_a_redirect_brings_its_interval_to_a_new_row() -> None:
    assert after(link(inlink_interval=86_400))["fetch_interval"] == 86_400
    assert after(link(inlink_interval=99 * 86_400))["fetch_interval"] == INTERVAL
    assert after(known(), link(inlink_interval=86_400))["fetch_interval"] == 86_400
    assert after(known(fetch_time=NOW), link(inlink_interval=86_400))["fetch_interval"] == INTERVAL


def test_without_interval_the_default_counts() -> None:
    check(after(known(), attempt("fetch_gone", fetch_interval=0)), fetch_interval=LONGER)
    check(after(known(), attempt("fetch_retry", fetch_interval=0)), fetch_interval=INTERVAL)


def test_hosts_may_differ() -> None:
    tables = {"b.test": {"db.fetch.retry.max": 1, "db.fetch.interval.default": 86_400}}
    mine = Rules.of(Conf((*defaults().layers, Layer("site", {}, tables))), NOW)
    rows = [
        {"url": f"http://{host}/{kind}", "host": host, **columns}
        for host in ("a.test", "b.test")
        for kind, columns in (("new", link()), ("retry", known() | attempt("fetch_retry")))
    ]
    found = {row["url"]: row for row in transition(rows, mine)}
    check(found["http://a.test/new"], fetch_interval=INTERVAL)
    check(found["http://b.test/new"], fetch_interval=86_400)
    check(found["http://a.test/retry"], status="db_unfetched")
    check(found["http://b.test/retry"], status="db_gone")


def test_many_rows_at_once_do_not_mix() -> None:
    parts = [
        known() | attempt("fetch_gone"),
        link(),
        known(**BEFORE) | attempt("fetch_success", new=A, **BEFORE),
        known() | link(),
    ]
    rows = [{**part, "url": f"http://a.test/{n}"} for n, part in enumerate(parts * 50)]
    found = transition(rows, rules())
    alone = [transition([row], rules())[0] for row in rows[: len(parts)]]
    assert len(found) == len(rows)
    for row in found:
        expected = alone[int(row["url"].rsplit("/", 1)[1]) % len(parts)]
        assert {**row, "url": ""} == {**expected, "url": ""}


def test_no_rows() -> None:
    assert transition([], rules()) == []


# -- metadata


def test_metadata_is_laid_over_in_order() -> None:
    old = [("seed", "old"), ("a", "old"), ("b", "old")]
    parse = [{"rank": 2, "metadata": [("b", "later")]}, {"rank": 1, "metadata": [("b", "earlier"), ("c", "parse")]}]
    links = [{"rank": -0.5, "metadata": [("d", "good"), ("seed", "link")]}, {"rank": -0.1, "metadata": [("d", "bad")]}]
    found = dict(merged_pairs(old, [("a", "fetch")], parse, links) or [])
    assert found == {"seed": "old", "a": "fetch", "b": "later", "c": "parse", "d": "good"}


def test_metadata_without_news_is_left_alone() -> None:
    assert merged_pairs([("b", "1"), ("a", "2")], None, None, None) == [("b", "1"), ("a", "2")]
    assert merged_pairs(None, None, None, None) is None


def test_metadata_does_not_depend_on_the_order_of_links() -> None:
    links = [{"rank": -1.0, "metadata": [("k", value)]} for value in "cab"]
    assert merged_pairs(None, None, None, links) == merged_pairs(None, None, None, links[::-1])


def test_metadata_in_columns() -> None:
    row = after(
        known(metadata=[("seed", "s")]),
        attempt("fetch_success", metadata=[("seed", "s"), ("got", "g")]),
        {"parse_metadata": [{"rank": 0, "metadata": [("title", "t")]}]},
    )
    assert dict(row["metadata"]) == {"seed": "s", "got": "g", "title": "t"}


# -- the statement feeds what the machine wants


def test_touched_is_what_the_statement_selects() -> None:
    sql = statement("nutchpy.stages", "updatedb") + statement("nutchpy.stages", "updatedb_details")
    added = {*TABLES["crawldb"].schema.names, "known"}
    assert [name for name in TOUCHED.names if name not in added and not re.search(rf"\b{name}\b", sql)] == []
    assert set(DETAILS.schema.names) - {"bucket_key"} < set(re.findall(r"\w+", sql))


# -- long histories


class Crawl:
    """One URL fetched again and again, each time when it is due."""

    def __init__(self, schedule: str = "default", **settings: Any) -> None:
        self.rules = rules(**{"db.fetch.schedule.class": schedule, **settings})
        self.row = known()

    def fetch(self, status: str, signature: bytes | None = None, at: datetime | None = None) -> dict[str, Any]:
        names = ("modified_time", "retries", "fetch_interval", "score", "signature", "depth")
        carried = {name: self.row.get(name) for name in names}
        new = {"new": signature} if signature else {}
        step = self.row | attempt(status, **carried, fetch_time=at or self.row["due_time"], **new)
        self.row = {**known(), **transition([step], self.rules)[0]}
        return self.row


SCHEDULES = ["default", "adaptive"]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("interval", [INTERVAL, 2 * MAX])
def test_gone_stays_gone_within_the_maximum(schedule: str, interval: int) -> None:
    crawl = Crawl(schedule)  # NUTCH-1245
    crawl.row["fetch_interval"] = interval
    for _ in range(20):
        row = crawl.fetch("fetch_gone")
        assert row["status"] == "db_gone"
        assert timedelta(0) < row["due_time"] - row["fetch_time"] <= timedelta(seconds=MAX)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_retries_are_counted_and_forgotten(schedule: str) -> None:
    crawl = Crawl(schedule)  # NUTCH-578
    failures = 0
    pattern = (
        ["fetch_retry"] * 2
        + ["fetch_notmodified"]
        + ["fetch_retry"] * 5
        + ["fetch_gone"]
        + ["fetch_retry"] * 40
        + ["fetch_success"]
    )
    for status in islice(cycle(pattern), 150):
        row = crawl.fetch(status)
        failures = failures + 1 if status == "fetch_retry" else 0
        assert row["retries"] == failures
        if status == "fetch_retry":
            assert row["status"] == ("db_gone" if failures >= 3 else "db_unfetched")


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("gap", ["fetch_gone", "fetch_redir_temp", "fetch_redir_perm"])
def test_content_that_comes_back_is_fetched_not_notmodified(schedule: str, gap: str) -> None:
    crawl = Crawl(schedule)  # NUTCH-1422
    for _ in range(10):
        assert crawl.fetch("fetch_success", A)["status"] == "db_fetched"
        row = crawl.fetch(gap)
        assert (row["modified_time"], row["etag"], row["last_modified"]) == (None, None, None)


def test_the_next_fetch_is_always_ahead() -> None:
    settings = {"min_interval": 86_400.0, "max_interval": 7 * 86_400.0}  # NUTCH-1564
    crawl = Crawl("adaptive", **{f"db.fetch.schedule.adaptive.{k}": v for k, v in settings.items()})
    crawl.row["fetch_interval"] = 2 * 86_400
    time = NOW
    crawl.fetch("fetch_success", A, at=time)
    for _ in range(40):
        time += 3 * DAY
        row = crawl.fetch("fetch_notmodified", at=time)
        assert row["due_time"] > time


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_an_unchanged_page_is_sent_whole_now_and_then(schedule: str) -> None:
    """Bodies lie in segments that get deleted: a page cannot be answered with 304 for ever."""
    crawl = Crawl(schedule)
    body = crawl.fetch("fetch_success", A)["fetch_time"]
    for _ in range(40):
        conditional = crawl.row["modified_time"] is not None
        row = crawl.fetch("fetch_notmodified") if conditional else crawl.fetch("fetch_success", A)
        body = body if conditional else row["fetch_time"]
        assert row["fetch_time"] - body <= timedelta(seconds=MAX)


def test_an_interval_beyond_the_maximum_starts_anew() -> None:
    crawl = Crawl("adaptive")
    crawl.row |= {"fetch_interval": 80 * 86_400, **BEFORE}
    row = crawl.fetch("fetch_notmodified", at=LATER)  # 80 days × 1.4 is over 90
    check(row, status="db_unfetched", signature=None, modified_time=None, etag=None, retries=0)
    check(row, fetch_interval=81 * 86_400, due_time=LATER + 81 * DAY)
    check(crawl.fetch("fetch_success", A), status="db_fetched")
