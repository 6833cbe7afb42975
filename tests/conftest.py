"""For all tests: signals, children that hang, property tests.

Property tests know no deadline, since machines are shared; in CI they try the same examples each time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import settings

Mortal = Callable[..., "subprocess.Popen[Any]"]

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def let_children_have_signals() -> None:
    """What nohup or ``&`` made ignored, programs started by tests would ignore too, and tests send signals.

    A handler that does nothing ignores as well, but is not inherited.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


let_children_have_signals()


def pytest_addoption(parser: pytest.Parser) -> None:
    """What is too long for every run."""
    parser.addoption("--kills", type=int, default=0, help="random moments at which tests/crash kills a command")
    parser.addoption("--rounds", type=int, default=0, help="rounds of the long history of tests/stages")


@pytest.fixture
def mortal() -> Iterator[Mortal]:
    """``mortal(process, seconds=60)``: the process, killed after that time or when the test ends."""
    watched: list[tuple[threading.Timer, subprocess.Popen[Any]]] = []

    def mortal(process: subprocess.Popen[Any], seconds: float = 60) -> subprocess.Popen[Any]:
        timer = threading.Timer(seconds, process.kill)
        timer.daemon = True
        timer.start()
        watched.append((timer, process))
        return process

    yield mortal
    for timer, process in watched:
        timer.cancel()
        process.kill()
