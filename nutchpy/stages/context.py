"""What a stage is given besides its options, and what it gives back. Values only; the command line fills them."""

from __future__ import annotations

import os
import select
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from nutchpy.conf.layers import Conf
from nutchpy.core.counters import Counters

if TYPE_CHECKING:
    from nutchpy.engine.base import Engine


class Progress(Protocol):
    """Where a stage tells how far it is, as often as it likes; the command line decides what to show."""

    def update(self, done: int, total: int | None = None, text: str = "") -> None:
        """``done`` of ``total`` (None when unknown); ``text`` is a status line of the stage's own."""
        ...


class NoProgress:
    """For callers that show none."""

    def update(self, done: int, total: int | None = None, text: str = "") -> None:
        """Do nothing."""


class Stop:
    """Whether a signal asked the run to end.

    A stage that looks (``is_set``, ``wait``, ``fileno``) is trusted to heed it: to publish what it has and return with
    exit code 5. A stage that never looked is interrupted where it stands, by KeyboardInterrupt: what it had not
    published is as if it had not begun.
    """

    def __init__(self) -> None:
        self.reason: str | None = None
        self.watched = False
        self._read, self._write = os.pipe()
        weakref.finalize(self, _close, self._read, self._write)

    def __call__(self) -> bool:
        return self.is_set()

    def is_set(self) -> bool:
        """Whether to end now."""
        self.watched = True
        return self.reason is not None

    def wait(self, seconds: float) -> bool:
        """Sleep, but no longer than until a signal comes; whether one has."""
        self.watched = True
        select.select([self._read], [], [], max(0.0, seconds))
        return self.reason is not None

    def fileno(self) -> int:
        """A descriptor that is readable from the signal on: for the selector of an event loop. Not to be read from."""
        self.watched = True
        return self._read

    def set(self, reason: str) -> None:
        """Ask the run to end. Safe in a signal handler: no lock, no allocation to speak of."""
        if self.reason is None:
            self.reason = reason
            os.write(self._write, b"x")


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _duckdb(conf: Conf, crawl_dir: Path | None) -> Engine:
    from nutchpy.engine.duckdb import DuckDBEngine  # a tenth of a second that commands without SQL need not pay
    from nutchpy.stages.spill import spill_folder

    return DuckDBEngine(conf.text("db.memory.limit"), conf.integer("db.threads"), spill_folder(conf, crawl_dir))


@dataclass(frozen=True)
class Context:
    """The surroundings of one run. ``now`` is the run's one instant, aware UTC; delays use ``monotonic``."""

    conf: Conf
    now: datetime
    crawl_dir: Path | None = None
    progress: Progress = field(default_factory=NoProgress)
    stop: Stop = field(default_factory=Stop)
    monotonic: Callable[[], float] = time.monotonic
    wait_lock: float = 0.0
    """Seconds to wait for another writer to end (``--wait-lock``)."""
    accept_conf_change: bool = False
    """Go on when this crawl's rule files are no longer found where the last run found them."""
    make_engine: Callable[[Conf, Path | None], Engine] = _duckdb

    @cached_property
    def engine(self) -> Engine:
        """The SQL engine, made at first use."""
        return self.make_engine(self.conf, self.crawl_dir)


@dataclass(frozen=True)
class Outcome:
    """What a stage came to."""

    counters: Counters = field(default_factory=Counters)
    lines: Iterable[str] = ()
    """Result lines for stdout, without line ends; may be an iterator that works while it is read."""
    data: Any = None
    """What ``--json`` prints; an iterator gives one object per line, None gives the counters."""
    exit_code: int = 0
    summary: Sequence[str] = ()
    """Words for the person at the terminal, for stderr: what came of it and what to do next."""
