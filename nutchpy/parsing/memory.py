"""How much memory a process takes, and what it may take at most."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc/self/statm")
_PAGE: Final = resource.getpagesize()
_KEPT: Final = str(32 << 20)
"""Bytes of free memory that a worker keeps: to ask the kernel anew at each page takes 3 % of its time."""


def resident(pid: int) -> int:
    """Bytes of another process in memory; 0 when it is gone. Where there is no ``/proc``, ``ps`` is asked."""
    if _PROC.exists():
        try:
            return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE
        except (OSError, IndexError):
            return 0
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return int(told.stdout.strip() or 0) * 1024


def peak(who: int) -> int:
    """Most bytes that this process had in memory."""
    size = resource.getrusage(who).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024


def cap(limit: int) -> None:
    """Let this process map ``limit`` bytes more than it has now, twice over: a backstop for what grows at once.

    Address space is not memory (libraries reserve more than they use), hence the margin, and hence only as a backstop:
    the parent looks at what is really in memory.
    """
    if limit > 0 and _PROC.exists():
        mapped = int(_PROC.read_text(encoding="ascii").split()[0]) * _PAGE
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = mapped + 2 * limit
        resource.setrlimit(resource.RLIMIT_AS, (wanted if hard < 0 else min(wanted, hard), hard))


def environment(package: Path) -> dict[str, str]:
    """For a worker: this package first in the path, and allocators that give memory back, but for a little."""
    path = os.environ.get("PYTHONPATH")
    paths = os.pathsep.join([str(package), *([path] if path else [])])
    return {
        **os.environ,
        "PYTHONPATH": paths,
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "MALLOC_ARENA_MAX": "2",
        "MALLOC_MMAP_THRESHOLD_": _KEPT,
        "MALLOC_TRIM_THRESHOLD_": _KEPT,
        "MALLOC_TOP_PAD_": str(4 << 20),
        "OMP_NUM_THREADS": "1",
    }
