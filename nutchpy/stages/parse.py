"""parse: read the pages that a segment fetched: their text, title, links and metadata.

Each page is parsed by the parser for its MIME type, in a worker process that may be killed: a page that hangs, crashes
or eats memory costs itself alone, its parse_status says so. Links are normalised and filtered. Parts are published as
they are done, so a parse that was interrupted or killed goes on where it was when the command is given again.
"""

# Row stage: content and crawl_fetch parts in, parse parts of the same name out.

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.core.counters import Counters
from nutchpy.core.status import Status
from nutchpy.core.version import VERSION
from nutchpy.parsing.jobs import RowGroupJob, table_of
from nutchpy.parsing.output import ParseParts
from nutchpy.parsing.pool import Completion, ParsePool
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument, setting
from nutchpy.storage import fs
from nutchpy.storage.parts import PartName, covered, opened, read_columns
from nutchpy.storage.segment import Segment, sweep

EXAMPLE: Final = """nutchpy parse crawl/segments/20260101120000
nutchpy parse "$segment" -D parser.timeout=10 -D db.max.outlinks.per.page=-1"""

_INTERRUPTED_EXIT: Final = 5
_AHEAD: Final = 2
"""Jobs made ahead, per worker."""
_PATIENCE: Final = 1.0


@dataclass(frozen=True)
class ParseOptions(Options):
    """What parse is told."""

    segment: Path = argument("The segment folder, such as crawl/segments/20260101120000.")
    filter: bool = setting("parse.filter.urls", "Do not filter outlinks.", "-noFilter", given=False)
    normalize: bool = setting("parse.normalize.urls", "Do not normalize outlinks.", "-noNormalize", given=False)


@dataclass(slots=True)
class _Part:
    """A part at work: answers may come in any order, rows are written in that of the content."""

    parts: ParseParts
    groups: int
    written: int = 0
    answers: dict[int, dict[str, bytes]] = field(default_factory=dict)

    def take(self, group: int, answer: dict[str, bytes]) -> None:
        """Write what can be written now."""
        self.answers[group] = answer
        while (ready := self.answers.pop(self.written, None)) is not None:
            self.parts.write({name: table_of(stream) for name, stream in ready.items()})
            self.written += 1


def run(options: ParseOptions, ctx: Context) -> Outcome:
    """Parse what the segment still has to be parsed."""
    segment = Segment(options.segment)
    _ = segment.meta  # says so when it is no segment
    if not list(_unparsed(segment)):
        nothing = "has been parsed already" if segment.parts("crawl_fetch") else "has no fetched pages"
        return Outcome(summary=[f"{segment.path} {nothing}"])
    fs.require_writable(segment.path)
    segment.record("parse", state="running", version=VERSION, start=_now())
    with ExitStack() as locks:
        for number in sorted({name.list for name in _unparsed(segment)}):
            locks.enter_context(segment.locked_list(number, ctx.wait_lock))
            sweep(segment, number)
        counters, stopped = _parse(segment, ctx)
    state = "interrupted" if stopped else "done"
    segment.record("parse", state=state, counters=dict(counters), options=options.shown(), end=_now())
    summary = [_told(counters)]
    if stopped:
        summary.append(f"stopped by {ctx.stop.reason}; give the same command again to go on")
    return Outcome(counters, exit_code=_INTERRUPTED_EXIT if stopped else 0, summary=summary)


def _unparsed(segment: Segment) -> list[PartName]:
    """Fetched parts that no parse part covers."""
    parsed = [name for name, _ in segment.parts("crawl_parse")]
    return [name for name, _ in segment.parts("crawl_fetch") if not covered(name, parsed)]


def _parse(segment: Segment, ctx: Context) -> tuple[Counters, bool]:
    """Parse all parts; whether a signal ended it early."""
    work = _Work(segment, ctx)
    try:
        with ParsePool(ctx.conf) as pool:
            while not ctx.stop.is_set():
                work.submit(pool)
                if not pool.pending:
                    return work.counters, False
                for done in _completions(pool, ctx):
                    work.take(done)
        return work.counters, True
    finally:
        work.discard()


def _completions(pool: ParsePool, ctx: Context) -> list[Completion]:
    """What completes next; nothing when a signal comes first."""
    deadline = pool.deadline()
    seconds = _PATIENCE if deadline is None else max(0.0, deadline - ctx.monotonic())
    awaited: list[Any] = [pool, ctx.stop]
    wait(awaited, min(seconds, _PATIENCE))
    return pool.step()


class _Work:
    """The parts of a run: jobs made ahead as workers need them, parts published as their last rows come."""

    def __init__(self, segment: Segment, ctx: Context) -> None:
        self._segment = segment
        self._progress = ctx.progress
        self._store_text = ctx.conf.flag("parser.store.text")
        self._names = deque(_unparsed(segment))
        self._total = sum(_successes(segment, name) for name in self._names)
        self._jobs: deque[tuple[_Part, int, RowGroupJob]] = deque()
        self._open: list[_Part] = []
        self.counters = Counters()

    def submit(self, pool: ParsePool) -> None:
        """Give the pool enough to do."""
        while pool.waiting < _AHEAD * pool.size and (self._jobs or self._names):
            if not self._jobs:
                self._begin(self._names.popleft())
                continue
            part, number, job = self._jobs.popleft()
            pool.submit(job, (part, number))

    def take(self, done: Completion) -> None:
        """Take a job's rows; publish its part when they were the last."""
        part, number = done.token
        part.take(number, done.answer)
        self.counters += done.counters
        self._end_if_whole(part)
        parsed = self.counters.family("parsed")
        self._progress.update(parsed, self._total, f"{parsed:,} of {self._total:,} pages parsed")

    def discard(self) -> None:
        """Leave nothing of the parts that are not whole."""
        for part in self._open:
            part.parts.discard()

    def _begin(self, name: PartName) -> None:
        """Open a part and make its jobs; one without pages to parse is published empty, as parsed."""
        jobs = list(self._row_group_jobs(name))
        part = _Part(ParseParts(self._segment, name), len(jobs))
        self._open.append(part)
        self._jobs.extend((part, number, job) for number, job in enumerate(jobs))
        self._end_if_whole(part)

    def _end_if_whole(self, part: _Part) -> None:
        if part.written == part.groups:
            part.parts.publish()
            self._open.remove(part)

    def _row_group_jobs(self, name: PartName) -> Iterator[RowGroupJob]:
        """A job for each row group of the content that holds a page fetched with success."""
        path = self._segment.path / "content" / str(name)
        if not path.exists():
            self._skip("no_content", _successes(self._segment, name))
            return
        fetched = read_columns(self._segment.path / "crawl_fetch" / str(name), ["url", "status", "score", "depth"])
        found = 0
        with opened(path) as file:
            for group in range(file.num_row_groups):
                rows = _joined(file.read_row_group(group, columns=["url"]), fetched)
                scores = {row: (score, depth) for row, status, score, depth in rows if status == Status.FETCH_SUCCESS}
                for status, count in Counter(status for _, status, _, _ in rows).items():
                    self._skip(status, count if status != Status.FETCH_SUCCESS else 0)
                found += len(scores)
                if scores:
                    yield RowGroupJob(path, group, scores, self._store_text)
        self._skip("no_content", _successes(self._segment, name) - found)

    def _skip(self, reason: str, count: int) -> None:
        if count > 0:
            self.counters.add(f"skipped:{reason}", count)


def _joined(urls: pa.Table, fetched: pa.Table) -> list[tuple[int, str, float, int]]:
    """Row, status, score and depth of each URL of a row group that has a crawl_fetch row."""
    places = pc.index_in(urls.column("url"), value_set=fetched.column("url"))
    columns = fetched.select(["status", "score", "depth"]).take(places.combine_chunks()).to_pydict()
    rows = zip(columns["status"], columns["score"], columns["depth"], strict=True)
    return [(row, *values) for row, values in enumerate(rows) if values[0] is not None]


def _successes(segment: Segment, name: PartName) -> int:
    """How many pages of a part were fetched with success."""
    status = read_columns(segment.path / "crawl_fetch" / str(name), ["status"]).column("status")
    return int(pc.sum(pc.equal(status, str(Status.FETCH_SUCCESS))).as_py() or 0)


def _told(counters: Counters) -> str:
    pages = counters.family("parsed")
    kinds = [(name.partition(":")[2], n) for name, n in counters.items() if name.startswith("parsed:")]
    told = ", ".join(f"{name} {n}" for name, n in sorted(kinds, key=lambda kind: -kind[1]))
    return f"{pages} pages parsed{f': {told}' if told else ''}; {counters['outlinks']} outlinks kept"


def _now() -> str:
    return datetime.now(UTC).isoformat()
