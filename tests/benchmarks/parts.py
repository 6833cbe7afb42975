"""Run ``nutchpy`` as its arguments say, and print on stderr where its CPU time went. Used by fetch.py.

    python parts.py PAGES fetch SEGMENT … >/dev/null

A sampler on the process's CPU clock (1 ms) looks at the innermost function of a part that the loop's thread is in; what
libcurl and Arrow do counts for whoever called them. Other threads are asked by their own clocks.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from types import FrameType

from nutchpy.cli.main import main

_PARTS = {
    "plugins/protocol/": "transport",
    "extension/decoder.py": "transport",
    "fetcher/traffic.py": "transport",
    "fetcher/queue": "queues and feeder",
    "fetcher/feeder.py": "queues and feeder",
    "fetcher/rows.py": "queues and feeder",
    "fetcher/robots.py": "robots.txt",
    "fetcher/handlers/robots.py": "robots.txt",
    "fetcher/handlers/": "pipeline",
    "fetcher/pipeline.py": "pipeline",
    "fetcher/sink.py": "sink and rows",
    "fetcher/output.py": "sink and rows",
    "fetcher/": "loop",
}
_CLOCKS_EVERY = 50
"""Samples of the loop's thread to one look at the others' clocks."""


class Sampler:
    """Counts samples of the loop's thread by part, and the time of the others by name."""

    def __init__(self) -> None:
        self.samples: Counter[str] = Counter()
        self.threads: dict[int, tuple[str, float]] = {}
        self._looks = 0

    def look(self, _signal: int, frame: FrameType | None) -> None:
        """One sample."""
        self.samples[part_of(frame)] += 1
        self._looks += 1
        if self._looks % _CLOCKS_EVERY == 0:
            for thread in threading.enumerate():
                if thread is not threading.main_thread() and thread.ident is not None:
                    with suppress(OSError):  # it has just ended
                        seconds = time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
                        self.threads[thread.native_id or 0] = thread.name, seconds

    def report(self, total: float, main_thread: float, pages: int) -> None:
        """A line per part; what no thread of Python's did is libraries' own."""
        count = sum(self.samples.values()) or 1
        shares = Counter({part: main_thread * n / count for part, n in self.samples.items()})
        for name, seconds in self.threads.values():
            shares[f"thread {name.partition('-')[0].partition('_')[0]}"] += seconds
        shares["libraries' threads"] = max(0.0, total - sum(shares.values()))
        for part, seconds in sorted(shares.items(), key=lambda pair: -pair[1]):
            line = f"    {part:20} {seconds / pages * 1000:7.3f} CPU s per 1,000 pages {seconds / total:6.1%}"
            print(line, file=sys.stderr)


def part_of(frame: FrameType | None) -> str:
    """The part that the innermost frame of one belongs to; before and after the loop it is neither."""
    found, inside = "", False
    while frame is not None:
        name = frame.f_code.co_filename.rpartition("/nutchpy/")[2]
        found = found or next((part for prefix, part in _PARTS.items() if name.startswith(prefix)), "")
        inside = inside or name == "fetcher/loop.py"
        frame = frame.f_back
    return found if inside else "start and end"


if __name__ == "__main__":
    pages = int(sys.argv.pop(1))
    sampler = Sampler()
    signal.signal(signal.SIGPROF, sampler.look)
    signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
    try:
        main()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        sampler.report(time.process_time(), time.thread_time(), pages)
