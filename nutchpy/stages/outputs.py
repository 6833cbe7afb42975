"""Where commands that read write what they were asked for: a folder of its own, never over something that is there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from nutchpy.core.errors import UsageError
from nutchpy.storage import fs


@contextmanager
def new_path(folder: Path, name: str) -> Iterator[Path]:
    """Where to write a file in a folder that is new or empty; it gets its name only when the block ends well."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is already there and not an empty folder; name another, or remove it")
    fs.make_folder(folder)
    aside = folder / f"_{name}.tmp"
    try:
        yield aside
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    aside.replace(folder / name)


@contextmanager
def new_file(folder: Path, name: str) -> Iterator[TextIO]:
    """``new_path``, opened as text."""
    with new_path(folder, name) as path, path.open("w", encoding="utf-8", errors="surrogateescape") as file:
        yield file
