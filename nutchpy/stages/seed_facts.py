"""What may stand behind the URL of a seed line: TAB-separated ``key=value`` pairs, some of them Nutch's reserved ones.

Pure: text in, values out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

_MAX_INTERVAL: Final = 2**31 - 1


@dataclass(slots=True)
class SeedFacts:
    """What stood behind a seed's URL."""

    score: float | None = None
    interval: int | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)


def read_facts(text: str) -> SeedFacts:
    """The pairs behind a URL; pieces without ``=`` are no pairs, reserved keys with unusable values are ignored."""
    facts = SeedFacts()
    fixed: int | None = None
    for piece in text.split("\t"):
        key, equals, value = piece.partition("=")
        key = key.strip()
        if not equals or not key:
            continue
        if key == "nutch.score":
            facts.score = _number(value)
            used = facts.score is not None
        elif key == "nutch.fetchInterval":
            facts.interval = _seconds(value)
            used = facts.interval is not None
        elif key == "nutch.fetchInterval.fixed":
            fixed = _seconds(value)
            used = fixed is not None
        else:
            facts.metadata[key] = value
            used = True
        if not used:
            facts.ignored.append(piece)
    if fixed is not None:
        facts.interval = fixed
        facts.metadata["fixedInterval"] = str(float(fixed))
    return facts


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _seconds(text: str) -> int | None:
    try:
        value = int(text)
    except ValueError:
        return None
    return value if 0 < value <= _MAX_INTERVAL else None
