"""The peers of the parse benchmark: what other libraries take for the same pages. One process each.

    python parse_peers.py NAME FOLDER       # FOLDER holds the pages; prints CPU seconds, the best of three rounds

A process of its own, so that a peer may live in an environment of its own, such as Scrapy's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

URL = "http://docs.test/dir/page.html"


def lexbor(bodies: Iterable[bytes]) -> None:
    """The bare parser: the tree, and its links' references."""
    from selectolax.lexbor import LexborHTMLParser

    for body in bodies:
        for node in LexborHTMLParser(body.decode("utf-8", "replace")).css("a[href]"):
            node.attributes.get("href")


def soup(bodies: Iterable[bytes]) -> None:
    """BeautifulSoup over lxml: tree, text and references."""
    from bs4 import BeautifulSoup

    for body in bodies:
        tree = BeautifulSoup(body, "lxml")
        tree.get_text()
        for node in tree.find_all("a", href=True):
            node["href"]


def scrapy(bodies: Iterable[bytes]) -> None:
    """Scrapy's LinkExtractor: tree, links resolved, filtered, made canonical, and their texts; no text of the page."""
    from scrapy.http import HtmlResponse
    from scrapy.linkextractors import LinkExtractor

    extract = LinkExtractor(canonicalize=True, unique=True).extract_links
    for body in bodies:
        extract(HtmlResponse(URL, body=body))


PEERS: dict[str, Callable[[Iterable[bytes]], None]] = {"lexbor": lexbor, "soup": soup, "scrapy": scrapy}


def main(name: str, folder: str) -> None:
    """Print the figure."""
    bodies = [path.read_bytes() for path in sorted(Path(folder).iterdir())]
    PEERS[name](bodies[:1])
    times = []
    for _ in range(3):
        start = time.process_time()
        PEERS[name](bodies)
        times.append(time.process_time() - start)
    print(min(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
