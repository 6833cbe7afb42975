"""The pool: worker processes that may be killed, driven without threads from any event loop.

    pool = ParsePool(conf)
    pool.submit(PagesJob([PageInput(content, score, depth)]), token)
    for done in pool.wait(1.0):         # or, in a loop of your own: select on pool.fileno() until pool.deadline(),
        done.token, done.answer         # then pool.step()
    pool.close()

Every job submitted completes exactly once. A page that hangs, crashes its process or eats its memory costs a new
process and that page alone: the job is done again without it, the page's status says what happened. What no page is to
blame for (a plugin that cannot be loaded, a damaged file) is raised by ``step``.
"""

from __future__ import annotations

import logging
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from nutchpy.conf.layers import Conf
from nutchpy.core.counters import Counters
from nutchpy.core.errors import NutchpyError
from nutchpy.core.parse import ParseStatus
from nutchpy.parsing import memory
from nutchpy.parsing.board import Board
from nutchpy.parsing.jobs import Job
from nutchpy.parsing.messages import Begin, Done, Failed

_log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.25
"""How often the memory of a process is looked at, once its job has taken that long."""
MOST_DEATHS: Final = 3
"""Deaths in a row that no page is to blame for."""
_PACKAGE: Final = Path(__file__).parents[2]
_MESSAGES: Final = {
    ParseStatus.TIMEOUT: "took longer than parser.timeout",
    ParseStatus.MEMORY: "took more memory than parser.memory.limit",
}


@dataclass(frozen=True, slots=True)
class Completion:
    """A job done: its token, the answer of its ``run``, what was counted."""

    token: Any
    answer: Any
    counters: Counters


@dataclass(slots=True)
class _Task:
    job: Job
    token: Any
    deaths: int = 0


@dataclass(slots=True, eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection
    board: Board
    task: _Task | None = None
    since: float = 0.0
    too_large: bool = False
    looked: float = field(default=0.0)


class ParsePool:
    """``workers`` processes (None: ``parse.workers``, where 0 means one per processor), begun when there is work."""

    def __init__(self, conf: Conf, workers: int | None = None, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._conf = conf
        self.size = workers or conf.integer("parse.workers") or os.cpu_count() or 1
        self._limit = conf.integer("parser.memory.limit")
        self._monotonic = monotonic
        self._workers: list[_Worker] = []
        self._tasks: deque[_Task] = deque()
        self._selector = selectors.DefaultSelector()

    def submit(self, job: Job, token: Any) -> None:
        """Have a job done; ``token`` names it in its Completion."""
        self._tasks.append(_Task(job, token))
        self._hand_out()

    @property
    def waiting(self) -> int:
        """Jobs that no worker has yet."""
        return len(self._tasks)

    @property
    def pending(self) -> int:
        """Jobs submitted and not completed."""
        return len(self._tasks) + sum(worker.task is not None for worker in self._workers)

    def fileno(self) -> int:
        """Readable when ``step`` has something to do."""
        return self._selector.fileno()

    def deadline(self) -> float | None:
        """The monotonic instant by which ``step`` wants to be called again; None while nothing is being done."""
        busy = [worker.looked for worker in self._workers if worker.task is not None]
        return min(busy) + LOOK_SECONDS if busy and self._limit > 0 else None

    def step(self) -> list[Completion]:
        """What completed; also hands out jobs, buries the dead and looks at the memory of the living."""
        completed = [done for key, _ in self._selector.select(0) if (done := self._hear(key.data)) is not None]
        self._look()
        self._hand_out()
        return completed

    def wait(self, seconds: float) -> list[Completion]:
        """``step``, when there is something to do or the time is over."""
        deadline = self.deadline()
        if deadline is not None:
            seconds = min(seconds, max(0.0, deadline - self._monotonic()))
        self._selector.select(seconds)
        return self.step()

    def close(self) -> None:
        """End the workers; what was not completed is dropped."""
        for worker in self._workers:
            worker.connection.close()
            worker.process.kill()
            worker.process.wait()
            worker.board.close()
        self._workers.clear()
        self._tasks.clear()
        self._selector.close()

    def __enter__(self) -> ParsePool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _hand_out(self) -> None:
        """Waiting jobs to idle workers, and to new ones."""
        idle = deque(worker for worker in self._workers if worker.task is None)
        while self._tasks and (idle or len(self._workers) < self.size):
            worker = idle.popleft() if idle else self._begin_worker()
            worker.task = self._tasks.popleft()
            worker.since = worker.looked = self._monotonic()
            self._send(worker, worker.task.job)

    def _begin_worker(self) -> _Worker:
        ours, theirs = socket.socketpair()
        board = Board()
        with theirs:
            descriptors = (theirs.fileno(), board.descriptor)
            command = [sys.executable, "-P", "-m", "nutchpy.worker", "nutchpy.parsing.worker", *map(str, descriptors)]
            environment = memory.environment(_PACKAGE)
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=2, pass_fds=descriptors, env=environment
            )
        worker = _Worker(process, Connection(ours.detach()), board)
        self._workers.append(worker)
        self._selector.register(worker.connection, selectors.EVENT_READ, worker)
        self._send(worker, Begin(self._conf, logging.getLogger("nutchpy").getEffectiveLevel()))
        return worker

    @staticmethod
    def _send(worker: _Worker, message: object) -> None:
        """To a worker that waits for it; one that has died is found out when it is heard."""
        try:
            worker.connection.send(message)
        except (BrokenPipeError, ConnectionResetError):
            return

    def _hear(self, worker: _Worker) -> Completion | None:
        try:
            message = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            self._bury(worker)
            return None
        if isinstance(message, logging.LogRecord):
            logging.getLogger(message.name).handle(message)
            return None
        task, worker.task = worker.task, None
        if isinstance(message, Failed):
            raise message.error
        if not isinstance(message, Done) or task is None:
            raise NutchpyError(f"a parsing process said {message!r:.200} out of turn")
        if message.retire:
            self._discharge(worker)
        return Completion(task.token, message.answer, message.counters)

    def _bury(self, worker: _Worker) -> None:
        """A worker has died: give its job, without the page that it died of, to another."""
        page = worker.board.page
        code = self._discharge(worker)
        task = worker.task
        if task is None:
            return
        if page is None:
            task.deaths += 1
            if task.deaths >= MOST_DEATHS:
                raise NutchpyError(f"parsing processes die ({_how(code)}) and no page is to blame")
        else:
            status = _verdict(worker, code)
            _log.info("a page cost its parsing process: %s (%s)", status, _how(code))
            task.job = task.job.without(page, status, _MESSAGES.get(status, f"its process died: {_how(code)}"))
        self._tasks.appendleft(task)

    def _discharge(self, worker: _Worker) -> int:
        """Take a worker out; what it ended with."""
        self._selector.unregister(worker.connection)
        self._workers.remove(worker)
        worker.connection.close()
        worker.board.close()
        return _reaped(worker.process)

    def _look(self) -> None:
        """Kill the processes that have grown beyond the limit."""
        now = self._monotonic()
        for worker in self._workers:
            if self._limit <= 0 or worker.task is None or now - worker.looked < LOOK_SECONDS:
                continue
            worker.looked = now
            if memory.resident(worker.process.pid) > self._limit and worker.board.page is not None:
                worker.too_large = True
                worker.process.kill()


def _reaped(process: subprocess.Popen[bytes]) -> int:
    """How it ended. It has hung up, so it ends at once, unless it is stuck."""
    try:
        return process.wait(1.0)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _verdict(worker: _Worker, code: int) -> ParseStatus:
    if worker.too_large:
        return ParseStatus.MEMORY
    return ParseStatus.TIMEOUT if code == -signal.SIGALRM else ParseStatus.CRASHED


def _how(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
