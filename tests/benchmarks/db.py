"""What the stages that work on the databases cost, through the command line, beside a plain copy of the crawldb.

    python tests/benchmarks/db.py --rows 10000000 --pages 20000 200000 --folder /data/bench

Builds a crawldb (hosts by Zipf's law, every other row fetched) and segments of so many pages with 40 links each, and
runs each stage as a process of its own, each on the crawldb as it was built. Prints wall and CPU seconds, peak memory,
bytes written, and CPU seconds as a multiple of those of a copy: one DuckDB statement that reads the crawldb and writes
it, measured in the same run. It is measured twice: as DuckDB copies by itself, which keeps the order of the rows, as
stages do, and told that any order will do, which is cheaper (the second multiple).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa

from nutchpy.conf.layers import defaults
from nutchpy.core.urls import bucket_keys, bucket_of, registered_domain
from nutchpy.engine.buckets import buckets_for
from nutchpy.engine.duckdb import DuckDBEngine
from nutchpy.parsing.feed import FeedWriter
from nutchpy.storage.database import Database
from nutchpy.storage.parts import PartName
from nutchpy.storage.schema import TABLES
from nutchpy.storage.segment import Segment, segments_in
from nutchpy.testing.crawls import INTERVAL, NOW, make_segment

LINKS = 40
FLUSH = 20_000
FETCHED = NOW - timedelta(days=30)

ZIPF = "cast(floor(exp((({i}) * 2654435761 % 4294967296) / 4294967296.0 * ln($hosts))) as integer) - 1"
URL = "'http://' || host || '/section' || ({i}) % 37 || '/some-longer-path/page-' || ({i}) || '.html'"

CRAWLDB = f"""
select
    {URL.format(i="i")} as url, host, domain, case when i % 2 = 1 then 'db_fetched' else 'db_unfetched' end as status,
    $now as due_time, case when i % 2 = 1 then $fetched end as fetch_time,
    case when i % 2 = 1 then $fetched end as modified_time, 0 as retries, $interval as fetch_interval,
    1.0 / (1 + i % 1000) as score, case when i % 2 = 1 then unhex(md5(cast(i % $distinct as varchar))) end as signature,
    3 as depth, null as http_status, null as protocol_status,
    case when i % 2 = 1 then '"' || to_hex(i) || '"' end as etag,
    null as last_modified, $now as first_seen, null as metadata
from (select range as i, {ZIPF.format(i="range")} as n from range($rows)) join hosts using (n)
where bucket = $bucket
order by host, url
"""
PAGES = f"""
select *, {URL.format(i="i")} as url from (
    select range as p, (range * 7919 + 13) % $rows as i, {ZIPF.format(i="(range * 7919 + 13) % $rows")} as n
    from range($first, $last)
) join hosts using (n)
"""
TARGETS = f"""
select p, {URL.format(i="i")} as url, host, key from (
    select *, {ZIPF.format(i="i")} as n from (
        select p, case when j < 24 then cast(floor($rows * v * v * v) as bigint)
                       else $rows + cast(floor($links / 2 * v * v) as bigint) end as i
        from (
            select p.range as p, j.range as j,
                (p.range * 40 + j.range + 1) * 2246822519 % 4294967296 / 4294967296.0 as v
            from range($first, $last) p, range({LINKS}) j
        )
    )
) join hosts using (n)
"""
FETCH = f"""
select url, host, domain, key as bucket_key,
    case when p % 20 < 17 then 'fetch_success' when p % 20 < 18 then 'fetch_gone' when p % 20 < 19 then 'fetch_retry'
         else 'fetch_notmodified' end as status,
    $later as fetch_time, case when i % 2 = 1 then $fetched end as modified_time, 0 as retries,
    $interval as fetch_interval, 0.5 as score,
    case when i % 2 = 1 then unhex(md5(cast(i % $distinct as varchar))) end as signature, 3 as depth,
    200 as http_status, 'success' as protocol_status, 20 as elapsed_ms, 10000 as bytes
from ({PAGES}) order by bucket_key, url
"""
FEED = f"""
select url, host, key as bucket_key, 'linked' as kind, cast(0.01 as float) as score, cast(4 as integer) as depth,
    cast(null as map(varchar, varchar)) as metadata, cast(null as blob) as signature
from ({TARGETS})
union all
select url, host, key, 'signature', 0, 0, null, unhex(md5('new' || p)) from ({PAGES}) where p % 20 < 17
"""
PARSED = f"""
select url, 'success' as parse_status, 'Page ' || p as title, outlinks, 'utf-8' as charset
from ({PAGES}) join (
    select p, list(struct_pack(url := url, anchor := 'link to it', rel := null)) as outlinks from ({TARGETS}) group by p
) using (p)
"""


@dataclass(frozen=True)
class World:
    """What is being built, and with what."""

    engine: DuckDBEngine
    rows: int
    hosts: pa.Table

    def params(self, sql: str, **more: object) -> dict[str, object]:
        known = {
            "rows": self.rows, "hosts": self.hosts.num_rows, "now": NOW, "later": NOW + timedelta(hours=1),
            "fetched": FETCHED, "interval": INTERVAL, "distinct": self.rows * 9 // 10, **more,
        }  # fmt: skip
        return {name: value for name, value in known.items() if f"${name}" in sql}


def world(rows: int, folder: Path) -> World:
    count = max(1_000, rows // 50)
    names = [f"www.host{n}.example{n % 50}.test" for n in range(count)]
    keys = bucket_keys(names)
    columns = {
        "n": pa.array(range(count), pa.int32()),
        "host": pa.array(names, pa.string()),
        "domain": pa.array([registered_domain(name) for name in names], pa.string()),
        "key": pa.array(keys, pa.uint32()),
    }
    return World(DuckDBEngine("50%", 0, folder / "spill"), rows, pa.table(columns))


def make_db(world: World, path: Path) -> Database:
    database = Database(path, "crawldb")
    memory = DuckDBEngine(defaults().text("db.memory.limit"), 0, path).memory
    count = buckets_for(world.rows, memory)
    hosts = world.hosts.append_column(
        "bucket", pa.array([bucket_of(key, count) for key in world.hosts["key"].to_pylist()], pa.int32())
    )
    with database.locked(), database.replacing("benchmark", NOW, 0) as draft:
        draft.meta = replace(draft.meta, buckets=count)
        for bucket in range(count):
            params = world.params(CRAWLDB, bucket=bucket)
            world.engine.write(CRAWLDB, {"hosts": hosts}, params, draft.part_path(bucket), database.table)
    return database


def make_round(world: World, folder: Path, database: Database, pages: int) -> Segment:
    segment = make_segment(folder, ["http://www.host0.example0.test/"], database, NOW + timedelta(seconds=pages))
    for flush, first in enumerate(range(0, pages, FLUSH)):
        name, more = (
            PartName(0, flush, flush),
            {"first": first, "last": min(pages, first + FLUSH), "links": pages * LINKS},
        )
        for table, sql in (("crawl_fetch", FETCH), ("parse_data", PARSED)):
            out = segment.path / table / str(name)
            out.parent.mkdir(exist_ok=True)
            selects = ", ".join(f"cast(null as integer) as {c}" for c in absent(table, sql))
            full = f"select *, {selects} from ({sql})" if selects else sql
            world.engine.write(full, {"hosts": world.hosts}, world.params(full, **more), out, TABLES[table])
        feed = FeedWriter(segment.path / "crawl_parse" / str(name))
        for batch in world.engine.read(FEED, {"hosts": world.hosts}, world.params(FEED, **more)):
            feed.write(pa.table(batch))
        feed.publish()
    segment.record("fetch", state="done")
    segment.record("parse", state="done")
    return segment


def absent(table: str, sql: str) -> Iterator[str]:
    """Columns that a statement leaves out, null in all rows; those of other types than numbers are cast anyway."""
    head = sql.partition("from (")[0]
    for column in TABLES[table].columns:
        if column.nullable and f" {column.name}" not in head.replace("\n", " "):
            yield column.name


def make_seeds(world: World, path: Path, count: int) -> Path:
    """Half of them known."""
    half = count // 2
    sql = f"""
        select {URL.format(i="i")} as url from (
            select *, {ZIPF.format(i="i")} as n from (
                select case when range < {half} then range * 3 else $rows + range end as i from range({count})
            )
        ) join hosts using (n)
    """
    with path.open("w", encoding="utf-8") as out:
        for batch in world.engine.read(sql, {"hosts": world.hosts}, world.params(sql)):
            out.writelines(f"{url}\n" for url in batch.column("url").to_pylist())
    return path


@dataclass(frozen=True)
class Cost:
    wall: float
    cpu: float
    peak: int


def measured(command: Sequence[str]) -> Cost:
    """Run a process to its end; what it and its children took."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return Cost(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss >> 10)


COPY = """
import duckdb, sys
duckdb.sql(f"set preserve_insertion_order = {sys.argv[3]}")
duckdb.sql(f"copy (select * from '{sys.argv[1]}/*.parquet') to '{sys.argv[2]}' "
           "(format parquet, compression zstd, compression_level 3, row_group_size 122880)")
"""


def written(place: Path) -> int:
    """Bytes in a folder that no older generation has too."""
    files = (path for path in place.resolve().rglob("*.parquet") if path.is_file())
    return sum(path.stat().st_size for path in files if path.stat().st_nlink == 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--pages", type=int, nargs="+", default=[20_000])
    parser.add_argument("--seeds", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--build", type=Path, default=None, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.build is not None:
        build(given.build, given.rows, given.pages, given.seeds)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        # A process begins with its parent's peak, so what takes much memory is done by another child.
        subprocess.run([sys.executable, *sys.argv, "--build", folder], check=True)
        report(Path(folder), given.pages)


def build(crawl: Path, rows: int, pages: Sequence[int], seeds: int) -> None:
    start = time.perf_counter()
    made = world(rows, crawl)
    database = make_db(made, crawl / "crawldb")
    for count in pages:
        make_round(made, crawl / "segments", database, count)
    make_seeds(made, crawl / "seeds.txt", seeds)
    buckets = database.current().meta.buckets
    print(f"{rows} rows in {buckets} buckets, made in {time.perf_counter() - start:.0f} s", flush=True)


def report(crawl: Path, pages: Sequence[int]) -> None:
    segments = segments_in(crawl / "segments")
    list_of_seeds, built = crawl / "seeds.txt", crawl / "crawldb"
    copy, unordered = (
        measured([sys.executable, "-c", COPY, str(built / "current"), str(crawl / "copy.parquet"), keep])
        for keep in ("true", "false")
    )
    for name, cost in (("copy", copy), ("copy in any order", unordered)):
        line(name, cost, (copy, unordered), (crawl / "copy.parquet").stat().st_size)
    nutchpy = [sys.executable, "-m", "nutchpy"]
    db, new, linkdb = crawl / "changed" / "crawldb", crawl / "new", crawl / "linkdb"
    stages: list[tuple[str, list[str], Path]] = [
        ("generate", ["generate", str(db), str(new), "-topN", "100000"], new),
        ("inject", ["inject", str(db), str(list_of_seeds)], db / "current"),
        ("dedup", ["dedup", str(db)], db / "current"),
    ]
    for count, segment in zip(pages, segments, strict=True):
        stages.append((f"updatedb, {count} pages", ["updatedb", str(db), str(segment.path)], db / "current"))
    for count, segment in zip(pages, segments, strict=True):
        words = ["invertlinks", str(linkdb), str(segment.path)]
        stages.append((f"invertlinks, {count} pages", words, linkdb / "current"))
    first = crawl / "first" / "crawldb"
    words = ["inject", str(first), str(list_of_seeds)]
    line("inject into nothing", measured([*nutchpy, *words, "--quiet"]), (copy, unordered), written(first / "current"))
    for name, words, place in stages:
        shutil.rmtree(db.parent, ignore_errors=True)
        shutil.copytree(built, db, symlinks=True, copy_function=os.link)
        line(name, measured([*nutchpy, *words, "--quiet"]), (copy, unordered), written(place))


def line(name: str, cost: Cost, copies: tuple[Cost, Cost], size: int) -> None:
    times = f"{cost.wall:7.1f} s wall {cost.cpu:7.1f} s CPU"
    multiples = f"{cost.cpu / copies[0].cpu:5.2f} x copy ({cost.cpu / copies[1].cpu:5.2f})"
    print(f"{name:24} {times} {multiples} {cost.peak:6} MB peak {size >> 20:6} MB out", flush=True)


if __name__ == "__main__":
    main()
