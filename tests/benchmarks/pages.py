"""What the fetch benchmark crawls: nginx on every loopback address, and pages that compress as real ones do.

A thousand different pages of some 22 KB, four to one, are served under all paths; they are too far apart for a
compressor to find one again in the next.
"""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Final

NGINX: Final = shutil.which("nginx", path="/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin:/usr/local/bin")
PAGES: Final = 1000
SIZE: Final = 22_000
_LETTERS: Final = "etaoinshrdlucmfwypvbgk"
_FREQUENCIES: Final = list(accumulate(1 / rank for rank in range(1, 800)))
_WORD: Final = 7
"""Letters of a word, a space with them."""
_CONF: Final = """
daemon off; pid {run}/nginx.pid; error_log {run}/error.log; worker_processes 1;
events {{ worker_connections 4096; }}
http {{
  client_body_temp_path {run}/b; proxy_temp_path {run}/p; fastcgi_temp_path {run}/f; uwsgi_temp_path {run}/u;
  scgi_temp_path {run}/s; access_log off; keepalive_requests 100000; default_type text/html;
  server {{ listen {port} backlog=4096; root {run}/www;
    location = /robots.txt {{ return 200 "User-agent: *\\nDisallow: /private\\n"; }}
    location ~ "(\\d{{3}})$" {{ try_files /$1.html =404; }} }}
}}
"""


def url(host: int, page: int, port: int) -> str:
    """A page's URL: each host has its own, and the next one has others."""
    return f"http://127.0.{host // 250}.{host % 250 + 1}:{port}/docs/section-{page % 7}/{(host * 37 + page):06d}"


def page(rng: random.Random, words: Sequence[str], number: int, links: int) -> bytes:
    """One page: a paragraph per link."""

    def text(count: int) -> str:
        return " ".join(rng.choices(words, cum_weights=_FREQUENCIES, k=count))

    parts = [f"<!doctype html>\n<html><head><title>{text(4)} {number}</title></head>\n<body>"]
    for _ in range(links):
        target = f"/docs/section-{rng.randrange(7)}/{rng.randrange(10**6):06d}"
        room = SIZE // links - len(target) - 24
        parts.append(f'<p><a href="{target}">{text(3)}</a> {text(max(1, room // _WORD - 3))}.</p>\n')
    return "".join([*parts, "</body></html>\n"]).encode()


def write_pages(folder: Path, links: int) -> None:
    """The same ones each time."""
    rng = random.Random(7)
    words = ["".join(rng.choices(_LETTERS, range(len(_LETTERS), 0, -1), k=rng.randint(2, 10))) for _ in _FREQUENCIES]
    folder.mkdir(parents=True)
    for number in range(PAGES):
        (folder / f"{number:03d}.html").write_bytes(page(rng, words, number, links))


@contextmanager
def nginx(run: Path, links: int) -> Iterator[int]:
    """The server; its port."""
    write_pages(run / "www", links)
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
