"""Databases: generations, the swap, crashes between any two steps, readers beside writers, locks."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nutchpy.core.errors import DamagedError, LockedError, MissingError, StorageError, UsageError
from nutchpy.storage import fs, lock
from nutchpy.storage.database import Database, DatabaseMeta
from nutchpy.storage.parts import PartName, write_part
from nutchpy.storage.schema import TABLES
from nutchpy.testing.crashes import every_death
from nutchpy.testing.crawls import NOW, make_crawldb, make_linkdb, read_db, rows_of

URLS = [f"http://h{n}.test/" for n in range(6)]
GRACE = 3_600.0


def version(number: int) -> list[dict[str, Any]]:
    """Rows that all bear one number: a mixture of two generations would show."""
    return [{"url": url, "retries": number} for url in URLS]


def put(database: Database, number: int, now: datetime = NOW, grace: float = GRACE, keep_old: bool = True) -> None:
    """Replace the database by version ``number``."""
    with database.locked(), database.replacing("test", now, grace, keep_old) as draft:
        write_part(draft.part_path(0), database.table, rows_of("crawldb", version(number)))


def put_rows(database: Database, rows: list[Any], table: str = "crawldb") -> None:
    with database.locked(), database.replacing("test", NOW, GRACE) as draft:
        write_part(draft.part_path(0), TABLES[table], rows_of(table, rows))


def version_of(database: Database, name: str = "current") -> int | None:
    """The one number that all rows bear; None when there is no such generation."""
    if name == "old" and not (database.path / "old").exists():
        return None
    if name == "current" and not database.exists:
        return None
    with database.reading() as generation:
        asked = replace(generation, path=(database.path / "old").resolve()) if name == "old" else generation
        rows = read_db(asked)
    assert (asked.path / "_meta.json").exists()
    assert sorted(rows) == URLS
    (number,) = {row["retries"] for row in rows.values()}
    return int(number)


def generations(database: Database) -> list[str]:
    return sorted(path.name for path in (database.path / "generations").iterdir())


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "crawldb", "crawldb")


# -- the usual way


def test_current_and_old(database: Database) -> None:
    assert not database.exists
    assert database.current_or_none() is None
    put(database, 1)
    assert (version_of(database), version_of(database, "old")) == (1, None)
    put(database, 2)
    put(database, 3)
    assert (version_of(database), version_of(database, "old")) == (3, 2)
    meta = database.current().meta
    assert (meta.table, meta.rows, meta.made_by, meta.made_at) == ("crawldb", 6, "test", NOW.isoformat())


def test_the_links_are_relative(database: Database) -> None:
    put(database, 1)
    put(database, 2)
    assert (database.path / "current").readlink().parts[0] == "generations"
    moved = database.path.rename(database.path.with_name("moved"))
    assert version_of(Database(moved, "crawldb")) == 2
    assert version_of(Database(moved, "crawldb"), "old") == 1


def test_the_uuid_stays(database: Database) -> None:
    put(database, 1)
    uuid = database.current().meta.uuid
    put(database, 2)
    assert database.current().meta.uuid == uuid
    assert make_crawldb(database.path.with_name("other")).current().meta.uuid != uuid


def test_generations_go_when_their_grace_is_over(database: Database) -> None:
    for number in range(4):
        put(database, number, NOW + timedelta(minutes=number))
    assert len(generations(database)) == 4
    put(database, 4, NOW + timedelta(minutes=62))
    assert len(generations(database)) == 4  # the first, replaced as old at minute 2, goes
    put(database, 5, NOW + timedelta(days=1))
    assert len(generations(database)) == 3
    assert (version_of(database), version_of(database, "old")) == (5, 4)


def test_without_old_the_grace_holds_too(database: Database) -> None:
    put(database, 1)
    put(database, 2, NOW + timedelta(days=10), keep_old=False)
    assert version_of(database, "old") is None
    assert len(generations(database)) == 2
    put(database, 3, NOW + timedelta(days=11), keep_old=False)
    assert len(generations(database)) == 2


def test_an_abandoned_draft_leaves_nothing(database: Database) -> None:
    put(database, 1)
    before = generations(database)
    with database.locked(), database.replacing("test", NOW, GRACE) as draft:
        draft.abandoned = True
    assert (generations(database), version_of(database)) == (before, 1)


def test_an_error_leaves_nothing(database: Database) -> None:
    put(database, 1)
    before = generations(database)
    with pytest.raises(KeyError, match="beauty"):
        put_rows(database, [{"url": URLS[0]}, {"url": URLS[1], "beauty": 1}])
    assert (generations(database), version_of(database)) == (before, 1)


def test_a_part_of_another_schema_is_not_published(database: Database) -> None:
    put(database, 1)
    with pytest.raises(DamagedError, match="is not a part of crawldb"):
        put_rows(database, URLS, "linkdb")
    assert version_of(database) == 1


def test_unchanged_buckets_are_linked(database: Database) -> None:
    put(database, 1)
    (part,) = database.current().parts
    with database.locked(), database.replacing("test", NOW, GRACE) as draft:
        draft.keep(part)
    (kept,) = database.current().parts
    assert kept != part
    assert kept.stat().st_ino == part.stat().st_ino


def test_where_links_cannot_be_made_files_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "a").write_text("x")
    fs.hard_link(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_text() == "x"


def test_published_files_take_the_umask(database: Database) -> None:
    before = os.umask(0o027)
    try:
        put(database, 1)
    finally:
        os.umask(before)
    folder = database.current().path
    modes = {path.name: path.stat().st_mode & 0o777 for path in [folder, *folder.iterdir()]}
    assert modes.pop(folder.name) == 0o750
    assert set(modes.values()) == {0o640}


# -- a current that is a real folder


@pytest.mark.parametrize("keep_old", [True, False])
def test_a_copied_database_is_read_and_becomes_a_link_at_the_next_write(
    database: Database, tmp_path: Path, keep_old: bool
) -> None:
    put(database, 1)
    put(database, 2)
    copy = tmp_path / "copy"
    shutil.copytree(database.path, copy, symlinks=False, ignore=shutil.ignore_patterns("generations"))
    copied = Database(copy, "crawldb")
    assert not (copy / "current").is_symlink()
    assert (version_of(copied), version_of(copied, "old")) == (2, 1)
    uuid = copied.current().meta.uuid
    put(copied, 3, keep_old=keep_old)
    assert (copy / "current").is_symlink()
    assert (version_of(copied), version_of(copied, "old")) == (3, 2 if keep_old else None)
    assert copied.current().meta.uuid == uuid
    put(copied, 4, keep_old=keep_old)
    assert [path.name for path in copy.iterdir() if path.name.startswith("_")] == []


# -- what is wrong is said


def test_nothing_there(database: Database, tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="there is no crawldb in .*folder does not exist"):
        database.current()
    put(database, 1)
    with pytest.raises(MissingError, match="is it the crawl folder"):
        Database(tmp_path, "crawldb").current()
    with pytest.raises(MissingError, match=r"did you mean .*/crawldb\?"), Database(tmp_path, "crawldb").locked():
        pass


def test_a_link_to_nowhere_is_damage_not_an_empty_database(database: Database) -> None:
    put(database, 1)
    shutil.rmtree(database.current().path)
    with pytest.raises(DamagedError, match=r"current points to generations/.*, which is not there$"):
        database.current()
    with pytest.raises(DamagedError, match="which is not there"):
        put(database, 2)


def test_a_link_to_nowhere_beside_a_whole_generation(database: Database) -> None:
    put(database, 1)
    put(database, 2)
    shutil.rmtree(database.current().path)
    with pytest.raises(DamagedError, match="remove it, and the next command that writes makes generations/.* current"):
        database.current()
    (database.path / "current").unlink()
    put(database, 3)
    assert len(list((database.path / "generations").iterdir())) == 2


def test_another_database(tmp_path: Path) -> None:
    make_linkdb(tmp_path / "linkdb")
    with pytest.raises(UsageError, match="is a linkdb, not a crawldb"):
        Database(tmp_path / "linkdb", "crawldb").current()


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{", "{}", '{"table": "crawldb"}', '{"table": "crawldb", "uuid": "x", "b": 1}'),
        '{"table": "crawldb", "uuid": "x", "buckets": 3}',
        '{"table": "crawldb", "uuid": "x", "buckets": "16"}',
        '{"table": "crawldb", "uuid": "x", "applied": [1]}',
        '{"table": "crawldb", "uuid": "x", "applied": {"s": {"crawl_fetch": ["a", 1]}}}',
        '{"table": "crawldb", "uuid": "x", "sums": ["a"]}',
        '{"table": "crawldb", "uuid": "x", "schema_version": "2"}',
        '{"table": "nonsense", "uuid": "x"}',
    ],
)
def test_damaged_metadata(database: Database, text: str) -> None:
    put(database, 1)
    (database.current().path / "_meta.json").write_text(text)
    with pytest.raises(DamagedError, match=r"_meta\.json"):
        database.current()


def test_nothing_is_built_on_fewer_buckets_than_there_are_parts_of(tmp_path: Path) -> None:
    database = make_crawldb(tmp_path / "crawldb", [f"http://h{n}.test/" for n in range(50)], buckets=16)
    path = database.current().path / "_meta.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "buckets": 1}))
    with (
        pytest.raises(DamagedError, match="belongs to none of the 1 buckets"),
        database.locked(),
        database.replacing("test", NOW, grace=0),
    ):
        pass


def test_metadata_of_a_newer_nutchpy(database: Database) -> None:
    put(database, 1)
    path = database.current().path / "_meta.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema_version": 99, "new": "field"}))
    with pytest.raises(DamagedError, match="newer than this nutchpy"):
        database.current()


def test_a_missing_manifest(database: Database) -> None:
    put(database, 1)
    (database.current().path / "_meta.json").unlink()
    with pytest.raises(DamagedError, match=r"has no _meta\.json"):
        database.current()


@pytest.mark.parametrize(
    ("error", "becomes"),
    [
        (OSError(errno.ENOSPC, "Error writing bytes to file"), r"generations/_\S+ cannot be written: No space left"),
        (OSError(errno.ENOSPC, "No space left on device", "part-7"), "part-7"),
        (FileNotFoundError(errno.ENOENT, "Failed to open local file"), "Failed to open local file"),
    ],
)
def test_a_full_disk_is_named_where_the_error_does_not(database: Database, error: OSError, becomes: str) -> None:
    put(database, 1)
    named = error.errno == errno.ENOSPC and error.filename is None
    with (
        pytest.raises(StorageError if named else type(error), match=becomes),
        database.locked(),
        database.replacing("test", NOW, grace=0),
    ):
        raise error
    assert not list((database.path / "generations").glob("_*"))


def test_check_names_the_damaged_part(database: Database) -> None:
    put(database, 1)
    generation = database.current()
    assert generation.check() == 6
    generation.parts[0].write_bytes(b"PAR1 no")
    with pytest.raises(DamagedError, match=r"part-00000\.parquet"):
        generation.check()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(database: Database) -> None:
    put(database, 1)
    database.path.chmod(0o555)
    try:
        assert version_of(database) == 1
        with pytest.raises(StorageError, match="may not be written by this user"):
            put(database, 2)
    finally:
        database.path.chmod(0o755)


# -- applied parts


def test_applied_parts_are_kept_as_ranges() -> None:
    meta = DatabaseMeta("crawldb", "x")
    for flush in (0, 1, 2, 5):
        meta = meta.with_applied("s", "crawl_fetch", [str(PartName(0, flush, flush))])
    meta = meta.with_applied("s", "crawl_fetch", [str(PartName(1, 3, 3))])
    assert meta.applied == {
        "s": {"crawl_fetch": [str(PartName(0, 0, 2)), str(PartName(0, 5, 5)), str(PartName(1, 3, 3))]}
    }


@pytest.mark.parametrize(
    ("part", "known"), [((0, 0, 1), True), ((0, 1, 1), True), ((0, 0, 2), False), ((1, 0, 0), False)]
)
def test_a_part_is_applied_under_any_name(part: tuple[int, int, int], known: bool) -> None:
    meta = DatabaseMeta("crawldb", "x").with_applied(
        "s", "crawl_fetch", ["part-00000-00000.parquet", "part-00000-00001.parquet"]
    )
    assert meta.has_applied("s", "crawl_fetch", PartName(*part)) is known
    assert not meta.has_applied("other", "crawl_fetch", PartName(*part))
    assert not meta.has_applied("s", "crawl_parse", PartName(*part))


# -- death at any step


def _plain(database: Database, tmp_path: Path) -> None:
    put(database, 0)
    put(database, 1)


def _copied(database: Database, tmp_path: Path) -> None:
    """``current`` and ``old`` are real folders."""
    source = Database(tmp_path / "source", "crawldb")
    _plain(source, tmp_path)
    shutil.copytree(source.path, database.path, symlinks=False, ignore=shutil.ignore_patterns("generations"))


def _empty(database: Database, tmp_path: Path) -> None:
    """There is no database yet."""


@pytest.mark.parametrize("keep_old", [True, False])
@pytest.mark.parametrize("prepare", [_plain, _copied, _empty])
def test_death_between_any_two_steps(tmp_path: Path, prepare: Callable[[Database, Path], None], keep_old: bool) -> None:
    before = None if prepare is _empty else 1

    def attempt(step: int) -> Callable[[], None]:
        (tmp_path / str(step)).mkdir()
        prepare(database(step), tmp_path / str(step))
        return lambda: put(database(step), 2, NOW + timedelta(days=9), keep_old=keep_old)

    def database(step: int) -> Database:
        return Database(tmp_path / str(step) / "crawldb", "crawldb")

    for step, finished in every_death(attempt):
        _check_after_death(database(step), before, finished)
    assert step > 10


def _check_after_death(database: Database, before: int | None, finished: bool) -> None:
    found = version_of(database)
    assert found in ({2} if finished else {before, 2})
    assert version_of(database, "old") in {None, 0, before}
    put(database, 3, NOW + timedelta(days=10))
    # A first generation that died whole, but before it had a name, is taken up by the next writer.
    assert version_of(database) == 3
    assert version_of(database, "old") in ({found} if found else {None, 2})
    left = [path.name for folder in (database.path, database.path / "generations") for path in folder.iterdir()]
    assert [name for name in left if name.startswith("_")] == []


KILLED_WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from storage.test_database import put
from nutchpy.storage.database import Database
database = Database(Path(sys.argv[1]), "crawldb")
print("ready", flush=True)
for number in range(2, 1_000_000):
    put(database, number, grace=0.0)
"""


def test_a_writer_killed_at_random_moments(database: Database) -> None:
    put(database, 1)
    tests = str(Path(__file__).parents[1])
    for pause in (0.05, 0.21, 0.33):
        command = [sys.executable, "-c", KILLED_WRITER, str(database.path), tests]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": tests}) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(pause)
            writer.send_signal(signal.SIGKILL)
        assert version_of(database) is not None
        put(database, 1)
        assert version_of(database) == 1


# -- readers beside writers


def test_readers_see_one_generation_each(database: Database) -> None:
    put(database, 0)
    seen: list[int] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                with database.reading() as generation:
                    rows = read_db(generation)
                    (number,) = {row["retries"] for row in rows.values()}
                    seen.append(number)
        except BaseException as error:  # noqa: BLE001  handed to the test
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(1, 60):
        put(database, number, NOW + timedelta(days=number), grace=0.0)
    done.set()
    for reader in readers:
        reader.join()
    assert errors == []
    assert len(set(seen)) > 1
    assert len(generations(database)) <= 5


def test_a_generation_being_read_is_kept(database: Database) -> None:
    put(database, 1)
    with database.reading() as generation:
        for number in range(2, 6):
            put(database, number, NOW + timedelta(days=number), grace=0.0)
        assert {row["retries"] for row in read_db(generation).values()} == {1}
    put(database, 6, NOW + timedelta(days=9), grace=0.0)
    assert not generation.path.exists()


# -- locks


def test_a_second_writer_is_told_of_the_first(database: Database) -> None:
    with database.locked():
        with pytest.raises(
            LockedError, match=rf"locked by pid {os.getpid()} on .* since .*wait with --wait-lock"
        ) as error:
            put(database, 1)
        assert error.value.exit_code == 3
    put(database, 1)


def test_waiting_for_the_lock(database: Database) -> None:
    put(database, 1)
    entered, leaving = threading.Event(), threading.Event()

    def hold() -> None:
        with database.locked():
            entered.set()
            time.sleep(0.3)
            leaving.set()

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait()
    with database.locked(wait=10):
        assert leaving.is_set()
    holder.join()


def test_a_lock_dies_with_its_holder(database: Database) -> None:
    put(database, 1)
    script = (
        "import sys, time; from pathlib import Path; from nutchpy.storage.database import Database\n"
        "with Database(Path(sys.argv[1]), 'crawldb').locked(): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(database.path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert f"pid {holder.pid} " in lock.holder(database.path / ".lock")
        with pytest.raises(LockedError, match=f"pid {holder.pid} "):
            put(database, 2)
        holder.kill()
    put(database, 3)
    assert version_of(database) == 3


def test_a_lost_current_is_put_back(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    database = Database(tmp_path / "crawldb", "crawldb")
    put(database, 1)
    put(database, 2, NOW + timedelta(days=1))
    for link in ("current", "old"):  # what rsync without -l, or an unzip, leaves out
        (database.path / link).unlink()
    with pytest.raises(MissingError, match="its link current is lost"):
        database.current()
    with database.locked():
        assert version_of(database) == 2
    assert "its newest generation" in caplog.text


def test_nothing_is_built_on_flipped_bits(tmp_path: Path) -> None:
    database = Database(tmp_path / "crawldb", "crawldb")
    put(database, 1)
    part = database.current().parts[0]
    original = part.read_bytes()
    for at in range(4, len(original), len(original) // 20):
        flipped = bytearray(original)
        flipped[at] ^= 0x10
        part.write_bytes(flipped)
        with pytest.raises(DamagedError, match=part.name):
            put(database, 2)
    part.write_bytes(original)
    put(database, 2)
    assert version_of(database) == 2
