"""Parsing: pages per CPU second, beside the bare tree builder, BeautifulSoup and Scrapy's LinkExtractor. Run by hand.

    python tests/benchmarks/parse.py --folder /usr/share/doc/python3/html --scrapy /opt/scrapy/bin/python

Without a folder, pages are generated that look like documentation: some 25 KB, 400 elements, 100 links. Every figure
is CPU time, user and system, the best of three rounds, and the rounds take turns, so that a busy machine is busy for
all. The stage is the command ``nutchpy parse``: start and worker processes, Parquet in and out are in its figure. It is
told for the pages once, where the start weighs much, and for as many copies of them, each in a folder of the site of
its own, as make some thousands, a segment as crawls have them. What starting takes is measured with a segment of one
page.
"""

from __future__ import annotations

import argparse
import gc
import math
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from nutchpy.conf.layers import defaults
from nutchpy.core.content import Content
from nutchpy.parsing.page import PageInput, PageParser
from nutchpy.plugins.parse.html import HtmlParser
from nutchpy.storage.segment import Segment
from nutchpy.testing.crawls import add_fetch, make_segment

PEERS = Path(__file__).with_name("parse_peers.py")
ROUNDS = 3
SEGMENT_PAGES = 3000
PART_PAGES = 1000
NOW = datetime(2026, 1, 1, tzinfo=UTC)
VOCABULARY = """
    time year people way day man thing woman life child world school state family student group country problem hand
    part place case week company system program question work government number night point home water room mother area
    money story fact month lot right study book eye job word business issue side kind head house service
"""
WORDS = VOCABULARY.split()


def generated(count: int) -> dict[str, bytes]:
    """Pages of one site by their paths: the same navigation, different contents."""
    rng = random.Random(7)

    def words(number: int) -> str:
        return " ".join(rng.choices(WORDS, k=number))

    def link() -> str:
        return f'<a class="reference internal" href="../section{rng.randrange(40)}/page{rng.randrange(900)}.html#part">'

    def paragraph() -> str:
        return (
            f"<p>{words(25)} {link()}<code class='xref'><span class='pre'>{words(1)}</span></code></a> {words(12)}, "
            f"<em>{words(2)}</em> {words(18)} &amp; <strong>{words(1)}</strong>.</p>\n"
        )

    def listing() -> str:
        lines = (f"<span class='k'>def</span> <span class='nf'>{words(1)}</span><span>():</span>" for _ in range(6))
        return "<div class='highlight'><pre>" + "\n".join(lines) + "</pre></div>\n"

    def section(number: int) -> str:
        rows = "".join(f"<tr><td>{words(2)}</td><td>{link()}{words(2)}</a></td></tr>" for _ in range(4))
        head = f"<section id='s{number}'><h2>{words(3)}<a class='headerlink' href='#s{number}'>¶</a></h2>\n"
        return head + paragraph() * 3 + listing() + f"<table>{rows}</table>\n<ul>" + "</ul></section>"

    nav = "".join(f"<li><a href='/section{number}/'>{words(2)}</a></li>\n" for number in range(40))
    top = "<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><link rel='stylesheet' href='/static/style.css'>"

    def page() -> str:
        sections = "".join(section(number) for number in range(12))
        title = f"<title>{words(4)}</title><script src='/static/doc.js'></script>"
        return f"{top}{title}</head><body><nav><ul>{nav}</ul></nav><main>{sections}</main></body></html>"

    return {f"section{number % 40}/page{number}.html": page().encode() for number in range(count)}


def read(folder: Path, count: int) -> dict[str, bytes]:
    """HTML files of a folder by their paths within, those of more than 200 KB left out."""
    paths = (path for path in sorted(folder.rglob("*.html")) if path.stat().st_size < 200_000)
    return {str(path.relative_to(folder)): path.read_bytes() for path in islice(paths, count)}


def site(pages: Mapping[str, bytes], copy: int = 0) -> list[Content]:
    """The pages as a site has them, in the folder of one copy."""
    urls = {f"http://docs.test/{copy}/{path}": body for path, body in pages.items()}
    return [Content(url, url, "text/html", [], body, NOW) for url, body in urls.items()]


def own(work: Callable[[], object]) -> float:
    """CPU seconds of something done in this process, cycles of garbage looked for as rarely as in a worker."""
    gc.collect()
    gc.set_threshold(50_000)
    start = time.process_time()
    work()
    return time.process_time() - start


def of_command(*command: str) -> float:
    """CPU seconds of a command and all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_peer(name: str, folder: Path, python: str = sys.executable) -> float:
    """CPU seconds that a peer says it took for the pages of a folder."""
    told = subprocess.run([python, str(PEERS), name, str(folder)], check=True, capture_output=True, text=True)
    return float(told.stdout)


def segment_of(pages: list[Content], folder: Path) -> Segment:
    """A segment in which these pages have been fetched, in parts as fetch writes them."""
    segment = make_segment(folder, ["http://unused.test/"])
    headers = [{"name": "Content-Type", "value": "text/html"}]
    for flush, start in enumerate(range(0, len(pages), PART_PAGES)):
        part = pages[start : start + PART_PAGES]
        bodies = {page.url: {"content": page.content, "headers": headers} for page in part}
        add_fetch(segment, [{"url": url, "score": 1.0} for url in bodies], content=bodies, flush=flush)
    return segment


def stage(segment: Segment) -> float:
    """CPU seconds of the whole stage."""
    for table in ("parse_text", "parse_data", "crawl_parse"):
        shutil.rmtree(segment.path / table, ignore_errors=True)
    return of_command(sys.executable, "-m", "nutchpy", "parse", str(segment.path), "-D", "http.agent.name=benchmark")


def works(bodies: Mapping[str, bytes], place: Path, scrapy: str | None) -> dict[str, Callable[[], float]]:
    """What is measured, in the order in which it is told; each answers CPU seconds per page."""
    pages = site(bodies)
    many = [page for copy in range(math.ceil(SEGMENT_PAGES / len(pages))) for page in site(bodies, copy)]
    few = pages[:: max(1, len(pages) // 50)]
    for name, chosen in (("all", pages), ("few", few)):
        folder = place / name
        folder.mkdir()
        for number, page in enumerate(chosen):
            (folder / f"{number:06d}.html").write_bytes(page.content)
    inputs = [PageInput(page, 1.0, 1) for page in pages]
    tiny, small, large = (segment_of(made, place / f"{len(made)}") for made in (pages[:1], pages, many))
    html = HtmlParser.from_conf(defaults())

    def trees() -> None:
        for page in pages:
            html.parse(page)

    def whole() -> None:
        parser = PageParser(defaults())
        for page in inputs:
            parser.parse(page)

    found: dict[str, Callable[[], float]] = {
        "lexbor: tree and links": lambda: of_peer("lexbor", place / "all") / len(pages),
        "html parser: text, links found": lambda: own(trees) / len(pages),
        "a page: links resolved, normalised, filtered": lambda: own(whole) / len(pages),
        f"the stage, {len(many)} pages: Parquet in and out": lambda: stage(large) / len(many),
        f"the stage, {len(pages)} pages": lambda: stage(small) / len(pages),
        "  of which start and worker, as for one page": lambda: stage(tiny) / len(pages),
        "BeautifulSoup over lxml: tree, text and links": lambda: of_peer("soup", place / "few") / len(few),
    }
    if scrapy is not None:
        found["Scrapy's LinkExtractor: tree and links"] = lambda: of_peer("scrapy", place / "few", scrapy) / len(few)
    return found


def options() -> argparse.Namespace:
    """What is parsed, and beside whom."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="of HTML files, searched with all below it")
    parser.add_argument("--pages", type=int, default=1000, help="at most")
    parser.add_argument("--scrapy", help="a Python that has Scrapy")
    return parser.parse_args()


def main(folder: Path | None, count: int, scrapy: str | None) -> None:
    """Print the table."""
    bodies = read(folder, count) if folder else generated(count)
    if not bodies:
        raise SystemExit(f"no HTML files in {folder}")
    size = sum(map(len, bodies.values())) / len(bodies) / 1024
    print(f"{len(bodies)} pages of {size:.1f} KB on average")
    with tempfile.TemporaryDirectory() as place:
        measured = works(bodies, Path(place), scrapy)
        rounds = [{name: work() for name, work in measured.items()} for _ in range(ROUNDS)]
    figures = {name: min(figure[name] for figure in rounds) for name in measured}
    bare = next(iter(figures.values()))
    for name, seconds in figures.items():
        print(f"{name:48} {1000 * seconds:8.3f} ms/page {1 / seconds:8.0f} pages/CPU s {bare / seconds:7.1%}")


if __name__ == "__main__":
    began = time.monotonic()
    asked = options()
    main(asked.folder, asked.pages, asked.scrapy)
    print(f"({time.monotonic() - began:.0f} s)")
