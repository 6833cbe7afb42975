"""The talk between the supervisor and a worker process: messages over a socket pair that dies with either of them."""

from __future__ import annotations

import logging
import pickle
import threading
from dataclasses import dataclass
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection

from nutchpy.core.counters import Counters
from nutchpy.fetcher.lists import ListResult, Task
from nutchpy.fetcher.status import FetchStatus


@dataclass(frozen=True, slots=True)
class Begin:
    """To the worker: fetch this. ``level`` is what of its log is wanted."""

    task: Task
    level: int


@dataclass(frozen=True, slots=True)
class Stop:
    """To the worker: begin nothing more; what is in flight has ``grace`` seconds to end."""

    reason: str
    grace: float


@dataclass(frozen=True, slots=True)
class Standing:
    """From the worker: how it stands."""

    status: FetchStatus
    counters: Counters


@dataclass(frozen=True, slots=True)
class Ended:
    """From the worker: its result, or the error that it ended with."""

    result: ListResult | None
    error: BaseException | None = None


Message = Begin | Stop | Standing | Ended | logging.LogRecord


class Channel:
    """One end. Sending is safe from any thread; receiving raises EOFError when the other end is gone."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def fileno(self) -> int:
        """For selectors."""
        return self._connection.fileno()

    def send(self, message: Message) -> None:
        """Send; a message to an end that is gone is nobody's."""
        try:
            with self._lock:
                self._connection.send_bytes(pickle.dumps(message))
        except (BrokenPipeError, ConnectionResetError):
            return

    def receive(self) -> Message:
        """The next message; waits for it."""
        try:
            message: Message = pickle.loads(self._connection.recv_bytes())
        except ConnectionResetError as error:
            raise EOFError from error
        return message

    def waiting(self) -> bool:
        """Whether a message, or the end, is there now."""
        return self._connection.poll()

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


class ChannelHandler(QueueHandler):
    """Sends log records to the supervisor, whose handlers then have them."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel)  # type: ignore[arg-type]  # any object will do: enqueue is ours

    def enqueue(self, record: logging.LogRecord) -> None:
        """Send."""
        channel: Channel = self.queue  # type: ignore[assignment]
        channel.send(record)
