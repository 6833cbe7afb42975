"""One fetch list from its file to its published output: the machine with its real clock, sockets and files."""

from __future__ import annotations

import gc
import os
import selectors
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.connection import wait
from typing import Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.conf.layers import Conf
from nutchpy.core.counters import Counters
from nutchpy.extension import chains
from nutchpy.fetcher import merge, rows, settings
from nutchpy.fetcher.dns import ThreadedLookups
from nutchpy.fetcher.limits import Hung, Reporter, Throughput, TimeLimit
from nutchpy.fetcher.loop import FetchLoop, Waker
from nutchpy.fetcher.machine import Machine, Share, Source, World, build
from nutchpy.fetcher.output import SegmentOutput, unwritable
from nutchpy.fetcher.recent import recent_requests
from nutchpy.fetcher.refilter import Refilter
from nutchpy.fetcher.sink import FAILURES
from nutchpy.fetcher.status import FetchStatus
from nutchpy.fetcher.tail import TailReport, asked_by_signal
from nutchpy.fetcher.territory import TextSet
from nutchpy.parsing.pool import ParsePool
from nutchpy.storage.parts import opened, read_columns
from nutchpy.storage.segment import Segment

Wake = Callable[[], None]

_COLLECT_AFTER: Final = 10_000
"""Objects made and not yet gone."""
_FAILURES: Final = pa.array([status.value for status in FAILURES])


@dataclass(frozen=True, slots=True)
class Task:
    """One fetch list to be fetched."""

    segment: Segment
    number: int
    lists: int
    conf: Conf
    wait_lock: float = 0.0
    seconds: float | None = None
    """Until the time limit."""
    unclean: bool = False
    """Whether an earlier run of this list was killed."""
    resumed: bool = False
    """Whether this goes on with an earlier run, which had not come to its end."""
    processes: int = 1
    """How many lists are fetched at once."""


@dataclass(frozen=True, slots=True)
class ListResult:
    """What came of one fetch list. ``reason``: why it ended before everything was attempted."""

    counters: Counters = field(default_factory=Counters)
    dropped_queues: dict[str, int] = field(default_factory=dict)
    status: FetchStatus = field(default_factory=FetchStatus)
    reason: str | None = None


class Caller(Protocol):
    """Whoever wants the list fetched."""

    def fileno(self) -> int:
        """A descriptor that is readable when the caller has something to say."""
        ...

    def heed(self, loop: FetchLoop) -> bool:
        """Read what the caller says and tell the loop; False when nothing more will come by that descriptor."""
        ...

    def report(self, status: FetchStatus, counters: Counters) -> None:
        """How the fetch stands."""
        ...


def fetch_list(task: Task, caller: Caller) -> ListResult:
    """Fetch what is left of a list, holding its lock."""
    with task.segment.locked_list(task.number, task.wait_lock):
        merge.repair(task.segment, task.number)
        with seldom_collecting(), ExitStack() as stack:
            loop, result = _run(task, caller, stack)
        if not loop.interrupted:
            _merge(task, caller)
        return result


def _merge(task: Task, caller: Caller) -> None:
    try:
        merge.merge_small(task.segment, task.number, lambda: bool(wait([caller.fileno()], 0)))
    except OSError as error:
        raise unwritable(task.segment, error) from error


def tidy_list(segment: Segment, number: int, wait_lock: float) -> None:
    """End what a run that was killed had still to do to a list that is fetched whole."""
    with segment.locked_list(number, wait_lock):
        merge.repair(segment, number)
        merge.merge_small(segment, number)


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """Look for garbage in cycles less often, and not among what stands already: a fetch makes hardly any."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def remaining(segment: Segment, number: int) -> int:
    """How many URLs of a list have no crawl_fetch row yet."""
    done = fetched_urls(segment, number)
    path = segment.list_part(number)
    if not len(done):
        with opened(path) as file:
            return int(file.metadata.num_rows)
    return sum(len(piece.queue_ids) for piece in rows.list_pieces(path, "host", done))


def fetched_urls(segment: Segment, number: int) -> pa.Array:
    """The URLs of a list's crawl_fetch rows."""
    paths = [path for name, path in segment.parts("crawl_fetch") if name.list == number]
    return rows.column_array(paths, "url")


def _run(task: Task, caller: Caller, stack: ExitStack) -> tuple[FetchLoop, ListResult]:
    """Put the machine together and let it run; ``stack`` lets go of what it holds."""
    selector = stack.enter_context(selectors.DefaultSelector())
    world, output, wake = _world(task, selector, stack)
    refilter = Refilter.from_conf(task.conf)
    machine = build(task.conf, world, _pieces(task, refilter), _share(task))
    loop = FetchLoop(machine, selector, time.monotonic)
    tail = TailReport(time.monotonic(), machine.queues, machine.feeder, wake)
    machine.sources += [output, tail, *_watches(task, machine, loop, caller)]
    stack.enter_context(asked_by_signal(tail.ask))
    selector.register(caller.fileno(), selectors.EVENT_READ, _Call(caller, loop, selector))
    if machine.parsing is not None:
        selector.register(machine.parsing, selectors.EVENT_READ, machine.parsing)
    loop.run()
    output.close()
    counters = machine.counters() + (refilter.counters if refilter is not None else Counters())
    return loop, ListResult(counters, machine.sink.dropped_queues, machine.status(), loop.reason)


def _world(task: Task, selector: selectors.BaseSelector, stack: ExitStack) -> tuple[World, SegmentOutput, Wake]:
    """Real sockets, names, files and processes."""
    conf = task.conf
    waker = Waker(selector)
    stack.callback(waker.close)
    transport = chains.transport(conf)
    stack.callback(transport.close)
    transport.attach(selector, waker.wake)
    lookups = ThreadedLookups(conf.integer("fetcher.dns.threads"), waker.wake)
    stack.callback(lookups.close)
    pool = ParsePool(conf, _parsers(task)) if conf.flag("fetcher.parse") else None
    if pool is not None:
        stack.callback(pool.close)
    store_text = None if pool is None else conf.flag("parser.store.text")
    output = SegmentOutput(task.segment, task.number, settings.flush_limits(conf), waker.wake, store_text)
    stack.callback(output.abandon)
    return World(transport, lookups, output, time.monotonic, _wall, pool), output, waker.wake


def _parsers(task: Task) -> int:
    """Parsing processes of this list: the lists share what there is."""
    return max(1, (task.conf.integer("parse.workers") or os.cpu_count() or 1) // task.lists)


@dataclass(slots=True)
class _Call:
    """The caller, as the loop's selector knows it."""

    caller: Caller
    loop: FetchLoop
    selector: selectors.BaseSelector

    def notice(self) -> None:
        """Heed the caller; a descriptor that has said its last is not looked at again."""
        if not self.caller.heed(self.loop):
            self.selector.unregister(self.caller.fileno())


def _watches(task: Task, machine: Machine, loop: FetchLoop, caller: Caller) -> Iterable[Source]:
    conf, begin = task.conf, time.monotonic()
    yield Reporter(begin, machine.status, lambda status: caller.report(status, machine.counters()))
    yield Hung(settings.hung_seconds(conf), begin, machine.pipeline, machine.traffic)
    if task.seconds is not None:
        yield TimeLimit(begin + task.seconds, loop.stop)
    pages = conf.integer("fetcher.throughput.threshold.pages")
    if pages >= 0:
        first = begin + 60 * conf.number("fetcher.throughput.threshold.check.after")
        retries = conf.integer("fetcher.throughput.threshold.retries")
        yield Throughput(pages, retries, first, lambda: machine.sink.pages + machine.sink.errors, loop.stop)


def _pieces(task: Task, prepare: rows.Prepare | None) -> Iterator[rows.ListPiece]:
    column = rows.QUEUE_COLUMN[settings.queue_mode(task.conf)]
    done = fetched_urls(task.segment, task.number)
    return rows.list_pieces(task.segment.list_part(task.number), column, done, prepare)


def _share(task: Task) -> Share:
    """Whose URLs and queues are whose; known only when redirects are followed, the one thing that asks."""
    mode = settings.queue_mode(task.conf)
    recent = recent_requests(task.segment, mode, _wall(), time.monotonic(), task.unclean)
    share = Share(
        task.number,
        task.lists,
        rested=recent.rested,
        slowed=recent.slowed,
        processes=task.processes,
        failures=_failures(task, mode) if task.resumed else {},
    )
    if task.conf.integer("http.redirect.max") <= 0:
        return share
    segment, column = task.segment, rows.QUEUE_COLUMN[mode]
    own = [segment.list_part(task.number)]
    others = [path for path in segment.files("crawl_generate") if path not in own]
    urls = [*segment.files("crawl_generate"), *segment.files("crawl_fetch")]
    return replace(
        share,
        known=TextSet(rows.column_texts(urls, "url")),
        own_queues=TextSet(rows.column_texts(own, column) if others else ()),
        other_queues=TextSet(rows.column_texts(others, column)),
    )


def _failures(task: Task, mode: str) -> dict[str, int]:
    """How often each queue has failed in what is published of the list: they count on where they were."""
    column = "ip" if mode == "byIP" else rows.QUEUE_COLUMN[mode]
    failed: Counter[str] = Counter()
    for name, path in task.segment.parts("crawl_fetch"):
        if name.list == task.number:
            found = read_columns(path, [column, "protocol_status"])
            of_queue = found.filter(pc.is_in(found["protocol_status"], value_set=_FAILURES))[column]
            failed.update(queue_id for queue_id in of_queue.to_pylist() if queue_id is not None)
    return dict(failed)


def _wall() -> int:
    return time.time_ns() // 1000
