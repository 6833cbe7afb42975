"""Every error nutchpy raises on purpose, and the exit code each one means.

    NutchpyError                 70  anything not named below
    ├── UsageError                2  the command line asks for something impossible
    ├── ConfigError               2  a setting or rule file is unknown, ill-typed or unreadable
    │   └── PluginError           2  a plugin is unknown, doubly provided, or its extra is not installed
    ├── NothingDue                1  generate found no row to list (Nutch's exit code, scripts loop on it)
    ├── StorageError              4  a table, segment or crawl folder is bad, damaged or not writable
    │   ├── MissingError          4  the folder or table named does not exist
    │   ├── DamagedError          4  a part or manifest cannot be read, or has the wrong schema
    │   └── LockedError           3  another writer holds the lock
    ├── EngineError               4  the SQL engine refused or failed
    └── Interrupted               5  stopped by a signal; what was published is kept

Add an error here, with its line in the tree, and nowhere else. Errors pickle, so that worker processes can
send them to their parent: a subclass with its own ``__init__`` passes every argument to ``super().__init__``.
"""

from __future__ import annotations

import errno
from typing import Final


class NutchpyError(Exception):
    """Base of every deliberate error; ``exit_code`` is what the process ends with."""

    exit_code = 70


class UsageError(NutchpyError):
    """The command line cannot be carried out as given."""

    exit_code = 2


class ConfigError(NutchpyError):
    """A setting, layer or rule file is wrong; the message names it and where it stands."""

    exit_code = 2


class PluginError(ConfigError):
    """A plugin cannot be found, built, or is provided twice."""


class NothingDue(NutchpyError):  # noqa: N818  it says what is the case, nothing failed
    """No row can be listed now; the message says why and when the next is due."""

    exit_code = 1


class StorageError(NutchpyError):
    """A crawl folder, table or segment cannot be read or written."""

    exit_code = 4


class MissingError(StorageError):
    """The folder or table named is not there."""


class DamagedError(StorageError):
    """A file is cut, corrupt, or not of the declared schema; the message names it."""


class LockedError(StorageError):
    """Another process holds the lock; the message names the holder."""

    exit_code = 3


class EngineError(NutchpyError):
    """The SQL engine could not carry out a statement."""

    exit_code = 4


class Interrupted(NutchpyError):  # noqa: N818  likewise
    """A signal ended the work early; everything published stays."""

    exit_code = 5


_DISK: Final = frozenset(  # what files and folders answer when they are missing, forbidden or full
    (
        *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG),
        *(errno.EACCES, errno.EPERM, errno.EROFS),
        *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO),
    )
)


def exit_code(error: BaseException) -> int:
    """What a process ends with for any error: ours as the tree says, the disk's as StorageError, a bug as 70."""
    if isinstance(error, NutchpyError):
        return error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return Interrupted.exit_code
    if isinstance(error, OSError) and error.errno in _DISK:
        return StorageError.exit_code
    return NutchpyError.exit_code
