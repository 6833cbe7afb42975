"""A compacted segment: the bodies that stay of segments that go, and what these knew of attempts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from nutchpy.engine.base import Engine, Files, statement
from nutchpy.stages.expire.survey import Held, Survey, places, table_of
from nutchpy.storage import fs
from nutchpy.storage.parts import PartName, check_part, write_part
from nutchpy.storage.schema import TABLES
from nutchpy.storage.segment import SegmentDraft

_MOVED, _SIGNATURES, _ATTEMPTS = (statement(__package__, name) for name in ("moved", "signatures", "attempts"))
_PART: Final = PartName(0, 0, 0)
APPLIED: Final = {"crawldb": ("crawl_fetch", "crawl_parse"), "linkdb": ("parse_data",)}
"""Database → the tables of a segment that it takes in."""


def compact(survey: Survey, gone: Sequence[Held], draft: SegmentDraft, work: Path, record: dict[str, Any]) -> None:
    """Fill a segment with what stays of those that go."""
    kept = survey.kept(work)
    for name in ("content", "parse_text", "parse_data", "crawl_fetch"):
        inputs = {"rows": table_of(name, gone), "places": places(gone, name), "kept": kept}
        _write(survey.engine, _MOVED, inputs, draft, name)
    inputs = {"crawl_parse": table_of("crawl_parse", gone), "places": places(gone, "crawl_parse"), "kept": kept}
    rows = _write(survey.engine, _SIGNATURES, inputs, draft, "crawl_parse")
    if not rows and _path(draft, "crawl_fetch").exists():
        write_part(_path(draft, "crawl_parse"), TABLES["crawl_parse"], TABLES["crawl_parse"].schema.empty_table())
    inputs = {
        "crawl_fetch": table_of("crawl_fetch", gone),
        "crawl_parse": table_of("crawl_parse", gone),
        "places": places(gone, "crawl_fetch", "crawl_parse"),
        "attempts": Files(TABLES["attempts"], [path for one in gone for path in one.segment.files("attempts")]),
    }
    _write(survey.engine, _ATTEMPTS, inputs, draft, "attempts")
    draft.lists = 0
    draft.replaces = [one.meta.uuid for one in gone]
    draft.stages = {"fetch": {"state": "done"}, "parse": {"state": "done"}, "expire": {"state": "done", **record}}


def parts_of(draft: SegmentDraft, database: str) -> dict[str, list[str]]:
    """What a database must not take in from it, since it had it from the segments before."""
    return {name: [str(_PART)] for name in APPLIED[database] if _path(draft, name).exists()}


def _path(draft: SegmentDraft, table: str) -> Path:
    return draft.aside / table / str(_PART)


def _write(engine: Engine, sql: str, inputs: dict[str, Any], draft: SegmentDraft, table: str) -> int:
    path = _path(draft, table)
    fs.make_folder(path.parent)
    rows = engine.write(sql, inputs, {}, path, TABLES[table])
    if rows:
        fs.fsync_file(path)
        fs.fsync_folder(path.parent)
    return rows


def prune(survey: Survey, one: Held, tables: Sequence[str], tick: Callable[[], None]) -> int:
    """Take the rows of bodies that go out of some tables of a segment, part by part; how many bodies went."""
    stays_sql, pruned_sql = statement(__package__, "stays"), statement(__package__, "pruned")
    params, gone = {**survey.rule, "segment": one.number}, 0
    for name in tables:
        for path in one.segment.files(name):
            rows = Files(TABLES[name], [path])
            stays = survey.engine.table(stays_sql, {"rows": rows, "bodies": survey.bodies}, params)
            count = check_part(path, TABLES[name]) - stays.num_rows
            if count:
                _replace(survey.engine, pruned_sql, {"rows": rows, "stays": stays}, path, name)
            gone += count if name == "content" else 0
            tick()
    return gone


def _replace(engine: Engine, sql: str, inputs: dict[str, Any], path: Path, table: str) -> None:
    aside = path.with_name(f"_{path.name}.pruned.tmp")
    if engine.write(sql, inputs, {}, aside, TABLES[table]):
        fs.fsync_file(aside)
        fs.rename(aside, path)
    else:
        fs.remove(path)
