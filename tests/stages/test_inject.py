"""inject: what seed files may hold, and how seeds meet the rows there are."""

from __future__ import annotations

import gzip
import io
import logging
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nutchpy.conf.layers import Value, defaults
from nutchpy.core.errors import DamagedError, LockedError, MissingError, UsageError
from nutchpy.stages import inject
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.inject import InjectOptions
from nutchpy.stages.seed_facts import read_facts
from nutchpy.storage.database import Database
from nutchpy.testing.crawls import NOW, make_crawldb, read_db

PLAIN: dict[str, Value] = {"urlfilter.order": [], "urlnormalizer.order": [], "scoring.filter.order": []}
LATER = NOW + timedelta(days=1)


def injected(crawldb: Path, *sources: Path, settings: dict[str, Value] | None = None, **options: Any) -> Outcome:
    conf = defaults().with_values(PLAIN | (settings or {}))
    made = InjectOptions.of(conf, crawldb=crawldb, seeds=sources, **options)
    return inject.run(made, Context(conf, LATER, crawldb.parent))


def seed_file(folder: Path, text: str | bytes, name: str = "seeds.txt") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def urls(crawldb: Path) -> set[str]:
    return set(read_db(Database(crawldb, "crawldb")))


@pytest.fixture
def crawldb(tmp_path: Path) -> Path:
    return tmp_path / "抓取 目录" / "crawldb"


def test_new_rows(crawldb: Path, tmp_path: Path) -> None:
    text = (
        "# a comment\n\n"
        "http://www.example.co.uk/a\n"
        "  http://b.test/ \tnutch.score=2.5\tnutch.fetchInterval=86400\tfoo=bar baz\tpiece without\tk=v=w\n"
        "http://c.test/\tnutch.fetchInterval.fixed=3600\tnutch.fetchInterval=7\n"
        "http://d.test/\tnutch.score=much\tnutch.fetchInterval=-1\n"
    )
    outcome = injected(crawldb, seed_file(tmp_path, text))
    rows = read_db(Database(crawldb, "crawldb"))
    a, b, c, d = (rows[url] for url in sorted(rows, key=lambda url: "example" not in url))
    assert [row["host"] for row in (b, c, d)] == ["b.test", "c.test", "d.test"]
    assert (a["url"], a["host"], a["domain"]) == ("http://www.example.co.uk/a", "www.example.co.uk", "example.co.uk")
    assert (a["status"], a["due_time"], a["first_seen"], a["fetch_time"]) == ("db_unfetched", LATER, LATER, None)
    assert (a["fetch_interval"], a["score"], a["retries"], a["depth"]) == (2_592_000, 1.0, 0, 0)
    assert not a["metadata"]
    assert (b["score"], b["fetch_interval"], b["metadata"]) == (2.5, 86_400, {"foo": "bar baz", "k": "v=w"})
    assert (c["fetch_interval"], c["metadata"]) == (3600, {"fixedInterval": "3600.0"})
    assert (d["score"], d["fetch_interval"]) == (1.0, 2_592_000)
    assert outcome.counters["injected"] == outcome.counters["lines"] == 4
    assert outcome.counters["skipped:metadata"] == 2


def test_files_folders_and_gzip(crawldb: Path, tmp_path: Path) -> None:
    folder = tmp_path / "urls"
    seed_file(folder, "http://one.test/\n", "one.txt")
    seed_file(folder, gzip.compress(b"http://two.test/\n") + gzip.compress(b"http://three.test/"), "two.anything")
    seed_file(folder, "http://hidden.test/", ".hidden")
    seed_file(folder, "http://log.test/", "_SUCCESS")
    seed_file(folder / "deeper", "http://deeper.test/")
    injected(crawldb, folder, seed_file(tmp_path, "http://four.test/"))
    assert urls(crawldb) == {f"http://{n}.test/" for n in ("one", "two", "three", "four")}


def test_stdin(crawldb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(gzip.compress(b"http://a.test/\nhttp://b.test/"))))
    monkeypatch.setattr("sys.stdin", stdin)
    injected(crawldb, Path("-"))
    assert urls(crawldb) == {"http://a.test/", "http://b.test/"}


def test_no_seed_file_changes_nothing(crawldb: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for source, words in (("empty", "no seed file"), ("nowhere", "does not exist")):
        with pytest.raises(MissingError, match=words):
            injected(crawldb, tmp_path / source)
    assert not crawldb.exists()


def test_the_last_seed_of_a_url_wins(crawldb: Path, tmp_path: Path) -> None:
    first = seed_file(tmp_path, "http://a.test/\tnutch.score=9\nhttp://a.test/\tnutch.score=8\n", "1")
    second = seed_file(tmp_path, "http://a.test/\tnutch.score=3\n", "2")
    outcome = injected(crawldb, first, second)
    assert read_db(Database(crawldb, "crawldb"))["http://a.test/"]["score"] == 3.0
    assert (outcome.counters["injected"], outcome.counters["skipped:duplicate"]) == (1, 2)


OLD = {
    "url": "http://a.test/",
    "status": "db_fetched",
    "fetch_time": NOW,
    "signature": b"0123456789abcdef",
    "score": 2.5,
    "fetch_interval": 86_400,
    "metadata": {"foo": "bar", "k": "v"},
    "depth": 3,
    "retries": 1,
}


@pytest.mark.parametrize(
    ("line", "settings", "changed"),
    [
        ("", {}, {}),
        ("\tnutch.score=9\tfoo=new", {}, {}),
        ("\tfoo=new", {"db.injector.update": True}, {"metadata": {"foo": "new", "k": "v"}}),
        ("\tnutch.score=9", {"db.injector.update": True}, {"score": 9.0}),
        ("\tnutch.score=1", {"db.injector.update": True}, {}),
        ("\tnutch.fetchInterval=60", {"db.injector.update": True}, {"fetch_interval": 60}),
    ],
)
def test_known_rows_stay_or_are_merged(
    crawldb: Path, tmp_path: Path, line: str, settings: dict[str, Value], changed: dict[str, Any]
) -> None:
    database = make_crawldb(crawldb, [OLD, "http://other.test/"])
    before = read_db(database)
    outcome = injected(crawldb, seed_file(tmp_path, f"http://a.test/{line}"), settings=settings)
    expected = {**before, OLD["url"]: {**before["http://a.test/"], "depth": 0, **changed}}
    assert read_db(database) == expected
    assert (outcome.counters["injected"], outcome.counters["merged"]) == (0, 1)


@pytest.mark.parametrize("update", [False, True])
def test_overwrite_makes_a_row_new_and_beats_update(crawldb: Path, tmp_path: Path, update: bool) -> None:
    database = make_crawldb(crawldb, [OLD])
    settings: dict[str, Value] = {"db.injector.overwrite": True, "db.injector.update": update}
    injected(crawldb, seed_file(tmp_path, "http://a.test/\tfoo=new\tnutch.score=9"), settings=settings)
    row = read_db(database)["http://a.test/"]
    assert (row["status"], row["due_time"], row["fetch_time"], row["signature"]) == ("db_unfetched", LATER, None, None)
    assert (row["score"], row["fetch_interval"], row["metadata"]) == (9.0, 2_592_000, {"foo": "new"})
    assert (row["retries"], row["first_seen"]) == (0, NOW)


def test_seeds_that_change_nothing_leave_the_generation_as_it_is(crawldb: Path, tmp_path: Path) -> None:
    source = seed_file(tmp_path, "http://a.test/")
    injected(crawldb, source)
    before = Database(crawldb, "crawldb").current().path
    assert injected(crawldb, source).counters["merged"] == 1
    assert Database(crawldb, "crawldb").current().path == before
    assert not [path for path in before.parent.iterdir() if path.name.startswith("_")]


@pytest.mark.parametrize("buckets", [1, 16])
def test_buckets_hold_the_same_rows(crawldb: Path, tmp_path: Path, buckets: int) -> None:
    old = [{"url": f"http://host{n}.test/", "depth": n % 2} for n in range(100)]
    database = make_crawldb(crawldb, old, buckets)
    injected(crawldb, seed_file(tmp_path, "\n".join(f"http://host{n}.test/" for n in range(50, 200))))
    rows = read_db(database)
    assert set(rows) == {f"http://host{n}.test/" for n in range(200)}
    assert all(rows[f"http://host{n}.test/"]["depth"] == (n % 2 if n < 50 else 0) for n in range(200))
    assert len(database.current().parts) == min(buckets, len(database.current().parts)) > (buckets > 1)


def test_odd_bytes_do_not_stop_it(crawldb: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = [
        b"\xef\xbb\xbfhttp://bom.test/",
        b"http://crlf.test/\r",
        b"http://latin.test/caf\xe9",
        b"# a comment in latin-1: caf\xe9",
        b"http://long.test/" + b"x" * 100_000,
        "http://utf8.test/café".encode(),
        b"http://nul.test/\0",
        b"http://last.test/",
    ]
    source = seed_file(tmp_path, b"\n".join(lines))
    rejects = tmp_path / "rejects.tsv"
    outcome = injected(crawldb, source, rejects=rejects)
    assert urls(crawldb) == {f"http://{n}" for n in ("bom.test/", "crlf.test/", "utf8.test/café", "last.test/")}
    refused = [line.split("\t") for line in rejects.read_text().splitlines()]
    assert [(reason, where) for reason, where, _ in refused] == [
        ("rejected:encoding", f"{source}:3"),
        ("rejected:too_long", f"{source}:5"),
        ("rejected:control", f"{source}:7"),
    ]
    assert outcome.counters.family("rejected") == 3
    assert f"{source}:3: not utf-8" in caplog.text


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "shift_jis"])
def test_encoding_reads_what_is_not_utf8(crawldb: Path, tmp_path: Path, encoding: str) -> None:
    word = "表" if encoding == "shift_jis" else "é"
    text = f"http://a.test/{word}\r\nhttp://b.test/\r\n"
    injected(crawldb, seed_file(tmp_path, text.encode(encoding)), encoding=encoding)
    assert urls(crawldb) == {f"http://a.test/{word}", "http://b.test/"}


def test_a_line_without_end_takes_no_memory(crawldb: Path, tmp_path: Path) -> None:
    source = seed_file(tmp_path, b"x" * 5_000_000 + b"\nhttp://a.test/\n" + b"y" * 3_000_000)
    outcome = injected(crawldb, source)
    assert urls(crawldb) == {"http://a.test/"}
    assert outcome.counters["rejected:too_long"] == 2


def test_lines_that_cross_blocks(crawldb: Path, tmp_path: Path) -> None:
    wanted = {f"http://host.test/{n}/{'z' * (n % 50)}" for n in range(60_000)}
    source = seed_file(tmp_path, "\n".join(sorted(wanted)))
    assert source.stat().st_size > 2 << 20
    injected(crawldb, source)
    assert urls(crawldb) == wanted


def test_binaries_beside_a_text_file(crawldb: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "seeds"
    seed_file(folder, bytes(range(256)) * 1000, "logo.png")
    seed_file(folder, "http://a.test/\n".encode("utf-16"), "windows.txt")
    seed_file(folder, "http://b.test/\n", "z.txt")
    with caplog.at_level(logging.WARNING):
        outcome = injected(crawldb, folder)
    assert urls(crawldb) == {"http://b.test/"}
    assert outcome.counters["rejected:binary"] == 2
    assert "logo.png:1: not a text file" in caplog.text


def test_a_folder_of_binaries_leaves_the_crawl_unharmed(crawldb: Path, tmp_path: Path) -> None:
    database = make_crawldb(crawldb, ["http://a.test/"])
    before = database.current()
    for n in range(3):
        seed_file(tmp_path / "seeds", bytes(range(256)) * 100, f"{n}.bin")
    with pytest.raises(DamagedError, match="nothing was injected"):
        injected(crawldb, tmp_path / "seeds")
    assert database.current() == before


def test_damaged_gzip_keeps_what_could_be_read(crawldb: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole = gzip.compress("".join(f"http://host{n}.test/\n" for n in range(200_000)).encode())
    outcome = injected(crawldb, seed_file(tmp_path, whole[: len(whole) // 2]))
    assert 0 < outcome.counters["injected"] < 200_000
    assert "damaged gzip" in caplog.text


def test_unknown_encoding(crawldb: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="klingon"):
        injected(crawldb, seed_file(tmp_path, "http://a.test/"), encoding="klingon")


def test_urls_that_are_none(crawldb: Path, tmp_path: Path) -> None:
    lines = [
        "http://[bad/",
        "nonsense",
        "mailto:me@example.org",
        "javascript:alert(1)",
        "ftp://f.test/",
        "http://a.test",
    ]
    outcome = injected(crawldb, seed_file(tmp_path, "\n".join(lines)))
    assert urls(crawldb) == {"ftp://f.test/", "http://a.test"}
    assert (outcome.counters["malformed"], outcome.counters["rejected:scheme"]) == (2, 2)


def test_purge(crawldb: Path, tmp_path: Path) -> None:
    rows = [
        {"url": "http://gone.test/", "status": "db_gone"},
        {"url": "http://gone-seed.test/", "status": "db_gone"},
        "http://a.test/",
    ]
    database = make_crawldb(crawldb, rows)
    source = seed_file(tmp_path, "http://gone-seed.test/")
    outcome = injected(crawldb, source, settings={"db.update.purge.404": True})
    found = read_db(database)
    assert set(found) == {"http://gone-seed.test/", "http://a.test/"}
    assert found["http://gone-seed.test/"]["status"] == "db_unfetched"
    assert outcome.counters["purged"] == 2


RULES: dict[str, Value] = {
    "urlnormalizer.order": ["basic"],
    "urlfilter.order": ["regex"],
    "urlfilter.regex.rules": "-/private\n+.",
}


def test_seeds_are_normalized_then_filtered(crawldb: Path, tmp_path: Path) -> None:
    text = "HTTP://A.test:80/x/../page#top\nhttp://a.test/private\nhttp://a.test/x/../%70rivate\nhttp:///\n"
    source, rejects = seed_file(tmp_path, text), tmp_path / "rejects.tsv"
    outcome = injected(crawldb, source, settings=RULES, rejects=rejects)
    assert urls(crawldb) == {"http://a.test/page"}
    lines = [line.split("\t") for line in rejects.read_text().splitlines()]
    assert sorted((where, url) for _, where, url in lines) == [
        (f"{source}:2", "http://a.test/private"),
        (f"{source}:3", "http://a.test/x/../%70rivate"),
        (f"{source}:4", "http:///"),
    ]
    assert {reason.partition(":")[0] for reason, *_ in lines} == {"filtered", "malformed"}
    assert (outcome.counters.family("filtered"), outcome.counters["malformed"]) == (2, 1)
    raw = tmp_path / "raw" / "crawldb"
    injected(raw, source, settings=RULES, no_filter=True, no_normalize=True)
    assert urls(raw) == {line for line in text.splitlines() if line != "http:///"}


@pytest.mark.parametrize("buckets", [1, 16])
def test_filter_normalize_all(crawldb: Path, tmp_path: Path, buckets: int) -> None:
    rows = [
        {"url": "http://a.test/private", "score": 1},
        {"url": "http://A.test/moved", "score": 2, "status": "db_fetched", "fetch_time": NOW, "metadata": {"k": "v"}},
        {"url": "http://B.test/known", "score": 3},
        {"url": "http://b.test/known", "score": 4},
        {"url": "http://c.test/same", "score": 5},
        {"url": "http://d.test//twice", "score": 6},
        {"url": "http://d.test///twice", "score": 7},
    ]
    database = make_crawldb(crawldb, rows, buckets)
    outcome = injected(crawldb, seed_file(tmp_path, "http://seed.test/"), settings=RULES, filter_normalize_all=True)
    found = read_db(database)
    assert {url: row["score"] for url, row in found.items()} == {
        "http://a.test/moved": 2.0,
        "http://b.test/known": 4.0,
        "http://c.test/same": 5.0,
        "http://d.test/twice": 7.0,
        "http://seed.test/": 1.0,
    }
    moved = found["http://a.test/moved"]
    assert (moved["status"], moved["fetch_time"], moved["metadata"]) == ("db_fetched", NOW, {"k": "v"})
    assert (moved["host"], moved["domain"]) == ("a.test", "a.test")
    assert outcome.counters.family("filtered") == 1


def test_a_locked_crawldb(crawldb: Path, tmp_path: Path) -> None:
    database = make_crawldb(crawldb, [])
    with database.locked(), pytest.raises(LockedError):
        injected(crawldb, seed_file(tmp_path, "http://a.test/"))


def test_the_crawl_folder_instead_of_its_crawldb(crawldb: Path, tmp_path: Path) -> None:
    make_crawldb(crawldb, [])
    with pytest.raises(MissingError, match=f"did you mean {crawldb}"):
        injected(crawldb.parent, seed_file(tmp_path, "http://a.test/"))
    assert [path.name for path in crawldb.parent.iterdir()] == ["crawldb"]


@pytest.mark.parametrize(
    ("text", "score", "interval", "metadata", "ignored"),
    [
        ("", None, None, {}, []),
        ("a=b\tc", None, None, {"a": "b"}, []),
        ("=b\t = c", None, None, {}, []),
        ("nutch.score=nan", None, None, {}, ["nutch.score=nan"]),
        ("nutch.score=-1", None, None, {}, ["nutch.score=-1"]),
        ("nutch.fetchInterval=99999999999", None, None, {}, ["nutch.fetchInterval=99999999999"]),
        ("nutch.fetchInterval= 60 ", None, 60, {}, []),
        ("nutch.fetchInterval.fixed=60\tnutch.fetchInterval=7", None, 60, {"fixedInterval": "60.0"}, []),
    ],
)
def test_facts(
    text: str, score: float | None, interval: int | None, metadata: dict[str, str], ignored: list[str]
) -> None:
    facts = read_facts(text)
    assert (facts.score, facts.interval, facts.metadata, facts.ignored) == (score, interval, metadata, ignored)
