"""The fuzz targets on their seeds and on what a few blind changes make of them, so that they are fit to be run."""

from __future__ import annotations

import random

import pytest

from .seeds import SEEDS, WORDS
from .targets import TARGETS

CHANGED = 150


def changed(seed: bytes, chance: random.Random) -> bytes:
    """The seed with a few pieces taken out, put in, repeated."""
    data = bytearray(seed)
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(data))
        piece = chance.choice([b"", chance.randbytes(2), chance.choice(WORDS).encode(), bytes(data[at : at + 9]) * 3])
        data[at : at + chance.choice([0, 0, 1, 5])] = piece
    return bytes(data)


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_keeps_its_promises(name: str) -> None:
    chance = random.Random(name)
    for seed in [b"", *SEEDS[name]]:
        TARGETS[name](seed)
        for _ in range(CHANGED // len(SEEDS[name])):
            TARGETS[name](changed(seed, chance))
