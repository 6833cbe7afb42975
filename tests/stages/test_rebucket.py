"""rebucket, and databases in any number of buckets: the stages make the same of them."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import MissingError, UsageError
from nutchpy.stages.context import Context
from nutchpy.stages.dedup import DedupOptions
from nutchpy.stages.dedup import run as dedup
from nutchpy.stages.generate import GenerateOptions
from nutchpy.stages.generate import run as generate
from nutchpy.stages.inject import InjectOptions
from nutchpy.stages.inject import run as inject
from nutchpy.stages.invertlinks import InvertlinksOptions
from nutchpy.stages.invertlinks import run as invertlinks
from nutchpy.stages.rebucket import RebucketOptions
from nutchpy.stages.rebucket import run as rebucket
from nutchpy.stages.updatedb import UpdatedbOptions
from nutchpy.stages.updatedb import run as updatedb
from nutchpy.storage.database import Database
from nutchpy.storage.segment import Segment
from nutchpy.testing.crawls import LATER, add_fetch, add_parse, make_crawldb, make_linkdb, read_db, read_table

URLS = [f"http://h{n % 41}.test/{n}" for n in range(400)]


def context(tmp_path: Path, **values: Any) -> Context:
    return Context(defaults().with_values({name.replace("_", "."): v for name, v in values.items()}), LATER, tmp_path)


def divide(database: Path, buckets: int | None, ctx: Context) -> None:
    rebucket(RebucketOptions(database, buckets), ctx)


def test_rebucket_says_what_it_did(tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", URLS)
    ctx = context(tmp_path)
    before, uuid = read_db(database), database.current().meta.uuid
    (told,) = rebucket(RebucketOptions(database.path, 16), ctx).summary
    assert told == f"{database.path}: 400 rows in 16 buckets, which were 1"
    assert len(database.current().parts) > 10
    (told,) = rebucket(RebucketOptions(database.path, 16), ctx).summary
    assert told.endswith("has 16 buckets already")
    rebucket(RebucketOptions(database.path, None), ctx)
    meta = database.current().meta
    assert (meta.buckets, meta.uuid, meta.made_by, meta.rows) == (1, uuid, "test", 400)
    assert read_db(database) == before


def test_a_linkdb_too(tmp_path: Path) -> None:
    database = make_linkdb(
        tmp_path / "linkdb", [{"url": u, "inlinks": [{"from_url": "a", "anchor": "b"}]} for u in URLS]
    )
    before = read_db(database)
    divide(database.path, 64, context(tmp_path))
    assert (database.current().meta.buckets, read_db(database)) == (64, before)


def test_what_is_no_number_and_no_database(tmp_path: Path) -> None:
    make_crawldb(tmp_path / "crawldb", URLS)
    with pytest.raises(UsageError, match="one of 1, 16, 64, not 15"):
        divide(tmp_path / "crawldb", 15, context(tmp_path))
    with pytest.raises(MissingError, match="is it the crawl folder"):
        divide(tmp_path, 16, context(tmp_path))


def test_many_seeds_make_a_database_of_many_buckets(tmp_path: Path) -> None:
    """As many as memory asks for; the number is not known before the seeds are counted."""
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("".join(f"http://h{n}.test/\n" for n in range(70_000)))
    ctx = context(tmp_path, db_memory_limit="60MB", db_threads=1)
    inject(InjectOptions.of(ctx.conf, crawldb=tmp_path / "crawldb", seeds=(seeds,)), ctx)
    database = Database(tmp_path / "crawldb", "crawldb")
    assert (database.current().meta.buckets, database.current().meta.rows) == (16, 70_000)


# -- equal results


def fetched(segment: Segment, chance: random.Random) -> None:
    """Two flushes of what came of the segment's URLs, with links and signatures that repeat."""
    urls = [row["url"] for row in read_table(segment, "crawl_generate")]
    chance.shuffle(urls)
    for flush, mine in enumerate((urls[: len(urls) // 2], urls[len(urls) // 2 :])):
        states = ["fetch_success", "fetch_success", "fetch_gone", "fetch_retry", "fetch_redir_perm"]
        rows = [{"url": url, "status": chance.choice(states), "score": chance.random()} for url in mine]
        for row in rows:
            if row["status"] == "fetch_redir_perm":
                row["redirect_to"] = chance.choice(URLS) + "/moved"
        add_fetch(segment, rows, flush=flush)
        good = [str(row["url"]) for row in rows if row["status"] == "fetch_success"]
        links = {
            url: [
                {"url": f"http://t{chance.randrange(60)}.test/{chance.randrange(9)}", "score": chance.random() / 7,
                 "anchor": f"a{chance.randrange(5)}"}
                for _ in range(12)
            ]
            for url in good
        }  # fmt: skip
        add_parse(segment, {url: bytes([chance.randrange(20)]) * 16 for url in good}, links, flush=flush)


def two_rounds(folder: Path, buckets: int, ctx: Context) -> tuple[Any, ...]:
    chance = random.Random(7)
    folder.mkdir()
    (folder / "seeds.txt").write_text("".join(f"{url}\tnutch.score={n % 13}\n" for n, url in enumerate(URLS)))
    crawldb, linkdb, conf = folder / "crawldb", folder / "linkdb", ctx.conf
    lists = []
    for number in range(2):
        inject(InjectOptions.of(conf, crawldb=crawldb, seeds=(folder / "seeds.txt",)), ctx)
        divide(crawldb, buckets, ctx)
        options = GenerateOptions.of(conf, crawldb=crawldb, segments_dir=folder / "segments", top_n=150, num_fetchers=3)
        generate(options, ctx)
        segment = Segment(sorted((folder / "segments").glob("2*"))[number])
        lists.append(read_table(segment, "crawl_generate"))
        fetched(segment, chance)
        updatedb(UpdatedbOptions.of(conf, crawldb=crawldb, segments=(segment.path,)), ctx)
        invertlinks(InvertlinksOptions.of(conf, linkdb=linkdb, segments=(segment.path,)), ctx)
        divide(linkdb, buckets, ctx)
        dedup(DedupOptions.of(conf, crawldb=crawldb), ctx)
    databases = [Database(crawldb, "crawldb").current(), Database(linkdb, "linkdb").current()]
    assert [one.meta.buckets for one in databases] == [buckets, buckets]
    for part in (part for one in databases for part in one.parts):
        keys = pq.ParquetFile(part).read(["host", "url"]).to_pylist()
        assert keys == sorted(keys, key=lambda row: (row["host"], row["url"]))
    return (lists, *(read_db(one) for one in databases))


def test_equal_results_with_any_buckets_threads_and_memory(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Pairs of settings; with --rounds, whatever the number, all combinations."""
    expected = two_rounds(tmp_path / "1", 1, context(tmp_path, db_threads=2, db_memory_limit="80%"))
    assert len(expected[1]) > 600
    assert {"db_duplicate", "db_gone", "db_fetched", "db_redir_perm"} <= {row["status"] for row in expected[1].values()}
    every = itertools.product((1, 16, 64), (1, 2), ("512MB", "80%"))
    some = ((1, 1, "512MB"), (16, 2, "512MB"), (64, 1, "80%"))
    for buckets, threads, memory in every if request.config.getoption("rounds") else some:
        ctx = context(tmp_path, db_threads=threads, db_memory_limit=memory)
        assert two_rounds(tmp_path / f"{buckets}-{threads}-{memory}", buckets, ctx) == expected
