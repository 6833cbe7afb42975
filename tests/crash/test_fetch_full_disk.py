"""fetch on a disk that has no room left: exit code 4 and a line that says so, nothing damaged, and on it goes later."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from nutchpy.storage.check import BAD, check_segment
from nutchpy.storage.segment import Segment
from nutchpy.testing.crawls import make_segment, read_table
from nutchpy.testing.site import Site, text
from nutchpy.testing.site_server import SiteServer

PAGES = 40
PAGE_BYTES = 30_000
SETTINGS = ("http.agent.name=b", "http.filter.ipaddress.exclude=", "fetcher.server.delay=0.01")
OFTEN = ("fetcher.flush.seconds=0.2",)
PARSING = ("fetcher.parse=true",)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux" or os.geteuid() != 0, reason="mounting a small disk takes root on Linux"
    ),
]


class SmallDisk:
    """A file system in memory, of any size."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", path], capture_output=True).returncode:
            pytest.skip("this root may not mount")

    def room(self, free: int) -> None:
        """Let so many bytes be free."""
        used = shutil.disk_usage(self.path).used
        subprocess.run(["mount", "-o", f"remount,size={used + free}", self.path], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    disk = SmallDisk(tmp_path / "disk")
    yield disk
    subprocess.run(["umount", "-l", disk.path], check=True)


@pytest.fixture(scope="module")
def server() -> Iterator[SiteServer]:
    rng = random.Random(1)
    with SiteServer(Site({f"/{n}": text(rng.randbytes(PAGE_BYTES).hex()) for n in range(PAGES)})) as running:
        yield running


def fetch(segment: Segment, settings: Sequence[str]) -> subprocess.CompletedProcess[str]:
    words = [word for setting in (*SETTINGS, *settings) for word in ("-D", setting)]
    command = [sys.executable, "-m", "nutchpy", "fetch", str(segment.path), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=150)


@pytest.mark.parametrize(
    ("room", "lists", "settings"),
    [
        (0, 1, ()),
        (400_000, 1, OFTEN),
        (400_000, 2, OFTEN),
        (400_000, 1, (*PARSING, *OFTEN)),
        (int(PAGES * PAGE_BYTES * 1.4), 1, OFTEN),
    ],
    ids=["from the start", "midway", "two processes", "while parsing", "while merging"],
)
def test_a_full_disk(disk: SmallDisk, server: SiteServer, room: int, lists: int, settings: Sequence[str]) -> None:
    local = server.url().replace("127.0.0.1", "localhost")
    half = PAGES // 2
    urls = [[server.url(f"/{n}") for n in range(half)], [f"{local}{n}" for n in range(half, PAGES)]]
    segment = make_segment(disk.path / "segments", urls if lists == 2 else [urls[0] + urls[1]])
    disk.room(room)
    full = fetch(segment, settings)
    assert (full.returncode, "Traceback" in full.stderr) == (4, False), full.stderr
    assert "No space left on device" in full.stderr.splitlines()[-1]
    assert str(segment.path) in full.stderr.splitlines()[-1]
    assert [one for one in check_segment(segment) if one.severity in BAD] == []
    disk.room(64 << 20)
    again = fetch(segment, settings)
    assert again.returncode == 0, again.stderr
    assert list(check_segment(segment)) == []
    assert len(read_table(segment, "crawl_fetch")) == len(read_table(segment, "content")) == PAGES
    assert segment.meta.state("fetch") == "done"
    assert not list(segment.path.rglob("*.tmp"))
