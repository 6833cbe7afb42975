"""What the pool and its workers say to each other, besides jobs and log records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nutchpy.conf.layers import Conf
from nutchpy.core.counters import Counters


@dataclass(frozen=True, slots=True)
class Begin:
    """To the worker, first: the settings."""

    conf: Conf
    level: int
    """What of its log is wanted."""


@dataclass(frozen=True, slots=True)
class Done:
    """From the worker: a job's answer."""

    answer: Any
    counters: Counters
    retire: bool = False
    """The worker has grown large and would rather be replaced."""


@dataclass(frozen=True, slots=True)
class Failed:
    """From the worker: the job cannot be done at all."""

    error: Exception
