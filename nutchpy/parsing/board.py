"""The board: a few bytes that a worker and its parent share, on which the worker writes what page it is at.

When a worker dies, the board says whose fault it was; while it lives, nobody has to send anything. Each page also has
a timer that the kernel keeps: it ends a process that hangs, even inside a library, even when its parent is gone.
"""

from __future__ import annotations

import mmap
import os
import signal
import struct
import tempfile
from typing import Final

_SIZE: Final = 8
_NOBODY: Final = -1


class Board:
    """Either side's view. ``descriptor`` is what a child inherits."""

    def __init__(self, descriptor: int | None = None, timeout: float = -1) -> None:
        self.descriptor = _memory() if descriptor is None else descriptor
        self._timeout = max(timeout, 0.0)
        self._memory = mmap.mmap(self.descriptor, _SIZE)
        self._write(_NOBODY)

    @property
    def page(self) -> int | None:
        """The page being worked on."""
        (number,) = struct.unpack("q", self._memory[:])
        return None if number == _NOBODY else number

    def begin(self, page: int) -> None:
        """A page begins; its time runs."""
        self._write(page)
        if self._timeout:
            signal.setitimer(signal.ITIMER_REAL, self._timeout)

    def end(self) -> None:
        """It ended."""
        if self._timeout:
            signal.setitimer(signal.ITIMER_REAL, 0)
        self._write(_NOBODY)

    def close(self) -> None:
        """Let go of it."""
        self._memory.close()
        os.close(self.descriptor)

    def _write(self, page: int) -> None:
        self._memory[:] = struct.pack("q", page)


def _memory() -> int:
    """A descriptor of shared memory. Written once, so that it is there: a full disk must not come as a SIGBUS."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("nutchpy-board")
    else:
        with tempfile.TemporaryFile(buffering=0) as file:
            descriptor = os.dup(file.fileno())
    os.write(descriptor, bytes(_SIZE))
    return descriptor
