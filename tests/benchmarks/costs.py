"""What a command costs: CPU and wall seconds, and the most memory that all its processes held together."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

_EVERY = 0.1


@dataclass(frozen=True)
class Cost:
    """``peak`` in MB; pages that processes share count once."""

    cpu: float
    wall: float
    peak: float

    def __add__(self, other: Cost) -> Cost:
        """One after the other."""
        return Cost(self.cpu + other.cpu, self.wall + other.wall, max(self.peak, other.peak))


def spent(command: Sequence[str], cwd: Path) -> Cost:
    """Run a command to its end; what it says is shown only when it fails."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    log = cwd / "log"
    with log.open("wb") as out, subprocess.Popen(command, cwd=cwd, stdout=out, stderr=out) as process:
        watch = _Watch(process.pid)
        watch.start()
        code = process.wait()
        wall = time.monotonic() - begin
        watch.over.set()
        watch.join()
    if code:
        raise SystemExit(f"{log.read_text()}\n{' '.join(command)} ended with {code}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, watch.peak)


class _Watch(threading.Thread):
    """Looks at a process and those under it ten times a second."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._root = psutil.Process(pid)
        self.over = threading.Event()
        self.peak = 0.0

    def run(self) -> None:
        """Until it is over."""
        while not self.over.wait(_EVERY):
            try:
                tree = [self._root, *self._root.children(recursive=True)]
            except psutil.Error:
                return
            self.peak = max(self.peak, sum(map(_memory, tree)))


def _memory(process: psutil.Process) -> float:
    """MB; of what is shared, its share. Elsewhere than on Linux, shared pages count for each."""
    try:
        info = process.memory_full_info() if os.path.exists("/proc/self/smaps_rollup") else process.memory_info()  # noqa: PTH110
    except psutil.Error:
        return 0.0
    return float(getattr(info, "pss", info.rss)) / (1 << 20)
