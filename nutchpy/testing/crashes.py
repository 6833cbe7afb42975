"""Death at a chosen moment: from one file-system step on nothing is done any more, clean-up included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from nutchpy.storage import fs

STEPS: Final = (
    "fsync_file",
    "fsync_folder",
    "rename",
    "point_link",
    "hard_link",
    "remove",
    "make_folder",
    "write_json",
)
"""The functions of storage/fs.py that publishing is made of."""


class Killed(BaseException):
    """The process died here."""


@contextmanager
def dying_at(step: int) -> Iterator[Callable[[], bool]]:
    """Die before file-system step number ``step`` (0 is the first) of the block; the answer tells whether it did."""
    count = 0
    originals = {name: getattr(fs, name) for name in STEPS}

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        def function(*arguments: Any) -> Any:
            nonlocal count
            count += 1
            if count > step:
                raise Killed
            return original(*arguments)

        return function

    for name, original in originals.items():
        setattr(fs, name, wrapped(original))
    try:
        with suppress(Killed):
            yield lambda: count > step
    finally:
        for name, original in originals.items():
            setattr(fs, name, original)


def every_death(run: Callable[[int], Callable[[], None]]) -> Iterator[tuple[int, bool]]:
    """Die at each step in turn until a run gets through: yields the step, and whether it was the last.

    ``run(step)`` prepares an attempt and returns what is to die.
    """
    step, died = 0, True
    while died:
        attempt = run(step)
        with dying_at(step) as has_died:
            attempt()
        died = has_died()
        yield step, not died
        step += 1
