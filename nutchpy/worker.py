"""``python -m nutchpy.worker MODULE DESCRIPTOR…``: how every worker process begins, before anything heavy is loaded.

It is then the module's: its ``main`` gets the descriptors, the first of which is the socket to the parent. Signals are
left to the parent, whom a Ctrl-C reaches too. And no worker outlives its parent by more than moments: it ends in order
when it finds that the socket has been closed, and at once when it has not done so in ``_GRACE`` seconds.
"""

from __future__ import annotations

import importlib
import os
import select
import signal
import sys
import threading
import time
from typing import Final

from nutchpy.light_arrow import load_arrow

_GRACE: Final = 1.5


def main(module: str, *descriptors: int) -> int:
    """Prepare, then work."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(descriptors[0],), name="parent", daemon=True).start()
    load_arrow()
    work = importlib.import_module(module).main
    return int(work(*descriptors))


def _end_with_parent(socket: int) -> None:
    hangup = select.poll()
    hangup.register(socket, 0)  # no event but the end
    hangup.poll()
    time.sleep(_GRACE)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
