"""How much of the time that politeness asks for a fetch takes, and whether any delay is broken: by hand.

    python -m tests.benchmarks.politeness

Three fetch lists (flat, Zipf, one giant host) by name over a simulated web, in 1, 2 and 4 processes, one and three
requests at a time per queue. *ideal* is the largest of rounds × (delay + service) over the hosts, *wall* the whole
command, start-up included; the server's log has the last word on delays. Where three may run at a time, a request can
have been sent before the answer to another could be read that the log shows as ended: these are counted as *crossed*.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nutchpy.testing.crawls import make_segment
from tests.simweb.graph import Web
from tests.simweb.process import Served, served
from tests.simweb.server import Hit

DELAY = 0.2
LATENCY = 0.02
TOLERANCE = 0.001
CROSSING = 0.1  # seconds that a request and an answer may spend on their ways, on a busy machine
HOSTS = 400
LISTS = ("flat", "zipf", "giant")


@dataclass(frozen=True)
class Judgement:
    """What a log says. Seconds."""

    first: float
    last: float
    ideal: float
    broken: int
    shortest: float  # rest that a host was given
    crossed: int


def counts(name: str, most: int, pages: int) -> list[int]:
    """Pages per host: ``most`` at most, about ``pages`` together."""
    if name == "flat":
        return [most] * max(1, round(pages / most))
    if name == "giant":
        return [most, *[2] * (HOSTS - 1)]
    found: list[int] = []
    while len(found) < HOSTS and sum(found) < pages:
        found.append(max(1, most // (len(found) + 1)))
    return found


def lists_of(web: Web, hosts: Sequence[int], processes: int) -> list[list[str]]:
    """Fetch lists as generate writes them: a host in one of them, hosts interleaved."""
    lists: list[list[str]] = [[] for _ in range(processes)]
    for page in range(max(hosts)):
        for host, count in enumerate(hosts):
            if page < count:
                lists[host % processes].append(web.url(host, page))
    return lists


def fetch(served: Served, folder: Path, lists: Sequence[Sequence[str]], parallel: int, more: Sequence[str]) -> float:
    """The stage, as a user runs it; the seconds it takes."""
    segment = make_segment(folder / "segments", lists)
    settings = [
        *served.settings(),
        f"fetcher.server.delay={DELAY}",
        f"fetcher.server.min.delay={DELAY}",
        f"fetcher.threads.per.queue={parallel}",
        f"fetcher.processes={len(lists)}",
        *more,
    ]
    words = [word for setting in settings for word in ("-D", setting)]
    command = [sys.executable, "-m", "nutchpy", "fetch", str(segment.path), "-threads", "100", "--quiet", *words]
    begin = time.monotonic()
    subprocess.run(command, check=True, cwd=folder, capture_output=True)
    return time.monotonic() - begin


def judge(log: Sequence[Hit], parallel: int) -> Judgement:
    """Look at every request for a page: how long before it the one before it had ended."""
    hosts: dict[str, list[Hit]] = defaultdict(list)
    for hit in log:
        if hit.path != "/robots.txt":
            hosts[hit.host].append(hit)
    ideal, broken, shortest, crossed = 0.0, 0, float("inf"), 0
    for hits in hosts.values():
        service = sum(hit.ended - hit.started for hit in hits) / len(hits)
        ideal = max(ideal, -(-len(hits) // parallel) * (DELAY + service) - DELAY)
        all_rests = rests_of(sorted(hits, key=lambda hit: hit.started), parallel)
        if parallel > 1:
            crossed += sum(0 < min(rests) < CROSSING for rests in all_rests)
            all_rests = [[rest for rest in rests if not 0 < rest < CROSSING] for rests in all_rests]
        rests = [min(rests) for rests in all_rests if rests]
        broken += sum(rest < DELAY - TOLERANCE for rest in rests)
        shortest = min([shortest, *rests])
    first, last = min(hit.started for hit in log), max(hit.ended for hit in log)
    return Judgement(first, last, ideal, broken, shortest, crossed)


def rests_of(hits: Sequence[Hit], parallel: int) -> list[list[float]]:
    """For each request, how long ago those before it had ended; nothing when more ran than may."""
    rests = []
    for number, hit in enumerate(hits):
        before = hits[max(0, number - 2 * parallel) : number]
        ended = [hit.started - other.ended for other in before if other.ended <= hit.started]
        running = sum(other.ended > hit.started for other in before)
        rests += [[0.0]] if running >= parallel else [ended] if ended else []
    return rests


def main() -> None:
    """Run all combinations and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", nargs="*", default=LISTS, choices=LISTS)
    parser.add_argument("--processes", nargs="*", type=int, default=[1, 2, 4])
    parser.add_argument("--parallel", nargs="*", type=int, default=[1, 3])
    parser.add_argument("--seconds", type=float, default=60, help="that each list takes, ideally")
    parser.add_argument("--rate", type=float, default=100, help="pages per second of flat and Zipf lists")
    parser.add_argument("-D", dest="settings", action="append", default=[])
    options = parser.parse_args()
    print("list  processes at-a-time  pages   wall s  ideal s  ratio  start s  end s  shortest rest s  broken  crossed")
    for name in options.lists:
        for processes in options.processes:
            for parallel in options.parallel:
                most = round(options.seconds / (DELAY + LATENCY) * parallel)
                hosts = counts(name, most, round(options.seconds * options.rate))
                web = Web(hosts=HOSTS, pages=HOSTS * most, zipf=0, latency=LATENCY, latency_spread=1.0)
                lists = lists_of(web, hosts, processes)
                with tempfile.TemporaryDirectory() as folder:
                    run = Path(folder)
                    with served(web, run / "hits") as it:
                        begin = time.monotonic()
                        wall = fetch(it, run, lists, parallel, options.settings)
                    told = judge(it.hits(), parallel)
                print(
                    f"{name:5} {processes:9} {parallel:9} {sum(hosts):6} {wall:8.2f} {told.ideal:8.2f} "
                    f"{wall / told.ideal:6.3f} {told.first - begin:8.2f} {begin + wall - told.last:6.2f} "
                    f"{told.shortest:16.4f} {told.broken:7} {told.crossed:8}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
