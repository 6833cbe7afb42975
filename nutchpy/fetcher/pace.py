"""Pace: how much slower than configured a queue is asked, going by how its server takes it.

Additive increase, multiplicative decrease, of the rate: trouble (429, 503, a time-out, an answer far slower than usual)
halves it, each good answer adds a little of the configured one back. It is never faster than that. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_LEAST_SECONDS: Final = 1.0
"""What trouble slows a queue to at least, and a rate that is none is taken for when it is added to."""
_RECOVERY: Final = 0.1
"""Of the configured rate, added by each good answer."""
_NO_DELAY: Final = 0.05
"""Seconds that are as good as none."""
_LATE_SECONDS: Final = 1.0
"""An answer quicker than this is no sign of trouble, whatever is usual."""
_SAMPLES: Final = 5
"""Answers before there is a usual time."""
_SMOOTHING: Final = 0.1


@dataclass(slots=True)
class Pace:
    """One queue's. ``delay``: the seconds it is slowed down to; 0 while it goes as configured."""

    delay: float = 0.0
    usual: float = 0.0
    """Seconds an answer takes, smoothed."""
    samples: int = 0

    def slower(self, base: float, most: float) -> float:
        """Half the rate; the delay from now on. ``base`` is the configured one, ``most`` where it ends."""
        self.delay = max(base, min(most, max(_LEAST_SECONDS, 2 * max(self.delay, base))))
        return self.delay

    def faster(self, base: float) -> float:
        """A little of the rate back; the delay from now on."""
        if self.delay:
            delay = 1 / (1 / self.delay + _RECOVERY / max(base, _LEAST_SECONDS))
            self.delay = delay if delay > max(base, _NO_DELAY) else 0.0
        return max(base, self.delay)

    def late(self, seconds: float, factor: float) -> bool:
        """Whether an answer took ``factor`` times as long as usual; what lasts becomes usual by and by."""
        late = self.samples >= _SAMPLES and factor > 0 and seconds > max(_LATE_SECONDS, factor * self.usual)
        weight = max(_SMOOTHING, 1 / (self.samples + 1))
        self.usual += weight * (seconds - self.usual)
        self.samples += 1
        return late
