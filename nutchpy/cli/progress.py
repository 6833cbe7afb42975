"""Progress on stderr: a bar on a terminal, else a log line each ten seconds."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

_log = logging.getLogger("nutchpy.progress")
_SECONDS: Final = 10.0


class Shown(Protocol):
    """A stage's Progress that the command line closes when the stage has ended."""

    def update(self, done: int, total: int | None = None, text: str = "") -> None:
        """See stages.context.Progress."""
        ...

    def close(self) -> None:
        """Take the bar away."""
        ...


def shown(quiet: bool) -> Shown:
    """What fits where stderr goes."""
    if quiet:
        return Quiet()
    return Bar() if sys.stderr.isatty() else Lines()


class Quiet:
    """Shows nothing."""

    def update(self, done: int, total: int | None = None, text: str = "") -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Lines:
    """A line each ten seconds, the first after as many."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._next = monotonic() + _SECONDS

    def update(self, done: int, total: int | None = None, text: str = "") -> None:
        """Log, when it is time."""
        now = self._monotonic()
        if now >= self._next:
            self._next = now + _SECONDS
            _log.info("%s", text or (f"{done:,} of {total:,}" if total else f"{done:,}"))

    def close(self) -> None:
        """Nothing."""


class Bar:
    """A bar, drawn at most ten times a second, gone at the end."""

    def __init__(self) -> None:
        self._bar: RichProgress | None = None

    def update(self, done: int, total: int | None = None, text: str = "") -> None:
        """Move the bar."""
        bar = self._bar or self._started()
        bar.update(bar.task_ids[0], completed=done, total=total, description=text)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _started(self) -> RichProgress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
        )
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar.add_task("", total=None)
        self._bar.start()
        return self._bar
