"""What a row of the crawldb becomes: Nutch's table of state transitions, through the real inject and updatedb."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from conformance import corpora

from nutchpy.conf.layers import Conf, defaults
from nutchpy.stages.context import Context
from nutchpy.stages.inject import InjectOptions
from nutchpy.stages.inject import run as inject
from nutchpy.stages.updatedb import UpdatedbOptions
from nutchpy.stages.updatedb import run as updatedb
from nutchpy.testing.crawls import NOW, add_fetch, add_parse, make_crawldb, make_segment, read_db

EXPECTED_FAILURES: dict[str, str] = {}
SCHEDULES = ("default", "adaptive")
LAST_TIME = NOW - timedelta(days=30)
SEEN = {"db_fetched", "db_notmodified", "db_duplicate"}


def url_of(case: corpora.Case) -> str:
    return f"http://case{case['id']}.test/"


def row_of(case: corpora.Case) -> dict[str, Any]:
    """The row before, as an earlier round left it."""
    status = case["from"]
    fetched = status != "db_unfetched"
    return {
        "url": url_of(case),
        "status": status,
        "fetch_time": LAST_TIME if fetched else None,
        "modified_time": LAST_TIME if status in SEEN else None,
        "signature": b"0" * 16 if status in SEEN else None,
        "retries": case.get("retries_since_fetch", 0),
    }


def attempt_of(case: corpora.Case) -> dict[str, Any]:
    before = row_of(case) if case["from"] != "not_in_db" else {"url": url_of(case)}
    carried = {name: before[name] for name in ("modified_time", "signature", "retries") if name in before}
    return {"url": url_of(case), "status": case["fetch"], **carried}


def run_updatedb(tmp_path: Path, cases: list[corpora.Case], conf: Conf) -> dict[str, Any]:
    database = make_crawldb(tmp_path / "crawldb", [row_of(case) for case in cases if case["from"] != "not_in_db"])
    segment = make_segment(tmp_path / "segments", [url_of(case) for case in cases], database)
    attempts = [attempt_of(case) for case in cases if case["fetch"]]
    add_fetch(segment, [*attempts, "http://linking.test/"])
    links = [url_of(case) for case in cases for _ in range(case["inlinks"])]
    fetched = {row["url"]: b"1" * 16 for row in attempts if row["status"] == "fetch_success"}
    add_parse(segment, fetched, {"http://linking.test/": links})
    updatedb(UpdatedbOptions.of(conf, crawldb=tmp_path / "crawldb", segments=(segment.path,)), Context(conf, NOW))
    return read_db(database)


def run_inject(tmp_path: Path, cases: list[corpora.Case], conf: Conf) -> dict[str, Any]:
    database = make_crawldb(tmp_path / "crawldb", [row_of(case) for case in cases if case["from"] != "not_in_db"])
    (tmp_path / "seeds.txt").write_text("\n".join(map(url_of, cases)))
    plain = {"no_filter": True, "no_normalize": True}
    options = InjectOptions.of(conf, crawldb=tmp_path / "crawldb", seeds=(tmp_path / "seeds.txt",), **plain)
    inject(options, Context(conf, NOW))
    return read_db(database)


def outcomes(tmp_path: Path, schedule: str) -> dict[str, str]:
    """Case id → status afterwards."""
    conf = defaults().with_values({"db.fetch.schedule.class": schedule})
    cases = corpora.load("crawldb_nutch_states")
    found: dict[str, str] = {}
    for retry_max in sorted({case.get("retry_max", 3) for case in cases}):
        conf = conf.with_values({"db.fetch.retry.max": retry_max})
        for op, run in (("updatedb", run_updatedb), ("inject", run_inject)):
            mine = [case for case in cases if case["op"] == op and case.get("retry_max", 3) == retry_max]
            rows = run(tmp_path / f"{op}-{retry_max}", mine, conf) if mine else {}
            found |= {case["id"]: rows[url_of(case)]["status"] for case in mine}
    return found


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_states(tmp_path: Path, schedule: str) -> None:
    for op in ("updatedb-3", "inject-3"):
        (tmp_path / op).mkdir()
    found = outcomes(tmp_path, schedule)
    corpora.check("crawldb_nutch_states", lambda case: found[case["id"]] == case["expected"], EXPECTED_FAILURES)
