"""What the whole fetch stage costs, as a user runs it, beside others who fetch the same pages: by hand, no test.

    python tests/benchmarks/fetch.py --scrapy /opt/scrapy/bin/python
    python tests/benchmarks/fetch.py --only bare curl parts --pages 10000
    python tests/benchmarks/fetch.py --memory 10000 100000

nginx serves pages of 22 KB on a thousand loopback addresses; inject and generate make the fetch lists. Every figure is
that of a command from its start to its end: imports, robots.txt, Parquet output, all processes. CPU is user and system
time, peak the most memory its processes held together. *bare* is a CurlMulti loop over the same URLs that asks for no
robots.txt and keeps nothing; it says how loaded the machine is. Scrapy fetches, extracts links and stores; it is
compared with fetch, then parse. Linux.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pages
import pyarrow.parquet as pq
from costs import Cost, spent

from nutchpy.storage.segment import segments_in

HERE = Path(__file__).parent
FIGURES = ("bare", "curl", "requests", "parse", "scrapy", "parts")
SETTINGS = ("http.agent.name=bench", "http.filter.ipaddress.exclude=", "fetcher.server.delay=0")


@dataclass(frozen=True)
class Crawl:
    """A folder with a crawl whose fetch lists are made, and the same URLs as a text file."""

    folder: Path
    urls: Sequence[str]
    options: argparse.Namespace

    @property
    def segment(self) -> Path:
        """The segment as generate left it."""
        return segments_in(self.folder / "segments")[0].path

    def copy(self, name: str) -> Path:
        """The segment once more, not yet fetched."""
        return shutil.copytree(self.segment, self.folder / "copies" / name)

    def words(self, transport: str) -> list[str]:
        """The stage's options and settings."""
        settings = [*SETTINGS, f"protocol.http={transport}", *self.options.settings]
        return ["-threads", str(self.options.threads), *(word for setting in settings for word in ("-D", setting))]

    def fetch(self, transport: str) -> Cost:
        """The stage; every page must have come."""
        segment, profile = self.copy(transport), self.options.profile
        python = [sys.executable, *(["-m", "cProfile", "-o", str(profile)] if profile else [])]
        cost = spent([*python, "-m", "nutchpy", "fetch", str(segment), *self.words(transport)], self.folder)
        check(transport, rows(segment / "content"), len(self.urls))
        return cost

    def parse(self, transport: str) -> Cost:
        """The stage after fetch."""
        segment = self.folder / "copies" / transport
        cost = spent([sys.executable, "-m", "nutchpy", "parse", str(segment)], self.folder)
        check("parse", rows(segment / "parse_text"), len(self.urls))
        return cost

    def parts(self, transport: str) -> None:
        """The split of the fetch stage, from a run of its own."""
        segment = self.copy(f"{transport}-parts")
        print(f"  fetch ({transport}) by part, in a run of its own:", flush=True)
        script = [sys.executable, str(HERE / "parts.py"), str(len(self.urls)), "fetch", str(segment)]
        words = [*script, *self.words(transport), "--quiet"]
        subprocess.run(words, cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def bare(self) -> Cost:
        """A CurlMulti loop."""
        command = [sys.executable, str(HERE / "peer_curl.py"), str(self._listed(self.urls)), str(self.options.threads)]
        return spent(command, self.folder)

    def scrapy(self, urls: Sequence[str]) -> Cost:
        """Scrapy, for some of the URLs."""
        out = self.folder / "scrapy.jsonl"
        command = [self.options.scrapy, str(HERE / "peer_scrapy.py"), str(self._listed(urls)), str(out)]
        cost = spent(command, self.folder)
        with out.open("rb") as lines:
            check("scrapy", sum(1 for _ in lines), len(urls))
        return cost

    def _listed(self, urls: Sequence[str]) -> Path:
        file = self.folder / "urls"
        file.write_text("\n".join(urls))
        return file


def make_crawl(folder: Path, port: int, count: int, options: argparse.Namespace) -> Crawl:
    """Inject and generate, as a user does."""
    urls = [pages.url(n % options.hosts, n // options.hosts, port) for n in range(count)]
    seeds = folder / "seeds" / "urls.txt"
    seeds.parent.mkdir(parents=True)
    seeds.write_text("\n".join(urls))
    nutchpy = [sys.executable, "-m", "nutchpy"]
    spent([*nutchpy, "inject", "crawldb", str(seeds)], folder)
    spent([*nutchpy, "generate", "crawldb", "segments", "-numFetchers", str(options.lists)], folder)
    crawl = Crawl(folder, urls, options)
    check("generate", rows(crawl.segment / "crawl_generate"), count)
    return crawl


def rows(table: Path) -> int:
    """How many rows a table of a segment has."""
    return sum(pq.read_metadata(part).num_rows for part in table.glob("part-*.parquet"))


def check(name: str, found: int, wanted: int) -> None:
    """A figure for less than everything is none."""
    if found != wanted:
        raise SystemExit(f"{name}: {found} pages of {wanted}")


def line(name: str, count: int, cost: Cost, bare: Cost | None = None) -> None:
    """One line of the report."""
    ratio = f", {cost.cpu / bare.cpu:5.1f} x bare" if bare else ""
    print(
        f"{name:20} {cost.cpu / count * 1000:7.3f} CPU s per 1,000 pages, {count / cost.wall:7.0f} pages/s, "
        f"{cost.peak:5.0f} MB peak{ratio}",
        flush=True,
    )


def figures(crawl: Crawl) -> None:
    """All that are asked for, one after the other."""
    wanted, count = crawl.options.only, len(crawl.urls)
    bare = crawl.bare() if "bare" in wanted else None
    if bare:
        line("bare CurlMulti", count, bare)
    whole = None
    for transport in ("curl", "requests"):
        if transport in wanted or (transport == "curl" and "parse" in wanted):
            cost = crawl.fetch(transport)
            line(f"fetch ({transport})", count, cost, bare)
            if transport == "curl" and "parse" in wanted:
                parsed = crawl.parse(transport)
                whole = cost + parsed
                line("parse", count, parsed)
                line("fetch, then parse", count, whole)
        if transport in wanted and "parts" in wanted and crawl.options.lists == 1:
            crawl.parts(transport)
    if "scrapy" in wanted:
        beside_scrapy(crawl, whole)


def beside_scrapy(crawl: Crawl, ours: Cost | None) -> None:
    """Scrapy's figures, and ours as multiples of its."""
    python = crawl.options.scrapy
    if not python or shutil.which(python) is None:
        print("Scrapy: skipped, no Python that has it (--scrapy or $NUTCHPY_SCRAPY)")
        return
    hosts = crawl.options.hosts
    share = max(1, round(hosts * min(1.0, crawl.options.scrapy_pages / len(crawl.urls))))
    urls = [url for n, url in enumerate(crawl.urls) if n % hosts < share]
    cost = crawl.scrapy(urls)
    line("Scrapy", len(urls), cost)
    if ours:
        faster = (cost.wall / len(urls)) / (ours.wall / len(crawl.urls))
        cheaper = (cost.cpu / len(urls)) / (ours.cpu / len(crawl.urls))
        print(f"fetch, then parse: {faster:.1f} x Scrapy's pages/s, CPU time 1/{cheaper:.1f} of its", flush=True)


def memory(folder: Path, port: int, options: argparse.Namespace) -> None:
    """Peaks of lists of several lengths."""
    for transport in [name for name in ("curl", "requests") if name in options.only]:
        for count in options.memory:
            crawl = make_crawl(folder / f"{transport}-{count}", port, count, options)
            line(f"{transport}, {count}", count, crawl.fetch(transport))
            shutil.rmtree(crawl.folder)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--hosts", type=int, default=1_000)
    parser.add_argument("--links", type=int, default=260, help="links on a page: few make for more text")
    parser.add_argument("--threads", type=int, default=50)
    parser.add_argument("--lists", type=int, default=1, help="fetch lists, a process each")
    parser.add_argument("--only", nargs="+", choices=FIGURES, default=list(FIGURES))
    parser.add_argument("--scrapy", default=os.environ.get("NUTCHPY_SCRAPY", ""), help="a Python that has Scrapy")
    parser.add_argument("--scrapy-pages", type=int, default=sys.maxsize, help="fewer for Scrapy, of fewer hosts")
    parser.add_argument("--memory", nargs="+", type=int, metavar="PAGES", help="only the peaks of such lists")
    parser.add_argument("--profile", type=Path, help="write a cProfile of the stage there")
    parser.add_argument("--folder", type=Path, help="where to work")
    parser.add_argument("-D", dest="settings", action="append", default=[])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        measure(Path(folder), options)


def measure(folder: Path, options: argparse.Namespace) -> None:
    """What is asked for, with a server beside it."""
    with pages.nginx(folder / "nginx", options.links) as port:
        if options.memory:
            memory(folder, port, options)
        else:
            figures(make_crawl(folder / "crawl", port, options.pages, options))


if __name__ == "__main__":
    main()
