"""Readers of three kinds beside two writers, for as long as it takes to believe it: by hand.

    python tests/benchmarks/readers.py --minutes 60

Two loops write, through the command line, whatever there is to write: rounds taken in by updatedb and invertlinks,
seeds, duplicates marked, databases divided and joined, segments expired. One of them waits for locks, the other ends
with 3 when it meets one. Every round and every list of seeds brings a hundred new rows, so that a database whose count
is no multiple of a hundred is one that nobody ever wrote. Readers: `nutchpy sql`, open_crawl() held for a while and
asked again, and DuckDB alone on the folder that `nutchpy path` printed. Prints what each did; ends with 1 at any error.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from nutchpy.stages.sql.crawl import open_crawl
from nutchpy.storage.database import Database
from nutchpy.storage.segment import segments_lock
from nutchpy.testing.crawls import add_fetch, add_parse, make_crawldb, make_linkdb, make_segment

STEP = 100
GRACE = 60
COUNTS = "select (select count(*) from crawldb) as urls, (select count(*) from linkdb) as targets"
TWICE = "select count(*) as n, count(distinct url) as urls from crawldb"


class WrongError(Exception):
    """A reader or a writer met what may not be."""


class Run:
    """What all threads share: the crawl, the clock, what was done and what went wrong."""

    def __init__(self, crawl: Path, seconds: float) -> None:
        self.crawl = crawl
        self.end = time.monotonic() + seconds
        self.done: Counter[str] = Counter()
        self.errors: list[str] = []
        self._number = 0
        self._lock = threading.Lock()

    def number(self) -> int:
        with self._lock:
            self._number += 1
            return self._number

    def loop(self, step: Callable[[Run, random.Random], str], seed: int) -> None:
        chance = random.Random(seed)
        while time.monotonic() < self.end and not self.errors:
            try:
                self.done[step(self, chance)] += 1
            except Exception as error:  # noqa: BLE001  whatever it is, it is what we look for
                self.errors.append(f"{step.__name__}: {type(error).__name__}: {error}")

    def command(self, *words: str, may: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "nutchpy", *words, "-D", f"db.generations.grace={GRACE}"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode not in may:
            raise WrongError(f"{' '.join(words)} ended with {ended.returncode}: {ended.stderr[-2000:]}")
        return ended


# -- writers


def patient(run: Run, chance: random.Random) -> str:
    return write(run, chance, ("--wait-lock", "900"), (0,))


def impatient(run: Run, chance: random.Random) -> str:
    return write(run, chance, (), (0, 3))


def write(run: Run, chance: random.Random, more: tuple[str, ...], may: tuple[int, ...]) -> str:
    job = chance.choice([rounds, rounds, seeds, mark, divide, expire])
    ended = [run.command(*words, *more, may=may).returncode for words in job(run, chance)]
    return f"{job.__name__}{' met a lock' if 3 in ended else ''}"


def rounds(run: Run, chance: random.Random) -> list[list[str]]:
    """A round of a hundred pages of known URLs, each with a link to a new one."""
    number, now = run.number(), datetime.now(UTC)
    pages = [f"http://h{n % 17}.test/{n}" for n in range(number % 7, number % 7 + STEP)]
    folder = run.crawl / "segments"
    with segments_lock(folder, 900):
        segment = make_segment(folder, pages, Database(run.crawl / "crawldb", "crawldb"), now)
    rows = [{"url": url, "fetch_time": now, "score": 1.0} for url in pages]
    add_fetch(segment, rows, {url: {"content": b"%d" % number, "fetch_time": now} for url in pages})
    links = {url: [f"http://new{n % 13}.test/{number}/{n}"] for n, url in enumerate(pages)}
    add_parse(segment, {url: b"%016d" % (n // 2) for n, url in enumerate(pages)}, links)
    segment.record("parse", state="done")
    return [
        ["updatedb", str(run.crawl / "crawldb"), "-dir", str(run.crawl / "segments")],
        ["invertlinks", str(run.crawl / "linkdb"), "-dir", str(run.crawl / "segments")],
    ]


def seeds(run: Run, chance: random.Random) -> list[list[str]]:
    number = run.number()
    path = run.crawl.parent / f"seeds-{number}.txt"
    path.write_text("".join(f"http://s{n % 11}.test/{number}/{n}\n" for n in range(STEP)))
    return [["inject", str(run.crawl / "crawldb"), str(path)]]


def mark(run: Run, chance: random.Random) -> list[list[str]]:
    return [["dedup", str(run.crawl / "crawldb")]]


def divide(run: Run, chance: random.Random) -> list[list[str]]:
    return [["rebucket", str(run.crawl / chance.choice(["crawldb", "linkdb"])), chance.choice(["1", "16", "64"])]]


def expire(run: Run, chance: random.Random) -> list[list[str]]:
    return [["expire", "-dir", str(run.crawl), "--keep-days", str(chance.choice([0, 0.0005]))]]


# -- readers


def sql(run: Run, chance: random.Random) -> str:
    found = run.command("sql", "-dir", str(run.crawl), "--format", "json", COUNTS)
    check(json.loads(found.stdout))
    return "sql"


def hold(run: Run, chance: random.Random) -> str:
    """One state for a while, past the grace that others are given."""
    with open_crawl(run.crawl) as crawl:
        first = crawl.sql(COUNTS).to_pylist()[0]
        bodies = crawl.sql("select count(*) as n, sum(octet_length(content)) from content").to_pylist()
        check(first)
        for _ in range(chance.randrange(1, 6)):
            time.sleep(chance.uniform(0, GRACE / 3))
            if crawl.sql(COUNTS).to_pylist()[0] != first:
                raise WrongError(f"a crawl that is held has changed: it was {first}")
            if crawl.sql("select count(*) as n, sum(octet_length(content)) from content").to_pylist() != bodies:
                raise WrongError("bodies of a crawl that is held have changed")
            (row,) = crawl.sql(TWICE).to_pylist()
            if row["n"] != row["urls"]:
                raise WrongError(f"a URL stands twice: {row}")
    return "open_crawl"


def bare(run: Run, chance: random.Random) -> str:
    """DuckDB alone, for less than the grace."""
    name = chance.choice(["crawldb", "linkdb"])
    folder = run.command("path", str(run.crawl / name)).stdout.strip()
    start, rows = time.monotonic(), json.loads((Path(folder) / "_meta.json").read_text())["rows"]
    while time.monotonic() < start + GRACE / 4:
        with duckdb.connect() as shell:
            count, urls = shell.sql(f"select count(*), count(distinct url) from '{folder}/*.parquet'").fetchall()[0]
        if not count == urls == rows or count % STEP:
            raise WrongError(f"{folder} should have {rows} rows; DuckDB finds {count}, {urls} URLs")
        time.sleep(chance.uniform(0, 2))
    return "DuckDB alone"


def check(row: dict[str, int]) -> None:
    if row["urls"] % STEP or row["targets"] % STEP:
        raise WrongError(f"no generation ever had {row}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        crawl = Path(folder) / "crawl"
        make_crawldb(crawl / "crawldb", [f"http://h{n % 17}.test/{n}" for n in range(2 * STEP)])
        make_linkdb(crawl / "linkdb")
        (crawl / "segments").mkdir()
        run = Run(crawl, given.minutes * 60)
        jobs = [patient, impatient, sql, hold, hold, bare]
        threads = [
            threading.Thread(target=run.loop, args=(job, given.seed + number)) for number, job in enumerate(jobs)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rows = Database(crawl / "crawldb", "crawldb").current().meta.rows
        generations = len(list((crawl / "crawldb" / "generations").iterdir()))
    print(f"{rows} URLs at last, {generations} generations on disk; {dict(sorted(run.done.items()))}")
    for error in run.errors:
        print(error)
    return 1 if run.errors else 0


if __name__ == "__main__":
    sys.exit(main())
