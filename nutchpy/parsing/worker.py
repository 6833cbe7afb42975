"""A worker process: does one job after the other for the parent whose socket it was started with.

It starts as a fresh interpreter, so it holds no lock of the parent's, and ends when the socket closes: by itself
between pages, by a watching thread while it is at one, and by the page's timer when a library holds the interpreter.
"""

from __future__ import annotations

import gc
import logging
import os
import resource
import select
import threading
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection
from typing import Final

from nutchpy.conf.layers import Conf
from nutchpy.core.errors import NutchpyError
from nutchpy.parsing import jobs, memory
from nutchpy.parsing.board import Board
from nutchpy.parsing.messages import Done, Failed
from nutchpy.parsing.page import PageParser

_ORPHANED: Final = 3
_GARBAGE: Final = 50_000
"""Objects made and not let go of before cycles are looked for. A page's elements are some thousand, and no cycle."""


class _LogToParent(QueueHandler):
    """Sends log records to the parent, whose handlers then have them."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)  # type: ignore[arg-type]  # any object will do: enqueue is ours

    def enqueue(self, record: logging.LogRecord) -> None:
        """Send."""
        connection: Connection = self.queue  # type: ignore[assignment]
        connection.send(record)


def main(socket: int, board_descriptor: int) -> int:
    """Work until the parent hangs up."""
    threading.Thread(target=_end_with_parent, args=(socket,), daemon=True).start()
    connection = Connection(socket)
    try:
        begin = connection.recv()
        log = logging.getLogger("nutchpy")
        log.addHandler(_LogToParent(connection))
        log.setLevel(begin.level)
        board = Board(board_descriptor, begin.conf.integer("parser.timeout"))
        _serve(connection, board, begin.conf)
    except (EOFError, ConnectionError):
        return 0
    return 0


def _serve(connection: Connection, board: Board, conf: Conf) -> None:
    limit = conf.integer("parser.memory.limit")
    try:
        parser = PageParser(conf)
        jobs.load()
        memory.cap(limit)
        gc.freeze()
        gc.set_threshold(_GARBAGE)
    except Exception as error:  # noqa: BLE001  worker boundary: the parent raises it
        connection.recv()
        connection.send(Failed(_portable(error)))
        return
    while True:
        job = connection.recv()
        try:
            answer: Done | Failed = Done(job.run(parser, board), parser.take_counters(), _has_grown(limit))
        except Exception as error:  # noqa: BLE001  worker boundary: the parent raises it
            answer = Failed(_portable(error))
        connection.send(answer)


def _has_grown(limit: int) -> bool:
    return 0 < limit < memory.peak(resource.RUSAGE_SELF)


def _portable(error: Exception) -> Exception:
    """An error that pickles, with its trace in the log when it was not made on purpose."""
    if isinstance(error, (NutchpyError, OSError)):
        return error
    logging.getLogger(__name__).error("a parsing process failed", exc_info=error)
    return NutchpyError(f"a parsing process failed: {type(error).__name__}: {error}")


def _end_with_parent(socket: int) -> None:
    poll = select.poll()
    poll.register(socket, 0)  # hang-ups are told in any case
    while not poll.poll():
        pass
    os._exit(_ORPHANED)
