"""Whole crawls through the command line, as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

SETTINGS = """
[http]
"agent.name" = "nutchpy-test"
"filter.ipaddress.exclude" = ""
"content.limit" = 8388608

[db]
"max.outlinks.per.page" = -1
"ignore.external.links" = true
"""

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def conf_dir(tmp_path: Path) -> Path:
    """Settings for loopback servers; a test may add to the file."""
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "nutchpy-site.toml").write_text(SETTINGS)
    return folder


@pytest.fixture
def environment(conf_dir: Path) -> dict[str, str]:
    """What a cron job has: next to nothing."""
    return {"PATH": os.environ["PATH"], "LANG": "C", "NUTCHPY_CONF_DIR": str(conf_dir)}


@pytest.fixture
def nutchpy(environment: dict[str, str]) -> Command:
    """Run one command; a code that was not expected shows what it said."""

    def run(*words: object, expect: Sequence[int] = (0,), timeout: float = 180) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "nutchpy", *map(str, words)]
        done = subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, timeout=timeout)
        assert done.returncode in expect, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run
