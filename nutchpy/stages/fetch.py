"""fetch: request the pages of a segment's fetch lists.

Each host, domain or address is a queue of its own, asked by one request at a time, with fetcher.server.delay between
the end of one and the next; robots.txt is obeyed. One process works on each fetch list, -threads requests in flight in
each. Pages and what came of every attempt are published every half minute, so a fetch that was interrupted or killed
goes on where it was when the command is given again. A URL that was not attempted has no row and stays due.

Given URLs in place of a segment, it fetches these by the same rules and prints what would be stored.
"""

# Live stage: the machine is in nutchpy/fetcher; here it is set up per list, and what came of it is told.

from __future__ import annotations

import logging
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from nutchpy.core.counters import Counters
from nutchpy.core.errors import UsageError
from nutchpy.core.version import VERSION
from nutchpy.fetcher import settings
from nutchpy.fetcher.lists import ListResult, Task, fetch_list, remaining, tidy_list
from nutchpy.fetcher.loop import FetchLoop
from nutchpy.fetcher.status import FetchStatus, StatusLine
from nutchpy.fetcher.supervisor import Supervisor
from nutchpy.stages import fetch_urls
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, above, argument, flag, setting
from nutchpy.storage import fs
from nutchpy.storage.segment import Segment

_log = logging.getLogger(__name__)

EXAMPLE: Final = """nutchpy fetch crawl/segments/20260101120000 -threads 50
nutchpy fetch --json https://example.org/
nutchpy fetch "$segment" -D fetcher.server.delay=1 -D fetcher.timelimit.mins=60"""

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_INTERRUPTED_EXIT: Final = 5
_ORPHANS_SECONDS: Final = 10.0
_SHOW_SECONDS: Final = 0.9
_NOT_PUBLIC: Final = (
    "their servers' addresses are not public; http.filter.ipaddress.exclude names what is refused, "
    "[] refuses nothing (for servers of your own)"
)
_WHY: Final = {
    "timelimit": "the time limit (fetcher.timelimit.mins) has come",
    "throughput": "fetching had become slower than fetcher.throughput.threshold.pages",
    "exceptions": "their queues failed fetcher.max.exceptions.per.queue times",
    "robots_deferred": "their robots.txt could not be had",
    "retry_after": "their servers asked for more time than fetcher.retry.after.max",
    "interrupted": "the fetch was stopped",
}


@dataclass(frozen=True)
class FetchOptions(Options):
    """What fetch is told."""

    segment: str | Path = argument("The segment folder, such as crawl/segments/20260101120000; or a URL.")
    urls: tuple[str, ...] = argument("More URLs.", (), metavar="URL")
    head: bool = flag("Of URLs: print the heads of request and answer.", False)
    body: bool = flag("Of URLs: print the bodies.", False)
    threads: int = setting("fetcher.threads.fetch", "Requests in flight, per fetch list.", "-threads", metavar="N")
    parse: bool = setting("fetcher.parse", "Do not parse pages while fetching.", "-noParsing", given=False)

    @property
    def single(self) -> bool:
        """Whether URLs are asked for, and no segment."""
        return _SCHEME.match(str(self.segment)) is not None

    def recorded(self) -> bool:
        """URLs that are only looked at change no crawl."""
        return not self.single

    def crawl_dir(self) -> Path | None:
        """The folder that the segment's folder lies in."""
        return None if self.single else above(Path(self.segment), 2)


def run(options: FetchOptions, ctx: Context) -> Outcome:
    """Fetch what the segment still has to be fetched."""
    settings.check(ctx.conf)
    if options.single:
        return fetch_urls.run([str(options.segment), *options.urls], ctx, head=options.head, body=options.body)
    if options.urls or options.head or options.body:
        raise UsageError("fetch takes one segment, or URLs; --head and --body go with URLs")
    segment = Segment(Path(options.segment))
    lists = segment.meta.lists
    work = {number: count for number in range(lists) if (count := remaining(segment, number))}
    before = segment.meta.state("fetch")
    if not work and before == "done":
        return _nothing_left(segment)
    fs.require_writable(segment.path)
    unclean = before == "running"
    segment.record("fetch", state="running", version=VERSION, start=_now())
    # Workers of a run that was killed just now need a moment to publish what they have and to end.
    wait = max(ctx.wait_lock, _ORPHANS_SECONDS if unclean else 0.0)
    for number in set(range(lists)) - set(work):
        tidy_list(segment, number, wait)
    if not work:
        segment.record("fetch", state="done", end=_now())
        return _nothing_left(segment)
    processes = min(len(work), ctx.conf.integer("fetcher.processes") or os.cpu_count() or 1)
    resumed = before in ("running", "interrupted")
    tasks = [
        Task(segment, number, lists, ctx.conf, wait, _time_limit(ctx), unclean, resumed, processes) for number in work
    ]
    results = _fetch_all(tasks, processes, ctx, sum(work.values()))
    return _conclude(segment, options, ctx, results)


def _nothing_left(segment: Segment) -> Outcome:
    return Outcome(Counters({"lists": 0}), summary=[f"{segment.path}: every URL has been fetched already"])


def _time_limit(ctx: Context) -> float | None:
    minutes = ctx.conf.integer("fetcher.timelimit.mins")
    return 60.0 * minutes if minutes >= 0 else None


def _fetch_all(tasks: Sequence[Task], processes: int, ctx: Context, total: int) -> list[ListResult]:
    """One list in this process, several in a process each."""
    show = _Show(ctx, total)
    grace = ctx.conf.number("fetcher.stop.grace")
    if len(tasks) == 1:
        return [fetch_list(tasks[0], _Here(ctx, grace, show))]
    return Supervisor(tasks, processes, grace, ctx.stop, ctx.monotonic, show).run()


class _Show:
    """Hands snapshots to the progress, in Nutch's words, once a second however many processes report."""

    def __init__(self, ctx: Context, total: int) -> None:
        self._ctx = ctx
        self._total = total
        self._line = StatusLine(ctx.monotonic())
        self._next = 0.0

    def __call__(self, status: FetchStatus) -> None:
        now = self._ctx.monotonic()
        if now >= self._next:
            self._next = now + _SHOW_SECONDS
            self._ctx.progress.update(status.pages + status.errors, self._total, self._line.text(status, now))


class _Here:
    """The caller of a list that is fetched in this process: the run's own signals and progress."""

    def __init__(self, ctx: Context, grace: float, show: _Show) -> None:
        self._ctx = ctx
        self._grace = grace
        self._show = show

    def fileno(self) -> int:
        """Readable once a signal has come."""
        return self._ctx.stop.fileno()

    def heed(self, loop: FetchLoop) -> bool:
        """Stop; that signal is all there will be."""
        loop.stop("interrupted", self._grace)
        return False

    def report(self, status: FetchStatus, _counters: Counters) -> None:
        """Show it."""
        self._show(status)


def _conclude(segment: Segment, options: FetchOptions, ctx: Context, results: Sequence[ListResult]) -> Outcome:
    """Write into the segment what the fetch came to, and say it."""
    counters = sum((result.counters for result in results), Counters({"lists": len(results)}))
    interrupted = ctx.stop.reason is not None
    facts: dict[str, Any] = {"counters": dict(counters), "options": options.shown(), "end": _now()}
    segment.record("fetch", state="interrupted" if interrupted else "done", **facts)
    summary = [_fetched(counters), *_dropped(counters, results)]
    if refused := counters["fetched:address_refused"]:
        _log.warning("%d URLs refused, to be tried again later: %s", refused, _NOT_PUBLIC)
    if interrupted:
        summary.append(f"stopped by {ctx.stop.reason}; give the same command again to go on")
    return Outcome(counters, exit_code=_INTERRUPTED_EXIT if interrupted else 0, summary=summary)


def _fetched(counters: Counters) -> str:
    attempts = counters.family("fetched")
    kinds = [(name.partition(":")[2], n) for name, n in counters.items() if name.startswith("fetched:")]
    told = ", ".join(f"{name} {n}" for name, n in sorted(kinds, key=lambda kind: -kind[1]))
    return f"{attempts} URLs attempted" + (f": {told}" if told else "")


def _dropped(counters: Counters, results: Sequence[ListResult]) -> list[str]:
    """Why URLs were left for a later round, and whose."""
    lines = []
    for name, count in counters.items():
        family, _, reason = name.partition(":")
        if family == "dropped":
            lines.append(f"{count} URLs not attempted, they stay due: {_WHY.get(reason, reason)}")
    queues = {queue: count for result in results for queue, count in result.dropped_queues.items()}
    worst = sorted(queues.items(), key=lambda pair: -pair[1])[:10]
    if worst:
        more = f" and {len(queues) - len(worst)} more" if len(queues) > len(worst) else ""
        lines.append("queues given up: " + ", ".join(f"{queue} ({count})" for queue, count in worst) + more)
    return lines


def _now() -> str:
    return datetime.now(UTC).isoformat()
