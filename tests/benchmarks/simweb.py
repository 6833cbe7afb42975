"""A crawl by name over a simulated web, stage by stage as a user runs it, until enough pages are fetched: by hand.

    python -m tests.benchmarks.simweb --pages 20000 --hosts 5000

Prints for each stage seconds, CPU seconds and the most memory its processes had together; for each fetch also pages per
second, how the time of its slots was spent, and its memory as time went by. In the end the server's log is asked
whether any page was fetched twice and any delay broken. *idle* slots had no queue that could be served, *late* ones
waited for the loop although there was one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import psutil

from tests.simweb.graph import Web
from tests.simweb.process import Served, served
from tests.simweb.server import Hit

_FAULTS = {
    "missing": 0.02,
    "moved": 0.03,
    "private": 0.02,
    "busy": 0.002,
    "unavailable": 0.003,
    "reset": 0.003,
    "slow": 0.005,
    "closed": 0.01,
    "delayed": 0.01,
}
_SAMPLE_SECONDS = 0.5
_TOLERANCE = 0.001


@dataclass
class Memory:
    """The memory of a process and all below it, in MB, by time."""

    pid: int
    samples: list[float] = field(default_factory=list)

    def watch(self, ended: threading.Event) -> None:
        """Look every now and then."""
        while not ended.wait(_SAMPLE_SECONDS):
            self.samples.append(self._now())

    def along(self, points: int = 6) -> list[float]:
        """So many samples, evenly spread."""
        last = len(self.samples) - 1
        return [self.samples[last * n // (points - 1)] for n in range(points)] if last > points else self.samples

    def _now(self) -> float:
        try:
            first = psutil.Process(self.pid)
            return sum(map(_private_mb, [first, *first.children(recursive=True)]))
        except psutil.NoSuchProcess:
            return 0.0


def _private_mb(process: psutil.Process) -> float:
    """What a process has for itself: libraries that all share would be counted once for each."""
    try:
        return float(process.memory_full_info().uss) / (1 << 20)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0.0


@dataclass
class Totals:
    """What the stages came to."""

    cpu: Counter[str] = field(default_factory=Counter)
    wall: Counter[str] = field(default_factory=Counter)
    slots: Counter[str] = field(default_factory=Counter)
    attempts: int = 0


class Crawl:
    """One crawl folder, and the stages run on it."""

    def __init__(self, folder: Path, settings: Sequence[str], threads: int) -> None:
        self.folder = folder
        self.totals = Totals()
        self._settings = [word for setting in settings for word in ("-D", setting)]
        self._threads = threads
        self._log = (folder / "log").open("w")

    def inject(self, seeds: Path) -> None:
        """Bring the seeds in."""
        self._stage("inject", self.folder / "crawldb", seeds)

    def round(self, top: int, lists: int) -> bool:
        """Generate, fetch, parse, updatedb; False when nothing is due."""
        db, segments = self.folder / "crawldb", self.folder / "segments"
        if self._stage("generate", db, segments, "-topN", top, "-numFetchers", lists):
            return False
        segment = max(segments.iterdir())
        self._stage("fetch", segment, "-threads", self._threads // lists)
        self._stage("parse", segment)
        self._stage("updatedb", db, segment)
        return True

    def _stage(self, name: str, *words: object) -> int:
        command = [sys.executable, "-m", "nutchpy", name, *map(str, words), *self._settings]
        begin, ended = time.monotonic(), threading.Event()
        with subprocess.Popen(command, stdout=self._log, stderr=self._log) as process:
            memory = Memory(process.pid)
            watcher = threading.Thread(target=memory.watch, args=(ended,))
            watcher.start()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        ended.set()
        watcher.join()
        wall, cpu = time.monotonic() - begin, usage.ru_utime + usage.ru_stime
        if process.returncode > 1:
            raise SystemExit(f"{command} ended with {process.returncode}: see {self._log.name}")
        self.totals.wall[name] += wall
        self.totals.cpu[name] += cpu
        peak = max(memory.samples, default=0.0)
        print(f"  {name:9} {wall:7.1f} s {cpu:7.1f} CPU s {peak:6.0f} MB at most", end="", flush=True)
        print(self._told(wall, memory) if name == "fetch" else "", flush=True)
        return process.returncode

    def _told(self, wall: float, memory: Memory) -> str:
        """What the fetch counted."""
        *_, last = (self.folder / "runs.jsonl").read_text().splitlines()
        counters = Counter(json.loads(last)["counters"])
        attempts = sum(count for name, count in counters.items() if name.startswith("fetched:"))
        slots = Counter({name: count for name, count in counters.items() if name.startswith("slots:")})
        self.totals.attempts += attempts
        self.totals.slots += slots
        along = " ".join(f"{mb:.0f}" for mb in memory.along())
        return f"; {attempts} pages, {attempts / wall:.0f} pages/s, slots {shares(slots)}; MB by time {along}"


def shares(slots: Counter[str]) -> str:
    """Slot time in per cent."""
    whole = max(1, sum(slots.values()))
    named = ((name.removeprefix("slots:").removesuffix("_ms"), count) for name, count in sorted(slots.items()))
    return ", ".join(f"{name} {100 * count / whole:.1f} %" for name, count in named)


def judged(web: Web, hits: Sequence[Hit], delay: float) -> str:
    """What the server's log says."""
    hosts: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        if hit.path != "/robots.txt":
            hosts[hit.host].append(hit)
    broken = 0
    for found in hosts.values():
        found.sort(key=lambda hit: hit.started)
        rules = web.robots(web.number(found[0].host) or 0) or ""
        rest = max(delay, web.crawl_delay if "Crawl-delay" in rules else 0.0) - _TOLERANCE
        broken += sum(after.started - before.ended < rest for before, after in pairwise(found))
    pages = sum(map(len, hosts.values()))
    twice = pages - sum(len({hit.path for hit in found}) for found in hosts.values())
    most = max(map(len, hosts.values()))
    return f"{pages} pages of {len(hosts)} hosts asked for, {most} of one, {twice} twice, {broken} delays broken"


def crawl(served: Served, folder: Path, options: argparse.Namespace) -> None:
    """Round after round, until there are enough pages."""
    settings = [
        *served.settings(),
        f"fetcher.server.delay={options.delay}",
        f"generate.max.count={options.per_host}",
        f"protocol.http={options.transport}",
        *options.settings,
    ]
    (folder / "seeds").write_text("\n".join(served.web.url(number) for number in range(options.seeds)))
    one = Crawl(folder, settings, options.threads)
    server = psutil.Process(served.pid)
    begin = time.monotonic()
    one.inject(folder / "seeds")
    while (left := options.pages - one.totals.attempts) > 0 and one.round(min(left, options.top), options.lists):
        used = sum(server.cpu_times()[:2])
        print(
            f"{one.totals.attempts} pages after {time.monotonic() - begin:.0f} s; server {used:.0f} CPU s", flush=True
        )
    totals = one.totals
    for name in totals.cpu:
        each = totals.cpu[name] / totals.attempts * 1000
        print(f"{name:9} {totals.wall[name]:8.1f} s {totals.cpu[name]:8.1f} CPU s, {each:.3f} per 1,000 pages")
    wall, fetching = time.monotonic() - begin, totals.wall["fetch"]
    print(f"{totals.attempts} pages in {wall:.0f} s: {totals.attempts / wall:.0f} pages/s, ", end="")
    print(f"{totals.attempts / fetching:.0f} while fetching; slots {shares(totals.slots)}")


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--hosts", type=int, default=50_000)
    parser.add_argument("--seeds", type=int, help="home pages to begin with (a tenth of the hosts)")
    parser.add_argument("--delay", type=float, default=1.0)
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--threads", type=int, default=100, help="all lists together")
    parser.add_argument("--lists", type=int, default=1)
    parser.add_argument("--top", type=int, default=50_000, help="pages of a round")
    parser.add_argument("--per-host", type=int, default=50, help="pages of a host in a round")
    parser.add_argument("--transport", default="curl")
    parser.add_argument("--folder", type=Path, help="keep the crawl there")
    parser.add_argument("-D", dest="settings", action="append", default=[])
    options = parser.parse_args()
    options.seeds = options.seeds or max(1, options.hosts // 10)
    web = Web(hosts=options.hosts, pages=20 * options.hosts, largest=2_000, latency=options.latency, **_FAULTS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        with served(web, folder / "hits") as it:
            crawl(it, folder, options)
        print(judged(web, it.hits(), options.delay))


if __name__ == "__main__":
    main()
