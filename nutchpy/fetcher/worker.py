"""A worker process: fetches one list for the supervisor whose socket it was begun with, and ends when that closes."""

from __future__ import annotations

import logging
from multiprocessing.connection import Connection

from nutchpy.core.counters import Counters
from nutchpy.core.errors import NutchpyError
from nutchpy.fetcher.channel import Begin, Channel, ChannelHandler, Ended, Standing, Stop
from nutchpy.fetcher.lists import fetch_list
from nutchpy.fetcher.loop import FetchLoop
from nutchpy.fetcher.status import FetchStatus


class Parent:
    """The supervisor, as the worker sees it."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def fileno(self) -> int:
        """For the loop's selector."""
        return self._channel.fileno()

    def heed(self, loop: FetchLoop) -> bool:
        """Stop when told to; when the supervisor is gone, publish what there is and end."""
        try:
            while self._channel.waiting():
                message = self._channel.receive()
                if isinstance(message, Stop):
                    loop.stop(message.reason, message.grace)
        except EOFError:
            loop.stop("orphaned", 0.0)
            return False
        return True

    def report(self, status: FetchStatus, counters: Counters) -> None:
        """Pass it on."""
        self._channel.send(Standing(status, counters))


def main(descriptor: int) -> int:
    """Fetch the list that the first message names."""
    channel = Channel(Connection(descriptor))
    begin = channel.receive()
    if not isinstance(begin, Begin):
        raise TypeError(f"a worker is begun with Begin, not {type(begin).__name__}")
    log = logging.getLogger("nutchpy")
    log.addHandler(ChannelHandler(channel))
    log.setLevel(begin.level)
    try:
        channel.send(Ended(fetch_list(begin.task, Parent(channel))))
    except Exception as error:  # noqa: BLE001  worker boundary: the supervisor raises it
        channel.send(Ended(None, _portable(error)))
    return 0


def _portable(error: Exception) -> Exception:
    """An error that pickles, with its trace in words when it was not made on purpose."""
    if isinstance(error, (NutchpyError, OSError)):
        return error
    logging.getLogger(__name__).error("a fetching process failed", exc_info=error)
    return NutchpyError(f"a fetching process failed: {type(error).__name__}: {error}")
