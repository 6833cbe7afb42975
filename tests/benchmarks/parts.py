"""Run ``nutchpy`` as its arguments say, and print where its CPU time went, part by part. Used by fetch.py.

A sampler on the process's CPU clock (1 ms) looks at the innermost function of a part that is being run; what libcurl
and Arrow do counts for whoever called them. The writing thread is asked by its own clock.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import Counter
from types import FrameType

from nutchpy.cli.main import main

_PARTS = {
    "plugins/protocol/": "transport",
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


class Sampler:
    """Counts samples by part."""

    def __init__(self) -> None:
        self.samples: Counter[str] = Counter()
        self.writer = 0.0

    def look(self, _signal: int, frame: FrameType | None) -> None:
        """One sample."""
        self.samples[part_of(frame)] += 1
        for thread in threading.enumerate():
            if thread.name == "writer" and thread.ident is not None:
                self.writer = time.clock_gettime(time.pthread_getcpuclockid(thread.ident))

    def report(self, total: float, main_thread: float) -> None:
        """A line per part; what no thread of Python's did is libraries' own."""
        count = sum(self.samples.values()) or 1
        shares = {part: main_thread * n / count for part, n in self.samples.items()}
        shares["writer"] = self.writer
        shares["other threads"] = max(0.0, total - main_thread - self.writer)
        for part, seconds in sorted(shares.items(), key=lambda pair: -pair[1]):
            print(f"    {part:20} {seconds:6.2f} CPU s {seconds / total:6.1%}")


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
    sampler = Sampler()
    signal.signal(signal.SIGPROF, sampler.look)
    signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
    try:
        main()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        sampler.report(time.process_time(), time.thread_time())
        sys.stdout.flush()
