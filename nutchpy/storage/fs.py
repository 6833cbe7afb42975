"""The file-system steps that publishing is made of, each durable when it returns; all renames go through here.

May know: paths and the operating system. One function per step, so that tests can stop the world between any two.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from nutchpy.core.errors import DamagedError, StorageError

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def fsync_file(path: Path) -> None:
    """Force a file's bytes to disk."""
    _fsync(path, os.O_RDONLY)


def fsync_folder(path: Path) -> None:
    """Force a folder's entries to disk."""
    _fsync(path, os.O_RDONLY | os.O_DIRECTORY)


def _fsync(path: Path, flags: int) -> None:
    fd = os.open(path, flags)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def rename(source: Path, target: Path) -> None:
    """Atomically give ``source`` the name ``target`` (replacing a file), durably."""
    source.replace(target)
    fsync_folder(target.parent)


def point_link(link: Path, target: str) -> None:
    """Make ``link`` a relative symbolic link to ``target``, atomically replacing what link was there."""
    aside = link.with_name(f"_{link.name}.{os.getpid()}")
    aside.unlink(missing_ok=True)
    aside.symlink_to(target)
    rename(aside, link)


def hard_link(source: Path, target: Path) -> None:
    """A second name for ``source``, or a copy where the file system has no hard links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
        fsync_file(target)


def remove(path: Path) -> None:
    """Remove a file, link or whole folder; absent is fine."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def make_folder(path: Path) -> Path:
    """The folder, made durably with its parents when missing; StorageError naming the path when that is refused."""
    if path.is_dir():
        return path
    try:
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        fsync_folder(path.parent)
    except OSError as error:
        raise StorageError(f"cannot make the folder {path}: {error.strerror or error}") from error
    return path


def require_writable(folder: Path) -> None:
    """Stop before any work when ``folder`` (or, if missing, its nearest parent) may not be written."""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    if not os.access(place, os.W_OK | os.X_OK):
        owner = _owner(place)
        raise StorageError(f"{place} may not be written by this user (owner: {owner}); nothing was changed")


@contextmanager
def room_in(folder: Path) -> Iterator[None]:
    """StorageError naming ``folder`` when the disk takes no more and the error (pyarrow's) does not say where."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno not in _NO_ROOM:
            raise
        raise StorageError(f"{folder} cannot be written: {os.strerror(error.errno)}") from error


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except (KeyError, OSError):
        return f"uid {path.stat().st_uid}"


def write_json(path: Path, value: Any) -> None:
    """Write JSON aside and put it in place, durably; StorageError naming the file when there is no room for it."""
    aside = path.with_name(f"_{path.name}.{os.getpid()}.tmp")
    try:
        with aside.open("w", encoding="utf-8") as out:
            json.dump(value, out, ensure_ascii=False, indent=1, sort_keys=True)
            out.flush()
            os.fsync(out.fileno())
        rename(aside, path)
    except OSError as error:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error


def read_json(path: Path) -> Any:
    """JSON from a file; DamagedError when it is not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise DamagedError(f"{path} is not valid JSON: {error}") from error
