"""Parsing: pages per CPU second, beside the bare tree builder and beside BeautifulSoup. Run by hand.

    python tests/benchmarks/parse.py [FOLDER OF HTML FILES] [PAGES]

Without a folder, pages are generated that look like documentation: some 25 KB, 400 elements, 100 links. Every figure
is CPU time, user and system, of this process and its children; the best of three rounds but for the stage, which is
run once, from the command's own code, with worker processes, Parquet in and out.
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from bs4 import BeautifulSoup
from selectolax.lexbor import LexborHTMLParser

from nutchpy.conf.layers import defaults
from nutchpy.core.content import Content
from nutchpy.parsing import PageInput, PageParser
from nutchpy.plugins.parse.html import HtmlParser
from nutchpy.stages.context import Context
from nutchpy.stages.parse import ParseOptions
from nutchpy.stages.runner import run_stage
from nutchpy.testing.crawls import add_fetch, make_segment

NOW = datetime(2026, 1, 1, tzinfo=UTC)
VOCABULARY = """
    time year people way day man thing woman life child world school state family student group country problem hand
    part place case week company system program question work government number night point home water room mother area
    money story fact month lot right study book eye job word business issue side kind head house service
"""
WORDS = VOCABULARY.split()


def generated(count: int) -> list[bytes]:
    """Pages of one site: the same navigation, different contents."""
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
    return [
        f"{top}<title>{words(4)}</title><script src='/static/doc.js'></script></head><body><nav><ul>{nav}</ul></nav>"
        f"<main>{''.join(section(number) for number in range(12))}</main></body></html>".encode()
        for _ in range(count)
    ]


def read(folder: Path, count: int) -> list[bytes]:
    """HTML files of a folder, those of more than 200 KB left out."""
    paths = (path for path in sorted(folder.rglob("*.html")) if path.stat().st_size < 200_000)
    return [path.read_bytes() for path in islice(paths, count)]


def cpu() -> float:
    """Seconds of CPU, children included."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measured(work: Callable[[], object], rounds: int = 3) -> float:
    """CPU seconds, the best of some rounds."""
    times = []
    for _ in range(rounds):
        start = cpu()
        work()
        times.append(cpu() - start)
    return min(times)


def bare(bodies: Iterable[bytes]) -> None:
    """The tree, and its links' references."""
    for body in bodies:
        for node in LexborHTMLParser(body.decode("utf-8", "replace")).css("a[href]"):
            node.attributes.get("href")


def soup(bodies: Iterable[bytes]) -> None:
    """The same by BeautifulSoup over lxml, and the text."""
    for body in bodies:
        tree = BeautifulSoup(body, "lxml")
        tree.get_text()
        for node in tree.find_all("a", href=True):
            node["href"]


def stage(pages: list[Content], folder: Path) -> float:
    """The whole stage on a segment of these pages; its workers end before the clock is read."""
    segment = make_segment(folder / "segments", ["http://unused.test/"])
    rows = {
        page.url: {"content": page.content, "headers": [{"name": "Content-Type", "value": "text/html"}]}
        for page in pages
    }
    add_fetch(segment, [{"url": url, "score": 1.0} for url in rows], content=rows)
    start = cpu()
    run_stage("parse", ParseOptions(segment.path), Context(defaults(), NOW, folder))
    return cpu() - start


def main(folder: str | None = None, count: str = "1000") -> None:
    """Print the table."""
    bodies = read(Path(folder), int(count)) if folder else generated(int(count))
    pages = [
        Content(f"http://docs.test/dir/{n}.html", f"http://docs.test/dir/{n}.html", "text/html", [], body, NOW)
        for n, body in enumerate(bodies)
    ]
    inputs = [PageInput(page, 1.0, 1) for page in pages]
    parser, whole = HtmlParser.from_conf(defaults()), PageParser(defaults())
    size = sum(map(len, bodies)) / len(bodies) / 1024
    print(f"{len(bodies)} pages of {size:.1f} KB on average")
    figures = {
        "lexbor: tree and links": measured(lambda: bare(bodies)),
        "html parser: text, links found": measured(lambda: [parser.parse(page) for page in pages]),
        "a page: links resolved, normalised, filtered": measured(lambda: [whole.parse(page) for page in inputs]),
    }
    with tempfile.TemporaryDirectory() as place:
        figures["the stage: Parquet in and out, workers"] = stage(pages, Path(place))
    few = bodies[: max(1, len(bodies) // 20)]
    figures["BeautifulSoup over lxml: tree, text and links"] = measured(lambda: soup(few), 1) * len(bodies) / len(few)
    first = next(iter(figures.values()))
    for name, seconds in figures.items():
        rate = len(bodies) / seconds
        print(f"{name:46} {1000 * seconds / len(bodies):8.3f} ms/page {rate:8.0f} pages/CPU s {first / seconds:6.1%}")


if __name__ == "__main__":
    began = time.monotonic()
    main(*sys.argv[1:])
    print(f"({time.monotonic() - began:.0f} s)")
