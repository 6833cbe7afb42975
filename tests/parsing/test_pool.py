"""The pool: jobs in any number, and pages that hang, crash or eat; each costs itself alone."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Content
from nutchpy.core.errors import NutchpyError
from nutchpy.parsing.jobs import PagesJob
from nutchpy.parsing.page import PageInput, ParsedPage
from nutchpy.parsing.pool import ParsePool


def page(body: str, number: int = 0) -> PageInput:
    url = f"http://a.test/{number}"
    return PageInput(Content(url, url, "text/wild", [], body.encode(), datetime(2026, 1, 1, tzinfo=UTC)))


def job(*bodies: str) -> PagesJob:
    return PagesJob([page(body, number) for number, body in enumerate(bodies)])


def drain(pool: ParsePool, seconds: float = 30) -> dict[str, list[ParsedPage]]:
    """All answers by token."""
    found: dict[str, list[ParsedPage]] = {}
    end = time.monotonic() + seconds
    while pool.pending and time.monotonic() < end:
        for done in pool.wait(1.0):
            assert done.token not in found
            found[done.token] = done.answer
    assert not pool.pending
    return found


def statuses(pages: list[ParsedPage]) -> list[str]:
    return [str(parsed.status) for parsed in pages]


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "nutchpy.parsing.worker" in child.cmdline()]


def test_many_jobs_over_several_workers(wild_conf: Conf) -> None:
    with ParsePool(wild_conf, 2) as pool:
        for number in range(40):
            pool.submit(job(f"fine {number}", f"fine {number}b"), str(number))
        found = drain(pool)
        assert len(children()) == 2
    assert {token: [parsed.text for parsed in pages] for token, pages in found.items()} == {
        str(number): [f"fine {number}", f"fine {number}b"] for number in range(40)
    }
    assert not children()


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("crash", "crashed"),
        ("leave", "crashed"),
        ("eat", "memory"),
        ("gulp", "memory"),
        ("fail", "exception"),
        ("nonsense", "exception"),
    ],
)
def test_one_bad_page_costs_itself(wild_conf: Conf, word: str, status: str) -> None:
    with ParsePool(wild_conf.with_values({"parser.memory.limit": 400 << 20})) as pool:
        pool.submit(job("fine 1", word, "fine 2"), "job")
        pool.submit(job("fine 3"), "next")
        found = drain(pool)
    assert statuses(found["job"]) == ["success", status, "success"]
    assert all(parsed.signature for parsed in found["job"])
    assert statuses(found["next"]) == ["success"]


@pytest.mark.parametrize("word", ["hang", "sleep", "stuck"])
def test_a_page_that_hangs_costs_its_time(wild_conf: Conf, word: str) -> None:
    with ParsePool(wild_conf.with_values({"parser.timeout": 1})) as pool:
        pool.submit(job("fine 1", word, "fine 2"), "job")
        [parsed] = [parsed for parsed in drain(pool)["job"] if parsed.status != "success"]
    assert (parsed.status, parsed.message) == ("timeout", "took longer than parser.timeout")


def test_several_bad_pages_in_one_job(wild_conf: Conf) -> None:
    with ParsePool(wild_conf) as pool:
        pool.submit(job("crash", "fine", "leave", "fail", "fine", "crash"), "job")
        found = drain(pool)
    assert statuses(found["job"]) == ["crashed", "success", "crashed", "exception", "success", "crashed"]


def test_what_lies_in_the_present_folder_is_no_module_of_a_worker(
    wild_conf: Conf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyarrow.py").write_text("raise SystemExit('a stray file')\n")
    monkeypatch.chdir(tmp_path)
    with ParsePool(wild_conf, 1) as pool:
        pool.submit(job("fine"), "stray")
        assert statuses(drain(pool)["stray"]) == ["success"]


def test_counters_come_once_per_page(wild_conf: Conf) -> None:
    with ParsePool(wild_conf) as pool:
        pool.submit(job("fine", "crash", "fine"), "job")
        counters = []
        while pool.pending:
            counters += [done.counters for done in pool.wait(1.0)]
    assert [dict(found) for found in counters] == [{"parsed:success": 2, "parsed:crashed": 1, "outlinks": 0}]


def test_a_worker_that_has_grown_is_replaced(wild_conf: Conf) -> None:
    with ParsePool(wild_conf.with_values({"parser.memory.limit": 1 << 20})) as pool:
        pool.submit(job("fine"), "one")
        drain(pool)
        assert not children()
        pool.submit(job("fine"), "two")
        assert statuses(drain(pool)["two"]) == ["success"]


def test_what_no_page_is_to_blame_for_is_raised(wild_conf: Conf) -> None:
    with ParsePool(wild_conf.with_values({"parse.order": ["unusable"]})) as pool:
        pool.submit(job("fine"), "job")
        with pytest.raises(NutchpyError, match="cannot be built"):
            drain(pool)
    with ParsePool(wild_conf.with_values({"parse.order": ["deadly"]})) as pool:
        pool.submit(job("fine"), "job")
        with pytest.raises(NutchpyError, match="no page is to blame"):
            drain(pool)


def test_an_event_loop_can_select_on_it(wild_conf: Conf) -> None:
    with ParsePool(wild_conf) as pool:
        assert pool.deadline() is None
        pool.submit(job("fine"), "job")
        assert pool.deadline() is not None
        done = []
        while not done:
            ready, _, _ = select.select([pool], [], [], 10)
            assert ready
            done = pool.step()
        assert statuses(done[0].answer) == ["success"]
        assert select.select([pool], [], [], 0)[0] == []


def test_close_drops_what_is_not_done(wild_conf: Conf) -> None:
    pool = ParsePool(wild_conf)
    pool.submit(job("sleep"), "job")
    pool.wait(0.5)
    assert children()
    pool.close()
    assert not children()


PARENT = """
import sys, time
sys.path.insert(0, {tests!r})
from parsing.test_pool import job
from nutchpy.conf.layers import defaults
from nutchpy.parsing.pool import ParsePool
conf = defaults().with_values(
    {{"urlfilter.order": [], "urlnormalizer.order": [], "parse.order": ["wild"], "parser.timeout": 2}}
)
lock = open({lock!r}, "w")
pool = ParsePool(conf, 3)
for word in ("sleep", "hang", "stuck"):
    pool.submit(job("fine", word), word)
while True:
    pool.wait(0.2)
    print(" ".join(str(w.process.pid) for w in pool._workers if w.board.page is not None), flush=True)
"""


def test_no_worker_outlives_a_parent_that_is_killed(wild_conf: Conf, tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    code = PARENT.format(tests=str(Path(__file__).parents[1]), lock=str(lock))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers: list[int] = []
        while len(workers) < 3:
            workers = [int(pid) for pid in parent.stdout.readline().split()]
        opened = [psutil.Process(pid).open_files() for pid in workers]
        assert not [file for files in opened for file in files if file.path == str(lock)]
        parent.send_signal(signal.SIGKILL)
    _, alive = psutil.wait_procs([psutil.Process(pid) for pid in workers if psutil.pid_exists(pid)], 10)
    assert not alive


def test_a_signal_to_the_group_leaves_workers_to_their_parent(wild_conf: Conf) -> None:
    with ParsePool(wild_conf) as pool:
        pool.submit(job("fine"), "one")
        drain(pool)
        os.kill(children()[0].pid, signal.SIGINT)
        pool.submit(job("fine"), "two")
        assert statuses(drain(pool)["two"]) == ["success"]
