"""CPU seconds per 1,000 pages of the whole fetch stage, as a user runs it: by hand, not part of the tests.

    python tests/benchmarks/fetch.py --pages 20000 --hosts 1000 --threads 50

nginx serves one page of 22 KB under every path on loopback addresses; the stage runs as a process of its own, start-up,
robots.txt and Parquet output included. Beside it a bare CurlMulti loop over the same URLs; ``--parts`` adds the split
of the stage's time by part.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from nutchpy.testing.crawls import make_segment

_PARTS = Path(__file__).with_name("parts.py")
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin:/usr/local/bin")
_CONF = """
daemon off; pid {run}/nginx.pid; error_log {run}/error.log; worker_processes 1;
events {{ worker_connections 4096; }}
http {{
  client_body_temp_path {run}/b; proxy_temp_path {run}/p; fastcgi_temp_path {run}/f; uwsgi_temp_path {run}/u;
  scgi_temp_path {run}/s; access_log off; keepalive_requests 100000; default_type text/html;
  server {{ listen {port} backlog=4096; root {run}/www;
    location = /robots.txt {{ return 200 "User-agent: *\\nDisallow: /private\\n"; }}
    location / {{ try_files /page.html =404; }} }}
}}
"""
_BARE = """
import pycurl, sys
urls = open(sys.argv[1]).read().split()
multi = pycurl.CurlMulti(); free = [pycurl.Curl() for _ in range(int(sys.argv[2]))]; n = open_ = 0
multi.setopt(pycurl.M_MAXCONNECTS, 4 * len(free))
while n < len(urls) or open_:
    while free and n < len(urls):
        c = free.pop(); body = []
        c.setopt(pycurl.URL, urls[n]); c.setopt(pycurl.WRITEFUNCTION, body.append); n += 1; open_ += 1
        multi.add_handle(c)
    multi.select(1.0)
    multi.perform()
    _, good, bad = multi.info_read()
    for c in good + [b[0] for b in bad]:
        multi.remove_handle(c); free.append(c); open_ -= 1
"""


def page(size: int = 22_000) -> bytes:
    """HTML that compresses as real pages do, about five to one."""
    rng = random.Random(7)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(600)]
    text = "".join(
        f"<p class=x><a href=/{rng.randrange(999)}>{' '.join(rng.choices(words, k=9))}</a>" for _ in range(999)
    )
    return f"<!doctype html><title>t</title>{text}".encode()[:size]


@contextmanager
def nginx(run: Path) -> Iterator[int]:
    """The server, on every loopback address; its port."""
    (run / "www").mkdir(parents=True)
    (run / "www" / "page.html").write_bytes(page())
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    conf = run / "nginx.conf"
    conf.write_text(_CONF.format(run=run, port=port))
    for folder in (run.parent, run, run / "www"):
        folder.chmod(0o755)
    with subprocess.Popen([str(NGINX), "-p", str(run), "-c", str(conf), "-e", str(run / "error.log")]) as server:
        time.sleep(0.5)
        try:
            yield port
        finally:
            server.terminate()


def spent(command: Sequence[str], cwd: Path) -> tuple[float, float, float]:
    """CPU seconds, wall seconds and peak MB of a command."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with subprocess.Popen(command, cwd=cwd, env=os.environ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, usage.ru_maxrss / 1024


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=5_000)
    parser.add_argument("--hosts", type=int, default=500)
    parser.add_argument("--threads", type=int, default=50)
    parser.add_argument("--lists", type=int, default=1)
    parser.add_argument("--transport", default="curl")
    parser.add_argument("--parts", action="store_true", help="the split by part, from one more run")
    parser.add_argument("--profile", type=Path, help="write a cProfile of the stage there")
    parser.add_argument("-D", dest="settings", action="append", default=[])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, nginx(Path(folder) / "nginx") as port:
        run = Path(folder)
        hosts = [f"127.0.{n // 250}.{n % 250 + 1}" for n in range(options.hosts)]
        urls = [f"http://{hosts[n % len(hosts)]}:{port}/p/{n // len(hosts)}" for n in range(options.pages)]
        lists = [[u for u in urls if hash_of(u) % options.lists == k] for k in range(options.lists)]
        segment = make_segment(run / "segments", lists)
        (run / "urls").write_text("\n".join(urls))
        settings = [
            "http.agent.name=bench",
            "http.filter.ipaddress.exclude=",
            "fetcher.server.delay=0",
            f"protocol.http={options.transport}",
            *options.settings,
        ]
        python = [sys.executable, *(["-m", "cProfile", "-o", str(options.profile)] if options.profile else [])]
        words = ["-threads", str(options.threads), *[w for s in settings for w in ("-D", s)]]
        stage = [*python, "-m", "nutchpy", "fetch", str(segment.path), *words]
        report("bare CurlMulti", options.pages, spent([sys.executable, "-c", _BARE, "urls", str(options.threads)], run))
        report(f"fetch ({options.transport})", options.pages, spent(stage, run))
        if options.parts and options.lists == 1:
            again = make_segment(run / "again", lists)
            print("of it, measured on a run of its own:", flush=True)
            spent([sys.executable, str(_PARTS), "fetch", str(again.path), *words], run)


def hash_of(url: str) -> int:
    """The same for every page of a host."""
    return sum(url.split("/")[2].encode())


def report(name: str, pages: int, costs: tuple[float, float, float]) -> None:
    """One line."""
    cpu, wall, peak = costs
    print(
        f"{name:20} {cpu / pages * 1000:6.3f} CPU s per 1,000 pages, {pages / wall:7.0f} pages/s, {peak:5.0f} MB peak"
    )


if __name__ == "__main__":
    main()
