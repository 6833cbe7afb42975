"""What updatedb and dedup cost: CPU seconds and memory on a crawldb and a segment made for it.

python tests/benchmarks/db.py --rows 1000000 --pages 20000 --links 800000 --buckets 1
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.conf.layers import defaults
from nutchpy.core.urls import bucket_key, bucket_of, registered_domain
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.dedup import DedupOptions
from nutchpy.stages.dedup import run as dedup
from nutchpy.stages.updatedb import UpdatedbOptions
from nutchpy.stages.updatedb import run as updatedb
from nutchpy.storage.database import Database
from nutchpy.storage.parts import PartName, write_part
from nutchpy.storage.schema import TABLES
from nutchpy.storage.segment import Segment
from nutchpy.testing.crawls import INTERVAL, NOW, add_fetch, make_segment, rows_of

HOSTS = [f"www.host{n}.example{n % 50}.test" for n in range(10_000)]
KEYS = [bucket_key(host) for host in HOSTS]
DOMAINS = [registered_domain(host) for host in HOSTS]
OUTCOMES = ("fetch_success", "fetch_gone", "fetch_retry", "fetch_redir_perm", "fetch_notmodified")
FLUSH = 5_000


def place(number: int) -> int:
    return (number * 2_654_435_761) % len(HOSTS)


def url(number: int) -> str:
    return f"http://{HOSTS[place(number)]}/section{number % 37}/some-longer-path/page-{number}.html"


def table_of(name: str, columns: dict[str, Any], count: int) -> pa.Table:
    """A table from columns given as values, lists or nothing (null)."""
    arrays = []
    for field in TABLES[name].schema:
        value = columns.get(field.name)
        arrays.append(pa.array(value if isinstance(value, list) else [value] * count, field.type))
    return pa.table(arrays, schema=TABLES[name].schema.remove_metadata())


def crawldb_rows(numbers: Iterable[int]) -> tuple[pa.Table, pa.Array]:
    """Rows, every other one fetched, and their bucket keys."""
    ids = list(numbers)
    places = [place(n) for n in ids]
    before = [NOW - timedelta(days=30) if n % 2 else None for n in ids]
    columns = {
        "url": [url(n) for n in ids],
        "host": [HOSTS[p] for p in places],
        "domain": [DOMAINS[p] for p in places],
        "status": ["db_fetched" if n % 2 else "db_unfetched" for n in ids],
        "due_time": NOW,
        "first_seen": NOW,
        "fetch_time": before,
        "modified_time": before,
        "retries": 0,
        "fetch_interval": INTERVAL,
        "score": [1 / (1 + n % 1_000) for n in ids],
        "signature": [(n % 150_000).to_bytes(16, "big") if n % 2 else None for n in ids],
        "depth": 3,
        "etag": [f'"{n:x}"' if n % 2 else None for n in ids],
    }
    return table_of("crawldb", columns, len(ids)), pa.array([KEYS[p] for p in places], pa.uint32())


def make_db(path: Path, rows: int, buckets: int) -> Database:
    database = Database(path, "crawldb")
    with database.locked(), database.replacing("benchmark", NOW, 0) as draft:
        draft.meta = replace(draft.meta, buckets=buckets)
        pieces: dict[int, list[pa.Table]] = {}
        for first in range(0, rows, 250_000):
            table, keys = crawldb_rows(range(first, min(rows, first + 250_000)))
            numbers = pa.array([bucket_of(key, buckets) for key in keys.to_pylist()])
            for bucket in pc.unique(numbers).to_pylist():
                pieces.setdefault(bucket, []).append(table.filter(pc.equal(numbers, bucket)))
        for bucket, tables in pieces.items():
            sorted_rows = pa.concat_tables(tables).sort_by([("host", "ascending"), ("url", "ascending")])
            write_part(draft.part_path(bucket), database.table, sorted_rows)
    return database


def make_round(folder: Path, database: Database, rows: int, pages: int, links: int) -> Segment:
    chance = random.Random(3)
    segment = make_segment(folder, [url(0)], database)
    ids = chance.sample(range(rows), pages)
    for flush, first in enumerate(range(0, pages, FLUSH)):
        mine = ids[first : first + FLUSH]
        attempts = [attempt(n, chance) for n in mine]
        add_fetch(segment, attempts, flush=flush)
        fetched = [row["url"] for row in attempts if row["status"] == "fetch_success"]
        signed = [{"url": u, "kind": "signature", "signature": chance.randbytes(16)} for u in fetched]
        feed = [linked(links * len(mine) // pages, rows, chance), rows_of("crawl_parse", signed)]
        table = pa.concat_tables(feed).sort_by([("bucket_key", "ascending"), ("url", "ascending")])
        write_part(segment.path / "crawl_parse" / str(PartName(0, flush, flush)), TABLES["crawl_parse"], table)
    return segment


def attempt(number: int, chance: random.Random) -> dict[str, Any]:
    (status,) = chance.choices(OUTCOMES, [85, 5, 4, 3, 3])
    seen = {"signature": b"0" * 16, "modified_time": NOW - timedelta(days=30)} if number % 2 else {}
    target = url(number + 7) if status == "fetch_redir_perm" else None
    return {"url": url(number), "status": status, "score": 0.5, "depth": 3, "redirect_to": target, **seen}


def linked(count: int, rows: int, chance: random.Random) -> pa.Table:
    """Links, most to known URLs, some to very many of them."""
    known = [int(rows * chance.random() ** 3) for _ in range(count * 6 // 10)]
    new = [rows + int(count / 2 * chance.random() ** 2) for _ in range(count - len(known))]
    places = [place(n) for n in (*known, *new)]
    columns = {
        "url": [url(n) for n in (*known, *new)],
        "host": [HOSTS[p] for p in places],
        "bucket_key": [KEYS[p] for p in places],
        "kind": "linked",
        "score": [chance.random() / 40 for _ in places],
        "depth": 4,
    }
    return table_of("crawl_parse", columns, count)


def measured(name: str, run: Callable[[], Outcome]) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    counters = dict(run().counters)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        f"{name}: {time.process_time() - cpu:.1f} CPU s, {time.perf_counter() - wall:.1f} s, peak {used} MB; {counters}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("rows", 1_000_000), ("pages", 20_000), ("links", 800_000), ("buckets", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    conf = defaults()
    with tempfile.TemporaryDirectory() as folder:
        crawl = Path(folder)
        database = make_db(crawl / "crawldb", given.rows, given.buckets)
        segment = make_round(crawl / "segments", database, given.rows, given.pages, given.links)
        update = UpdatedbOptions.of(conf, crawldb=database.path, segments=(segment.path,))
        measured("updatedb", lambda: updatedb(update, Context(conf, NOW, crawl)))
        mark = DedupOptions.of(conf, crawldb=database.path)
        measured("dedup", lambda: dedup(mark, Context(conf, NOW, crawl)))


if __name__ == "__main__":
    main()
