"""The segments that a command was given: named one by one, or all of a folder (-dir)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nutchpy.core.errors import MissingError, UsageError
from nutchpy.storage.segment import Segment, segments_in


def asked_segments(command: str, named: Sequence[Path], folder: Path | None) -> list[Segment]:
    """Each segment once, oldest first."""
    if folder is None and not named:
        raise UsageError(f"{command} needs segments: name them, or give -dir FOLDER")
    if folder is not None and not folder.is_dir():
        raise MissingError(f"there is no folder {folder}")
    found = segments_in(folder) if folder is not None else []
    if folder is not None and not found:
        raise MissingError(f"there is no segment in {folder}")
    unique = {segment.meta.uuid: segment for segment in (*map(Segment, named), *found)}
    return sorted(unique.values(), key=lambda segment: segment.name)
