"""Bandwidth: a token bucket on body bytes, as the instant from which what was taken is paid for. Pure.

A request takes what answers weigh on average when it begins, and the difference when it ends, so that many requests in
flight do not overshoot by all they bring.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_BURST_SECONDS: Final = 1.0
"""What was not used is not saved up for longer than this."""
_SMOOTHING: Final = 0.05
_FIRST_GUESS: Final = 20_000.0
"""Bytes an answer is taken to weigh before there was one."""


class TokenBucket:
    """``rate`` bytes a second."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self.free_at = 0.0
        """When everything taken so far is paid for: nothing is to be taken before."""

    def take(self, count: float, now: float) -> None:
        """Take bytes; a negative count gives some back."""
        self.free_at = max(self.free_at, now - _BURST_SECONDS) + count / self._rate


class Bandwidth:
    """The target of a whole process."""

    def __init__(self, rate: float, monotonic: Callable[[], float]) -> None:
        self._bucket = TokenBucket(rate)
        self._monotonic = monotonic
        self._usual = _FIRST_GUESS
        self._taken: dict[int, float] = {}

    @property
    def free_at(self) -> float:
        """When the next request may begin."""
        return self._bucket.free_at

    def began(self, token: int) -> None:
        """A request has begun."""
        self._taken[token] = self._usual
        self._bucket.take(self._usual, self._monotonic())

    def ended(self, token: int, count: int) -> None:
        """A request has ended, with so many bytes."""
        self._bucket.take(count - self._taken.pop(token), self._monotonic())
        self._usual += _SMOOTHING * (count - self._usual)
