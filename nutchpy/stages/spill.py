"""The folder where the SQL engine puts what does not fit into memory: one per process, dead processes' swept away."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from pathlib import Path
from typing import Final

from nutchpy.conf.layers import Conf

_NAME: Final = ".tmp"


def spill_folder(conf: Conf, crawl_dir: Path | None) -> Path:
    """A name for this process alone, in ``db.temp.dir``, else in the crawl folder; made when something is spilled."""
    asked = conf.text("db.temp.dir")
    if asked:
        base = Path(asked)
    elif crawl_dir is not None and crawl_dir.is_dir():
        base = crawl_dir
    else:
        base = Path(tempfile.gettempdir())
    parent = base / _NAME if base == crawl_dir else base / "nutchpy-tmp"
    _sweep(parent)
    return parent / f"{socket.gethostname()}-{os.getpid()}"


def _sweep(parent: Path) -> None:
    """Remove what processes of this host left that were killed before they could."""
    if not os.access(parent, os.W_OK):
        return
    for folder in parent.glob(f"{socket.gethostname()}-*"):
        pid = folder.name.rpartition("-")[2]
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
