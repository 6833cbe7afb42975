"""Signals: the first asks the run to end, a second ends it at once. The end of bin/crawl is one too.

SIGUSR1 asks a fetch what it waits for; no command ends by it.

bin/crawl names itself to its stages, which are process groups of their own, in ``NUTCHPY_PARENT``. A stage whose parent
it is looks now and then whether it still is, since nobody else would tell it when bin/crawl was killed with -9.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Final

from nutchpy.conf.layers import PARENT_VARIABLE
from nutchpy.core.errors import Interrupted
from nutchpy.stages.context import Stop

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AT_ONCE: Final = b"nutchpy: ended at once; what was published is kept, the same command does the rest\n"

_LOOK: Final = 0.5
"""Seconds between two looks at the parent."""


@contextmanager
def caught(stop: Stop) -> Iterator[None]:
    """Turn SIGINT, SIGTERM and SIGHUP into ``stop`` for a block; what nohup or ``&`` made ignored stays ignored."""

    def handler(number: int, _: FrameType | None) -> None:
        name = signal.Signals(number).name
        if stop.reason is not None and number == signal.SIGINT:
            os.write(2, _AT_ONCE)
            os._exit(Interrupted.exit_code)  # what is published is whole; workers end with the pipe to their parent
        stop.set(name)
        if not stop.watched:
            raise KeyboardInterrupt(name)

    taken = {number: signal.getsignal(number) for number in (*_SIGNALS, signal.SIGUSR1)}
    ours = [number for number, before in taken.items() if before is not signal.SIG_IGN]
    for number in ours:
        signal.signal(number, signal.SIG_IGN if number == signal.SIGUSR1 else handler)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, taken[number])


@contextmanager
def parent_followed(env: Mapping[str, str]) -> Iterator[None]:
    """For a block: SIGTERM to this process when the parent that ``env`` names is gone, also when it is so already."""
    parent = env.get(PARENT_VARIABLE, "")
    if not parent.isdecimal() or not (os.getppid() == int(parent) or _gone(int(parent))):
        yield
        return
    over = threading.Event()
    threading.Thread(target=_follow, args=(int(parent), over), name="parent", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _follow(parent: int, over: threading.Event) -> None:
    while os.getppid() == parent:
        if over.wait(_LOOK):
            return
    if not over.is_set():
        os.kill(os.getpid(), signal.SIGTERM)


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False  # somebody else's
    return False
