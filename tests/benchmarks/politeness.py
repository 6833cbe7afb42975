"""How much of the time that politeness asks for a fetch takes, and whether any delay is broken: by hand.

    python tests/benchmarks/politeness.py

Three fetch lists (flat, Zipf, one giant host), 1, 2 and 4 processes, one and three requests at a time per queue; the
server's log has the last word. *ideal* is the largest of n × (delay + service) over the hosts. Linux.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from nutchpy.testing.crawls import make_segment
from nutchpy.testing.site import Site, text
from nutchpy.testing.site_server import Access, SiteServer

DELAY = 0.2
TOLERANCE = 0.001
LISTS = {
    "flat": [20] * 40,
    "zipf": [max(1, 60 // rank) for rank in range(1, 80)],
    "giant": [60, *[2] * 100],
}


def fetch(folder: Path, urls: Sequence[str], processes: int, parallel: int) -> None:
    """The stage, as a user runs it."""
    hosts = list(dict.fromkeys(url.split("/")[2] for url in urls))
    lists = [[u for u in urls if hosts.index(u.split("/")[2]) % processes == k] for k in range(processes)]
    segment = make_segment(folder, lists)
    settings = [
        "http.agent.name=bench",
        "http.filter.ipaddress.exclude=",
        f"fetcher.server.delay={DELAY}",
        f"fetcher.server.min.delay={DELAY}",
        f"fetcher.threads.per.queue={parallel}",
        f"fetcher.processes={processes}",
    ]
    words = [word for setting in settings for word in ("-D", setting)]
    command = [sys.executable, "-m", "nutchpy", "fetch", str(segment.path), "-threads", "100", "--quiet", *words]
    subprocess.run(command, check=True, cwd=folder, capture_output=True)


def judge(log: Sequence[Access], parallel: int) -> tuple[float, float, int]:
    """Seconds taken, seconds that politeness asks for, delays broken."""
    hosts: dict[str, list[Access]] = defaultdict(list)
    for record in log:
        if record.target != "/robots.txt":
            hosts[record.host].append(record)
    taken = ideal = 0.0
    broken = 0
    for records in hosts.values():
        records.sort(key=lambda record: record.started)
        service = sum(record.ended - record.started for record in records) / len(records)
        rounds = -(-len(records) // parallel)
        ideal = max(ideal, (rounds - 1) * (DELAY + service))
        taken = max(taken, records[-1].started - records[0].started)
        if parallel == 1:
            broken += sum(b.started - a.ended < DELAY - TOLERANCE for a, b in pairwise(records))
    return taken, ideal, broken


def main() -> None:
    """Run all combinations and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", nargs="*", default=list(LISTS), choices=list(LISTS))
    parser.add_argument("--processes", nargs="*", type=int, default=[1, 2, 4])
    parser.add_argument("--parallel", nargs="*", type=int, default=[1, 3])
    options = parser.parse_args()
    pages = {f"/{page}": text("x") for page in range(max(max(counts) for counts in LISTS.values()))}
    with SiteServer(Site(pages), bind="0.0.0.0") as server:
        for name in options.lists:
            urls = [
                f"http://127.0.8.{host + 1}:{server.port}/{page}"
                for page in range(max(LISTS[name]))
                for host, count in enumerate(LISTS[name])
                if page < count
            ]
            for processes in options.processes:
                for parallel in options.parallel:
                    server.log.clear()
                    with tempfile.TemporaryDirectory() as folder:
                        fetch(Path(folder), urls, processes, parallel)
                    taken, ideal, broken = judge(list(server.log), parallel)
                    print(
                        f"{name:6} {processes} processes, {parallel} at a time: {taken:6.2f} s, ideal {ideal:6.2f}, "
                        f"{taken / ideal:.3f} of it, {broken} delays broken",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
