"""FetchStatus: how a fetch stands, as a value that adds up over processes; and Nutch's line of it."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class FetchStatus:
    """A snapshot of one process, or of several added up."""

    threads: int = 0
    waiting: int = 0
    """Threads with nothing to do just now."""
    queues: int = 0
    blocked: int = 0
    """Queues given up for too many exceptions."""
    queued: int = 0
    pages: int = 0
    errors: int = 0
    bytes: int = 0

    def __add__(self, other: FetchStatus) -> FetchStatus:
        return FetchStatus(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


class StatusLine:
    """Words for snapshots in a row: totals, and rates since the start and since the line before."""

    def __init__(self, start: float) -> None:
        self._start = start
        self._then = start
        self._before = FetchStatus()

    def text(self, status: FetchStatus, now: float) -> str:
        """The line for ``status``, and what the next line is compared with."""
        whole, last = max(now - self._start, 1e-3), max(now - self._then, 1e-3)
        before, self._before, self._then = self._before, status, now
        blocked = f"{status.blocked} queues given up, " if status.blocked else ""
        return (
            f"{status.threads} threads ({status.waiting} waiting), {status.queues} queues, {blocked}"
            f"{status.queued} URLs queued, {status.pages} pages, {status.errors} errors, "
            f"{status.pages / whole:.2f} pages/s ({(status.pages - before.pages) / last:.0f} last), "
            f"{_kbits(status.bytes, whole):.0f} kbit/s ({_kbits(status.bytes - before.bytes, last):.0f} last)"
        )


def _kbits(count: int, seconds: float) -> float:
    return count * 8 / 1000 / seconds
