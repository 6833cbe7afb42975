"""A real documentation site for whole crawls: Debian's python3-doc, served by nginx on several loopback addresses.

Also says, by a walk over the files that shares no code with nutchpy, which pages a crawl of some depth must reach.
"""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from lxml import html

DOCS = Path("/usr/share/doc/python3.11/html")
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin:/usr/local/bin")
DISALLOWED = "/whatsnew/"
_SUFFIXES = re.compile(
    r"\.(gif|jpg|png|ico|css|sit|eps|wmf|zip|ppt|mpg|xls|gz|rpm|tgz|mov|exe|jpeg|bmp|js)$", re.IGNORECASE
)
"""What the shipped URL filter refuses."""
_LINKS = "//a/@href | //area/@href | //link/@href | //img/@src | //script/@src | //iframe/@src"
_CONF = """
daemon off; pid {run}/nginx.pid; error_log {run}/error.log; worker_processes 1;
events {{ worker_connections 512; }}
http {{
  include /etc/nginx/mime.types; client_body_temp_path {run}/b; proxy_temp_path {run}/p;
  fastcgi_temp_path {run}/f; uwsgi_temp_path {run}/u; scgi_temp_path {run}/s;
  log_format records '$msec\t$request_time\t$http_host\t$status\t$request_uri';
  access_log {run}/access.log records;
  server {{ {listens} root {docs}; index index.html; disable_symlinks off;
    location = /robots.txt {{ return 200 "User-agent: *\\n{disallowed}"; }} }}
}}
"""


def missing() -> str | None:
    """Why the site cannot be served here, or None."""
    if sys.platform == "darwin":
        return "needs 127.0.0.2 and up, which macOS does not have"
    if NGINX is None:
        return "nginx is not installed (apt-get install nginx-light)"
    if not (DOCS / "index.html").exists():
        return "python3-doc is not installed (apt-get install python3-doc)"
    return None


@dataclass(frozen=True)
class Request:
    """One line of the access log; times in seconds, ``end`` when the answer was sent."""

    start: float
    end: float
    host: str
    status: int
    path: str


@dataclass(frozen=True)
class DocSite:
    """The running server."""

    hosts: Sequence[str]
    port: int
    run: Path

    @property
    def seeds(self) -> list[str]:
        return [f"http://{host}:{self.port}/" for host in self.hosts]

    def requests(self) -> list[Request]:
        """The access log, robots.txt left out."""
        return [line for line in self._log() if line.path != "/robots.txt"]

    def _log(self) -> Iterator[Request]:
        for line in (self.run / "access.log").read_text().splitlines():
            end, took, host, status, path = line.split("\t")
            yield Request(float(end) - float(took), float(end), host.partition(":")[0], int(status), path)

    def forget(self) -> None:
        """Begin a new access log."""
        (self.run / "access.log").write_text("")


@contextmanager
def served(
    run: Path, hosts: Sequence[str] = ("127.0.0.1", "127.0.0.2", "127.0.0.3"), disallowed: Sequence[str] = (DISALLOWED,)
) -> Iterator[DocSite]:
    """Serve the site for a block, closed to robots below the paths ``disallowed``."""
    assert NGINX is not None
    run.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    listens = " ".join(f"listen {host}:{port};" for host in hosts)
    conf = run / "nginx.conf"
    robots = "".join(f"Disallow: {path}\\n" for path in disallowed)
    conf.write_text(_CONF.format(run=run, listens=listens, docs=DOCS, disallowed=robots))
    with subprocess.Popen([NGINX, "-p", str(run), "-c", str(conf), "-e", str(run / "error.log")]) as server:
        try:
            _wait(hosts[0], port, server)
            yield DocSite(hosts, port, run)
        finally:
            server.send_signal(signal.SIGTERM)


def reachable(depth: int) -> dict[str, int]:
    """Path of every page a crawl lists within ``depth`` rounds from ``/``, with its link distance."""
    found = {"/": 0}
    frontier = ["/"]
    for distance in range(1, depth):
        targets = [target for page in frontier for target in _links(page)]
        frontier = [target for target in dict.fromkeys(targets) if target not in found]
        found.update(dict.fromkeys(frontier, distance))
    return found


@cache
def _links(path: str) -> tuple[str, ...]:
    if path.startswith(DISALLOWED):
        return ()
    file = DOCS / unquote(urlsplit(path).path).lstrip("/")
    file = file / "index.html" if file.is_dir() else file
    if not file.is_file() or file.suffix not in (".html", ""):
        return ()
    tree = html.fromstring(file.read_bytes(), parser=html.HTMLParser(encoding="utf-8"))
    targets = []
    for link in tree.xpath(_LINKS):
        target = urldefrag(urljoin(f"http://host{path}", link.strip())).url
        parts = urlsplit(target)
        if parts.netloc == "host" and not _SUFFIXES.search(target):
            targets.append(parts.path + (f"?{parts.query}" if parts.query else ""))
    return tuple(dict.fromkeys(target for target in targets if target != path))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(host: str, port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(100):
        assert server.poll() is None, "nginx ended at once"
        try:
            socket.create_connection((host, port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError("nginx does not answer")
