"""Does a fetch that runs for an hour among faults grow? Threads, sockets, files and memory, sampled: by hand.

    python tests/benchmarks/soak.py --minutes 60 --rate 25
    python tests/benchmarks/soak.py --minutes 60 --rate 12 --transport requests

The server (faulty.py) fails two requests in a hundred in every way there is. The fetch is the stage as a user runs it,
a process per list; it is ended by fetcher.timelimit.mins. At the end a line per process and quantity: the mean of the
first and of the last quarter of the time, and the slope over the last three quarters, an hour. Linux.

Seen in an hour, two workers each, mean MB of each ten minutes of the worse one: curl (76,263 URLs) 186, 181, 182, 179,
177, 175; requests (37,537 URLs) 173, 178, 179, 184, 181, 184; with fetcher.parse, one list (18,443 URLs), 150, 168,
167, 166, 159, 161, its parsers 111 from the first half hour on. Threads 39, 72, 39 from the first minute to the last;
sockets rose with the faults of the moment and fell again.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from nutchpy.storage.segment import Segment
from nutchpy.testing.crawls import make_segment

DELAY = 4.0
EVERY = 10.0
SETTINGS = {
    "http.agent.name": "bench",
    "http.filter.ipaddress.exclude": "linklocal",
    "http.time.limit": 60,
    "http.redirect.max": 2,
    "http.tls.certificates.check": "false",
    "http.robots.cache.seconds": 300,
    "http.robots.503.defer.visits.delay": 5000,
    "fetcher.server.delay": DELAY,
    "fetcher.max.exceptions.per.queue": -1,
    "fetcher.exceptions.per.queue.delay": 1,
    "fetcher.exceptions.per.queue.clear.after": 20,
    "fetcher.dns.cache.seconds": 20,
    "urlfilter.order": "",
}
Sample = tuple[int, int, int, float]
QUANTITIES = ("threads", "sockets", "files", "MB")


@contextmanager
def server(folder: Path) -> Iterator[tuple[int, int]]:
    """The faulty server; its ports, in the clear and by TLS."""
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9", "-subj", "/CN=soak"]
    subprocess.run([*command, "-keyout", "k.pem", "-out", "c.pem"], cwd=folder, check=True, capture_output=True)
    serving = [sys.executable, str(Path(__file__).with_name("faulty.py")), str(folder / "c.pem"), str(folder / "k.pem")]
    with subprocess.Popen(serving, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        clear, tls = map(int, process.stdout.readline().split())
        try:
            yield clear, tls
        finally:
            process.kill()


def urls(hosts: int, pages: int, clear: int, tls: int) -> list[str]:
    """Every fourth host by TLS; one name that is looked up, one that does not exist, some who mistake TLS for none."""
    found = []
    for page in range(pages):
        for host in range(hosts):
            secure = host % 4 == 3
            mistaken = (page * hosts + host) % 499 == 0
            port = clear if mistaken or not secure else tls
            name = "localhost" if host == 0 else f"127.0.{9 + host // 250}.{host % 250 + 1}"
            found.append(f"http{'s' if secure or mistaken else ''}://{name}:{port}/p/{page}?{host}")
        found.append(f"http://n{page}.invalid/")
    return found


def segment_of(folder: Path, found: Sequence[str], lists: int) -> Segment:
    """Hosts never span two lists."""
    shares = [[u for u in found if sum(u.split("/")[2].encode()) % lists == k] for k in range(lists)]
    return make_segment(folder, shares)


def sample(process: psutil.Process) -> Sample:
    """Threads, sockets, open files of all kinds, resident MB."""
    files = [str(file.readlink()) for file in Path(f"/proc/{process.pid}/fd").iterdir() if file.is_symlink()]
    sockets = sum(name.startswith("socket:") for name in files)
    return process.num_threads(), sockets, len(files), process.memory_info().rss / (1 << 20)


def samples(pid: int) -> Iterator[tuple[str, Sample]]:
    """Of the parent and of all under it, those that end meanwhile left out."""
    parent = psutil.Process(pid)
    for process in [parent, *parent.children(recursive=True)]:
        try:
            kind = "parent" if process.pid == pid else process.cmdline()[3]
            yield f"{kind} {process.pid}", sample(process)
        except (psutil.Error, OSError, IndexError):
            continue


def watch(fetch: subprocess.Popen[bytes], every: float) -> dict[str, list[tuple[float, Sample]]]:
    """All samples by process, until the fetch ends; a line a minute."""
    begin, taken = time.monotonic(), defaultdict(list)
    told = 0.0
    while fetch.poll() is None:
        now = time.monotonic() - begin
        for name, found in samples(fetch.pid):
            taken[name].append((now, found))
        if now >= told:
            told = now + 60
            print(
                f"{now / 60:5.1f} min", *(f"{n}: {_words(s[-1][1])}" for n, s in taken.items()), sep=" | ", flush=True
            )
        time.sleep(every)
    return taken


def _words(found: Sample) -> str:
    return ", ".join(f"{value:.0f} {name}" for value, name in zip(found, QUANTITIES, strict=True))


def report(taken: dict[str, list[tuple[float, Sample]]]) -> None:
    """First quarter, last quarter and slope of each quantity."""
    for name, found in taken.items():
        if len(found) < 8:
            continue
        times = [at / 3600 for at, _ in found]
        quarter = len(found) // 4
        for position, quantity in enumerate(QUANTITIES):
            values = [float(one[position]) for _, one in found]
            slope = statistics.linear_regression(times[quarter:], values[quarter:]).slope
            first, last = statistics.mean(values[:quarter]), statistics.mean(values[-quarter:])
            print(
                f"{name:32} {quantity:8} first quarter {first:7.1f}, last {last:7.1f}, most {max(values):7.1f}, "
                f"{slope:+8.2f} an hour"
            )


def main() -> None:
    """One soak."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--rate", type=float, default=25.0, help="pages a second, about")
    parser.add_argument("--transport", default="curl")
    parser.add_argument("--lists", type=int, default=2)
    parser.add_argument("--every", type=float, default=EVERY, help="seconds between two samples")
    parser.add_argument("-D", dest="settings", action="append", default=[])
    options = parser.parse_args()
    hosts = round(options.rate * DELAY * 1.1)
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as ports:
        pages = round(options.minutes * 60 / DELAY)
        segment = segment_of(Path(folder) / "segments", urls(hosts, pages, *ports), options.lists)
        values = {**SETTINGS, "protocol.http": options.transport, "fetcher.timelimit.mins": options.minutes}
        words = [f"{name}={value}" for name, value in values.items()] + options.settings
        stage = [sys.executable, "-m", "nutchpy", "fetch", str(segment.path), "-threads", "50"]
        with subprocess.Popen([*stage, *(w for s in words for w in ("-D", s))], stderr=subprocess.PIPE) as fetch:
            assert fetch.stderr is not None
            said: list[bytes] = []
            taken = _watched(fetch, options.every, said)
        print(b"\n".join(said[-12:]).decode())
        report(taken)


def _watched(fetch: subprocess.Popen[bytes], every: float, said: list[bytes]) -> dict[str, list[tuple[float, Sample]]]:
    """Watch the fetch while a thread listens to what it says."""
    listener = threading.Thread(target=lambda: said.extend(fetch.stderr or ()))
    listener.start()
    taken = watch(fetch, every)
    listener.join()
    return taken


if __name__ == "__main__":
    main()
