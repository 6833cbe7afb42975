"""Runs the program: in its own process, with a command of the test's own when it needs one."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Start = Callable[..., "subprocess.Popen[str]"]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

WITH_SAMPLE = (
    "from nutchpy.cli import main; main.COMMANDS['sample'] = main.Entry('sample_stage', 'A sample.'); main.main()"
)
PREFIX = """
'''sample: a stage for tests.'''
import errno, os, time
from dataclasses import dataclass
from pathlib import Path
from nutchpy.core import errors
from nutchpy.core.counters import Counters
from nutchpy.stages.context import Outcome
from nutchpy.stages.options import Options, argument, flag, setting

EXAMPLE = "nutchpy sample crawl/crawldb"

@dataclass(frozen=True)
class SampleOptions(Options):
    crawldb: Path = argument("The crawldb.", Path("crawl/crawldb"))
    cron: bool = flag("Under cron.", False, "--cron")
    topn: int = setting("generate.topN", "Best N.", "-topN")

def run(options, ctx):
"""


@pytest.fixture
def start(tmp_path: Path, mortal: Start) -> Start:
    """``start(body, *args, env={}, under=())``: a process that runs ``sample``, whose ``run`` has that body.

    ``under`` is a command that runs the command which follows it.
    """

    def start(
        body: str, *args: str, env: dict[str, str] | None = None, under: Sequence[str] = (), **more: object
    ) -> "subprocess.Popen[str]":
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        (tmp_path / "sample_stage.py").write_text(PREFIX + lines, encoding="utf-8")
        clean = {name: value for name, value in os.environ.items() if not name.startswith("NUTCHPY_")}
        process = subprocess.Popen(
            [*under, sys.executable, "-P", "-c", WITH_SAMPLE, *args],
            cwd=tmp_path,
            env={**clean, "PYTHONPATH": str(tmp_path), **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="surrogateescape",
            **more,  # type: ignore[call-overload]
        )
        return mortal(process)

    return start


@pytest.fixture
def run(start: Start) -> Run:
    """The same, waited for."""

    def run(body: str, *args: str, **more: object) -> "subprocess.CompletedProcess[str]":
        with start(body, *args, **more) as process:
            out, err = process.communicate(timeout=60)
            return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    return run
