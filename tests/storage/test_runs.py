"""runs.jsonl: whole lines, whoever writes, whatever crashed."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path

from nutchpy.storage.runs import RUNS_FILE, append_run, last_run, read_runs


def test_records_in_order(tmp_path: Path) -> None:
    assert list(read_runs(tmp_path)) == []
    assert last_run(tmp_path) is None
    append_run(tmp_path, {"stage": "inject", "path": Path("抓取"), "start": datetime(2026, 3, 1, tzinfo=UTC)})
    append_run(tmp_path, {"stage": "generate"})
    assert list(read_runs(tmp_path)) == [
        {"stage": "inject", "path": "抓取", "start": "2026-03-01 00:00:00+00:00"},
        {"stage": "generate"},
    ]
    assert last_run(tmp_path) == {"stage": "generate"}


def test_a_line_cut_by_a_crash_costs_itself_alone(tmp_path: Path) -> None:
    append_run(tmp_path, {"n": 1})
    with (tmp_path / RUNS_FILE).open("ab") as file:
        file.write(b'{"n": 2, "options": {"seeds": "\xe6\x8a')
    assert last_run(tmp_path) == {"n": 1}
    append_run(tmp_path, {"n": 3})
    assert [record["n"] for record in read_runs(tmp_path)] == [1, 3]
    assert last_run(tmp_path) == {"n": 3}


def test_several_writers(tmp_path: Path) -> None:
    def write(writer: int) -> None:
        for n in range(20):
            append_run(tmp_path, {"writer": writer, "n": n, "padding": "x" * 5_000})

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = list(read_runs(tmp_path))
    assert len(records) == 80
    assert all([r["n"] for r in records if r["writer"] == writer] == list(range(20)) for writer in range(4))


def test_the_last_record_is_found_from_the_end(tmp_path: Path) -> None:
    for n in range(50):
        append_run(tmp_path, {"n": n, "padding": "x" * 100})
    assert last_run(tmp_path, tail=150) == {"n": 49, "padding": "x" * 100}
    assert last_run(tmp_path, tail=20) is None


def test_a_long_file_makes_way_for_a_new_one(tmp_path: Path) -> None:
    """Several processes at once turn it over once; the lines of both files are read, older ones first."""

    def write(writer: int) -> None:
        for n in range(25):
            append_run(tmp_path, {"writer": writer, "n": n, "padding": "x" * 100}, most_bytes=8_000)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = list(read_runs(tmp_path))
    assert len(records) == 100
    assert all([r["n"] for r in records if r["writer"] == writer] == list(range(25)) for writer in range(4))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs.jsonl", "runs.jsonl.1"]
    for n in range(60):
        append_run(tmp_path, {"n": n, "padding": "x" * 100}, most_bytes=8_000)
    assert len(list(read_runs(tmp_path))) < 160
    (tmp_path / RUNS_FILE).unlink()
    assert last_run(tmp_path) is not None
