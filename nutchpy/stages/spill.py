"""The folder where the SQL engine puts what does not fit into memory: one per process, dead processes' swept away."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from pathlib import Path
from typing import Final

from nutchpy.conf.layers import Conf
from nutchpy.storage import fs

_HIDDEN: Final = ".tmp"
_SHOWN: Final = "nutchpy-tmp"


def spill_folder(conf: Conf, crawl_dir: Path | None) -> Path:
    """A name for this process alone, in ``db.temp.dir``, else in the crawl folder; made when something is spilled.

    The engine makes the last folder of a path only, so there is no folder between.
    """
    asked = conf.text("db.temp.dir")
    if asked:
        base, prefix = Path(asked), _SHOWN
        fs.make_folder(base)
    elif crawl_dir is not None and crawl_dir.is_dir():
        base, prefix = crawl_dir, _HIDDEN
    else:
        base, prefix = Path(tempfile.gettempdir()), _SHOWN
    mine = f"{prefix}-{socket.gethostname()}-"
    _sweep(base, mine)
    return base / f"{mine}{os.getpid()}"


def _sweep(base: Path, prefix: str) -> None:
    """Remove what processes of this host left that were killed before they could."""
    if not os.access(base, os.W_OK):
        return
    for folder in base.glob(f"{prefix}*"):
        pid = folder.name.removeprefix(prefix)
        if pid.isdigit() and not _alive(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
