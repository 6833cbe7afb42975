"""expire: delete old segments, keep what is still worth something.

Exactly one of --keep-days, --keep-versions and --max-bytes. Only segments go that were fetched, parsed, and taken in
by updatedb and invertlinks to the end. The newest body of every page that is not gone stays: it is moved, with its text
and links, into a compacted segment, which also remembers every attempt, so that the view history loses no row. --only
content takes old bodies out of the segments and leaves the segments.

--keep-days N: segments made more than N days ago go. --keep-versions N: bodies go of which the URL has N newer ones,
and segments none of whose bodies stay but newest ones. --max-bytes S: the oldest segments go until the rest takes no
more than S (10GB, 500MB, …).
"""

# Relation stage: SQL numbers the bodies and moves rows; the plan is Python.

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal

from nutchpy.core.counters import Counters
from nutchpy.core.errors import LockedError, UsageError
from nutchpy.core.version import VERSION
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.expire.compact import compact, parts_of, prune
from nutchpy.stages.expire.survey import Held, Survey, size_of, survey
from nutchpy.stages.options import Options, flag
from nutchpy.storage import fs
from nutchpy.storage.database import Database, DatabaseMeta
from nutchpy.storage.segment import (
    Segment,
    SegmentDraft,
    all_segments,
    creating,
    next_name,
    segments_in,
    segments_lock,
    segments_unread,
)

EXAMPLE: Final = """nutchpy expire -dir crawl --keep-days 90
nutchpy expire -dir crawl --keep-versions 3 --only content
nutchpy expire -dir crawl --max-bytes 200GB --dry-run"""

_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)
_POWERS: Final = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_MOST_DAYS: Final = 365_000
_MOST_COMPACTED: Final = 8
"""So many compacted segments beside each other; then they become one."""


@dataclass(frozen=True)
class ExpireOptions(Options):
    """See the module."""

    dir: Path = flag("The crawl folder.", Path("crawl"), "-dir", metavar="CRAWL")
    keep_days: float | None = flag("Segments older than this go.", None, "--keep-days", metavar="N")
    keep_versions: int | None = flag("Bodies go that have so many newer ones.", None, "--keep-versions", metavar="N")
    max_bytes: str | None = flag("The oldest segments go until so much is left.", None, "--max-bytes", metavar="S")
    only: Literal["content"] | None = flag("Delete nothing but bodies.", None, "--only")
    dry_run: bool = flag("Say what would go, and delete nothing.", False, "--dry-run")

    def crawl_dir(self) -> Path:
        """As it is named."""
        return self.dir


def run(options: ExpireOptions, ctx: Context) -> Outcome:
    """Hold every lock that guards a segment's rows, decide, move, delete."""
    rule = _rule(options)
    folder = options.dir / "segments"
    databases = [Database(options.dir / name, name) for name in ("crawldb", "linkdb")]
    crawldb = databases[0].current()
    with ExitStack() as held, segments_lock(folder, ctx.wait_lock), _workplace(folder) as work:
        present = [database for database in databases if database.exists]
        for database in present:
            held.enter_context(database.locked(ctx.wait_lock))
        crawldb = databases[0].current()
        found = survey(ctx.engine, segments_in(folder), crawldb, databases[1].current_or_none(), work, rule)
        compacted, pruned, waiting = _plan(options, ctx, found)
        if options.dry_run:
            return _outcome(options, compacted, pruned, waiting, Counters(), found)
        counters = Counters()
        before = sum(map(size_of, all_segments(folder)))
        if pruned:
            _prune(options, ctx, found, pruned, folder)
        if compacted:
            name = next_name(folder, ctx.now)
            record = {"version": VERSION, "start": ctx.now.isoformat(), "options": options.shown()}
            with creating(folder, name, crawldb.meta.uuid, ctx.now) as draft:
                compact(found, compacted, draft, work, record)
                for database in present:
                    database.amend(lambda meta, draft=draft: _knowing(meta, draft))  # type: ignore[misc]
        _bury(folder, present)
        counters.add("bytes_freed", max(0, before - sum(map(size_of, all_segments(folder)))))
    return _outcome(options, compacted, pruned, waiting, counters, found)


# -- private, in calling order


def _rule(options: ExpireOptions) -> dict[str, Any]:
    asked = [options.keep_days is not None, options.keep_versions is not None, options.max_bytes is not None]
    if sum(asked) != 1:
        raise UsageError("expire takes exactly one of --keep-days, --keep-versions and --max-bytes")
    if options.keep_versions is not None and options.keep_versions < 1:
        raise UsageError(f"--keep-versions must be above 0, not {options.keep_versions}")
    if options.keep_days is not None and not 0 <= options.keep_days <= _MOST_DAYS:
        raise UsageError(f"--keep-days is a number from 0 to {_MOST_DAYS}, not {options.keep_days:g}")
    if options.max_bytes is not None:
        bytes_of(options.max_bytes)
    return {"versions": options.keep_versions or 1, "live_only": options.keep_versions is None}


def bytes_of(text: str) -> int:
    """A size such as ``10GB``, ``1.5 TiB`` or ``1000``."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"a size is a number with KB, MB, GB or TB, such as 10GB, not {text!r}")
    number, unit, binary = match.groups()
    return int(float(number) * (1024 if binary else 1000) ** _POWERS[unit.upper()])


@contextmanager
def _workplace(folder: Path) -> Iterator[Path]:
    """A folder to work in, under the segments' lock; what a killed command left goes first."""
    for left in folder.glob("_*"):
        fs.remove(left)
    work = fs.make_folder(folder / "_expire.tmp")
    try:
        yield work
    finally:
        fs.remove(work)


def _plan(options: ExpireOptions, ctx: Context, found: Survey) -> tuple[list[Held], list[Held], list[Held]]:
    """Segments that go, segments that only lose bodies, segments that would do either but are still needed."""
    asked = list(_asked(options, ctx, found))
    waiting = [one for one in asked if one.waits_for is not None]
    mine = [one for one in asked if one.waits_for is None]
    if options.only == "content":
        return [], [one for one in mine if one.kept < one.bodies], waiting
    if options.keep_versions is None:
        return mine, [], waiting
    goes = [one for one in mine if one.older == 0]
    return goes, [one for one in mine if one.older > 0], waiting


def _asked(options: ExpireOptions, ctx: Context, found: Survey) -> Iterator[Held]:
    """The segments that the rule is about."""
    if options.max_bytes is not None:
        yield from _oldest(found.held, bytes_of(options.max_bytes))
        return
    compacted = [one for one in found.held if one.compacted]
    many = len(compacted) >= _MOST_COMPACTED and options.only is None
    for one in found.held:
        half = one.kept * 2 <= one.bodies
        if one.compacted and options.only is None:
            if many or (half and one.bodies):
                yield one
        elif options.keep_versions is not None:
            if one.kept < one.bodies:
                yield one
        elif ctx.now - one.created > timedelta(days=options.keep_days or 0):
            yield one


def _oldest(held: Sequence[Held], limit: int) -> Iterator[Held]:
    """The oldest segments that have something to lose, until the rest fits."""
    excess = sum(one.size for one in held) - limit
    for one in held:
        if excess > 0 and one.gain > 0:
            yield one
            excess -= one.gain if one.waits_for is None else 0


def _prune(options: ExpireOptions, ctx: Context, found: Survey, pruned: Sequence[Held], folder: Path) -> None:
    tables = ["content"] if options.only == "content" else ["content", "parse_text", "parse_data"]
    with segments_unread(folder) as unread:
        if not unread:
            raise LockedError(f"{folder} is being read (sql, snapshot, a notebook); try again when that has ended")
        for number, one in enumerate(pruned):
            prune(found, one, tables, lambda done=number: ctx.progress.update(done, len(pruned)))  # type: ignore[misc]


def _knowing(meta: DatabaseMeta, draft: SegmentDraft) -> DatabaseMeta:
    """With the parts of the compacted segment as taken in."""
    for table, names in parts_of(draft, meta.table).items():
        meta = meta.with_applied(draft.uuid, table, names)
    return meta


def _bury(folder: Path, databases: Sequence[Database]) -> None:
    """Delete segments that another stands for, unless somebody reads; and let the databases forget those deleted."""
    live = segments_in(folder)
    dead = [segment for segment in all_segments(folder) if segment.path not in {one.path for one in live}]
    with segments_unread(folder) as unread:
        for segment in dead if unread else ():
            aside = folder / f"_{segment.name}.dead"
            fs.rename(segment.path, aside)
            fs.remove(aside)
    left = {segment.meta.uuid for segment in all_segments(folder)}
    gone = {uuid for segment in live for uuid in segment.meta.replaces} - left
    for database in databases:
        database.amend(lambda meta: replace(meta, applied={u: t for u, t in meta.applied.items() if u not in gone}))


def _outcome(
    options: ExpireOptions,
    compacted: Sequence[Held],
    pruned: Sequence[Held],
    waiting: Sequence[Held],
    counters: Counters,
    found: Survey,
) -> Outcome:
    told = [(one, "deleted") for one in compacted] + [(one, "pruned") for one in pruned]
    told += [(one, f"kept: {one.waits_for} has not had all of it") for one in waiting]
    data = [
        {"segment": str(one.segment.path), "what": what, "bodies": one.bodies, "kept": one.kept, "bytes": one.size}
        for one, what in told
    ]
    counters.add("segments", len(compacted))
    for name, chosen in (("bodies_moved", compacted), ("bodies_pruned", pruned)):
        counters.add(name, sum(one.kept if name == "bodies_moved" else one.bodies - one.kept for one in chosen))
    would = "would be " if options.dry_run else ""
    told_in_all = (
        f"{len(compacted)} of {len(found.held)} segments {would}deleted, {counters['bodies_moved']} bodies "
        f"{would}moved, {counters['bodies_pruned']} bodies {would}taken out of {len(pruned)} segments"
    )
    lines = [f"{row['what']}\t{row['segment']}\t{row['kept']} of {row['bodies']} bodies stay" for row in data]
    return Outcome(counters, lines=lines, data={"segments": data, "counters": dict(counters)}, summary=[told_in_all])


__all__ = ["EXAMPLE", "ExpireOptions", "Segment", "bytes_of", "run"]
