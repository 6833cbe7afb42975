"""Applying a rewriting until nothing changes, so that a normalizer's answer is its own normal form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

PASSES: Final = 5000
"""More than the characters of a URL that rules are run over: each pass of a rule that shortens takes one at least."""


def settled(rewrite: Callable[[str], str], url: str) -> str:
    """What ``rewrite`` ends in. Where it goes in circles, the least text of the circle, whatever it began with."""
    seen = {url: 0}
    for number in range(1, PASSES):
        rewritten = rewrite(url)
        if rewritten == url:
            return url
        if rewritten in seen:
            return min(text for text, when in seen.items() if when >= seen[rewritten])
        seen[rewritten] = number
        url = rewritten
    return url
