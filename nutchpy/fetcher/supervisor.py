"""Supervisor: a process per fetch list, begun, watched, begun again when the system kills it, and stopped together.

A worker is a fresh interpreter (nothing is inherited but its end of a socket pair), so it holds no lock of ours and
ends when we do. It takes its list's lock itself; one that was killed resumes its list from what was published.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final, Protocol

from nutchpy.core.counters import Counters
from nutchpy.core.errors import NutchpyError
from nutchpy.fetcher.channel import Begin, Channel, Ended, Message, Standing, Stop
from nutchpy.fetcher.lists import ListResult, Task
from nutchpy.fetcher.status import FetchStatus
from nutchpy.fetcher.tail import asked_by_signal

_log = logging.getLogger(__name__)

MOST_RESTARTS: Final = 3
_END_SECONDS: Final = 5.0
_END_AT_ONCE_SECONDS: Final = 1.0


class StopSignal(Protocol):
    """Readable once the run is to end."""

    def fileno(self) -> int:
        """For waiting."""
        ...


@dataclass(slots=True, eq=False)
class _Worker:
    """A list being fetched by a process."""

    task: Task
    process: subprocess.Popen[bytes]
    channel: Channel
    restarts: int = 0
    begun: bool = False
    """It has said something: its signal handlers are there."""
    standing: Standing = field(default_factory=lambda: Standing(FetchStatus(), Counters()))
    before: Counters = field(default_factory=Counters)
    """Counted by processes of this list that were killed."""

    def fileno(self) -> int:
        return self.channel.fileno()


class Supervisor:
    """``run`` fetches all lists, at most ``processes`` at a time."""

    def __init__(
        self,
        tasks: Sequence[Task],
        processes: int,
        grace: float,
        stop: StopSignal,
        monotonic: Callable[[], float],
        report: Callable[[FetchStatus], None],
    ) -> None:
        self._waiting = list(tasks)
        self._processes = processes
        self._grace = grace
        self._stop = stop
        self._monotonic = monotonic
        self._begin = monotonic()
        self._report = report
        self._workers: list[_Worker] = []
        self._ended = FetchStatus()
        self._stopping = False
        self.results: list[ListResult] = []

    def run(self) -> list[ListResult]:
        """One result per list begun; raises the first error of a worker when all have ended."""
        errors: list[BaseException] = []
        try:
            with asked_by_signal(self._pass_on):
                self._fetch(errors)
        except BaseException:
            self._end_all(_END_AT_ONCE_SECONDS)
            raise
        if errors:
            raise errors[0]
        return self.results

    def _fetch(self, errors: list[BaseException]) -> None:
        while self._workers or (self._waiting and not self._stopping and not errors):
            self._fill(errors)
            for ready in self._ready():
                if isinstance(ready, _Worker):
                    self._listen(ready, errors)
                else:
                    self._stop_all("interrupted")

    def _pass_on(self) -> None:
        """Hand the question on to the workers that are up to answer it."""
        for worker in self._workers:
            if worker.begun:
                worker.process.send_signal(signal.SIGUSR1)

    def _ready(self) -> Sequence[object]:
        """Wait for a word of a worker, or for the signal to stop."""
        awaited: list[Any] = [*self._workers, *([] if self._stopping else [self._stop])]
        return wait(awaited)

    def _fill(self, errors: list[BaseException]) -> None:
        while self._waiting and len(self._workers) < self._processes and not self._stopping and not errors:
            self._workers.append(self._launch(self._waiting.pop(0)))

    def _launch(self, task: Task) -> _Worker:
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-P", "-m", "nutchpy.worker", "nutchpy.fetcher.worker", str(theirs.fileno())]
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=2, pass_fds=[theirs.fileno()], env=_environment()
            )
        channel = Channel(Connection(ours.detach()))
        elapsed = self._monotonic() - self._begin
        left = None if task.seconds is None else max(0.0, task.seconds - elapsed)
        channel.send(Begin(replace(task, seconds=left), logging.getLogger("nutchpy").getEffectiveLevel()))
        return _Worker(task, process, channel)

    def _listen(self, worker: _Worker, errors: list[BaseException]) -> None:
        try:
            message = worker.channel.receive()
        except EOFError:
            self._lost(worker, errors)
            return
        if isinstance(message, Ended):
            self._retire(worker)
            if message.error is not None:
                errors.append(message.error)
                self._stop_all("error")
            if message.result is not None:
                self._finish(worker, message.result)
            return
        self._take(worker, message)

    def _take(self, worker: _Worker, message: Message) -> None:
        if isinstance(message, logging.LogRecord):
            logging.getLogger(message.name).handle(message)
        elif isinstance(message, Standing):
            worker.standing, worker.begun = message, True
            self._report(sum((other.standing.status for other in self._workers), self._ended))

    def _finish(self, worker: _Worker, result: ListResult) -> None:
        self.results.append(replace(result, counters=result.counters + worker.before))
        status = result.status
        self._ended += FetchStatus(pages=status.pages, errors=status.errors, bytes=status.bytes)

    def _lost(self, worker: _Worker, errors: list[BaseException]) -> None:
        """A worker ended without a word: begin its list again, a few times."""
        code = self._retire(worker)
        number, restarts = worker.task.number, worker.restarts + 1
        before = worker.before + worker.standing.counters
        if self._stopping or restarts > MOST_RESTARTS:
            self.results.append(ListResult(before, reason="killed"))
            if not self._stopping:
                errors.append(NutchpyError(f"the process of fetch list {number} was killed {restarts} times ({code})"))
                self._stop_all("error")
            return
        _log.warning("the process of fetch list %d was killed (%s); its list is resumed", number, code)
        again = self._launch(replace(worker.task, unclean=True, resumed=True))
        again.restarts, again.before = restarts, before
        self._workers.append(again)

    def _retire(self, worker: _Worker) -> int:
        self._workers.remove(worker)
        worker.channel.close()
        try:
            return worker.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            worker.process.kill()
            return worker.process.wait()

    def _stop_all(self, reason: str) -> None:
        self._stopping = True
        for worker in self._workers:
            worker.channel.send(Stop(reason, self._grace))

    def _end_all(self, seconds: float) -> None:
        """No worker outlives this call; each has some seconds to publish what it has."""
        for worker in self._workers:
            worker.channel.close()
        for worker in self._workers:
            try:
                worker.process.wait(seconds)
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
        self._workers.clear()


def _environment() -> dict[str, str]:
    """Ours, with this very package first in the path."""
    here = str(Path(__file__).parents[2])
    path = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{here}{os.pathsep}{path}" if path else here}
