"""Signals: the first asks the run to end, a second ends it at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from nutchpy.core.errors import Interrupted
from nutchpy.stages.context import Stop

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def caught(stop: Stop) -> Iterator[None]:
    """Turn SIGINT, SIGTERM and SIGHUP into ``stop`` for a block; what nohup or ``&`` made ignored stays ignored."""

    def handler(number: int, _: FrameType | None) -> None:
        name = signal.Signals(number).name
        if stop.reason is not None and number == signal.SIGINT:
            os._exit(Interrupted.exit_code)  # what is published is whole; workers end with the pipe to their parent
        stop.set(name)
        if not stop.watched:
            raise KeyboardInterrupt(name)

    taken = {number: signal.getsignal(number) for number in _SIGNALS}
    ours = [number for number, before in taken.items() if before is not signal.SIG_IGN]
    for number in ours:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, taken[number])
