"""The simulated web in a process of its own, for benchmarks: it shares no interpreter with who measures."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .graph import PARAMETERS, Web
from .server import Hit, read_log

_TESTS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Served:
    """A web that another process serves."""

    web: Web
    port: int
    pid: int
    log: Path

    def settings(self) -> list[str]:
        """What a crawl is told of it."""
        return [
            "http.proxy.host=127.0.0.1",
            f"http.proxy.port={self.port}",
            "http.proxy.resolve=remote",
            "http.agent.name=bench",
        ]

    def hits(self) -> list[Hit]:
        """What was asked of it; to be called when it has ended."""
        with self.log.open(encoding="utf-8") as file:
            return list(read_log(file))


@contextlib.contextmanager
def served(web: Web, log: Path) -> Iterator[Served]:
    """Serve a web, and write a log of its requests."""
    words = [word for name in PARAMETERS for word in (f"--{name.replace('_', '-')}", str(getattr(web, name)))]
    command = [sys.executable, "-m", "simweb", "--log", str(log), *words]
    with subprocess.Popen(command, cwd=_TESTS, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Served(web, int(process.stdout.readline()), process.pid, log)
        finally:
            process.terminate()
