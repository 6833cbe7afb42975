"""Logs: to stderr, or, for a run under cron, to a file in the crawl folder with only warnings on stderr."""

from __future__ import annotations

import contextlib
import logging
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from nutchpy.cli.command import Common
from nutchpy.stages.options import Options

_FORMAT: Final = "%(asctime)s %(levelname)s %(message)s"
_FILE_BYTES: Final = 10 << 20
_FILES_KEPT: Final = 5


def is_cron(options: Options) -> bool:
    """Whether the command has the option ``--cron``, and it was given."""
    return bool(getattr(options, "cron", False))


class Stderr(logging.Handler):
    """Writes to whatever stderr is at that moment: a progress bar puts itself in between, so that lines go above it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line; a stderr that is gone ends nothing."""
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()


def set_up(options: Options, common: Common, crawl_dir: Path | None) -> None:
    """Give the package's loggers their handlers; other packages' warnings pass the same way."""
    level = logging.DEBUG if common.debug else logging.INFO
    stderr = Stderr()
    handlers: list[logging.Handler] = [stderr]
    if is_cron(options) and crawl_dir is not None:
        handlers.append(_file(crawl_dir))
    stderr.setLevel(logging.WARNING if common.quiet or is_cron(options) else level)
    formatter = logging.Formatter(_FORMAT)
    for handler in handlers:
        handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = handlers
    root.setLevel(logging.WARNING)
    logging.getLogger("nutchpy").setLevel(level)
    logging.captureWarnings(True)


def _file(crawl_dir: Path) -> logging.Handler:
    folder = crawl_dir / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    return RotatingFileHandler(folder / "nutchpy.log", maxBytes=_FILE_BYTES, backupCount=_FILES_KEPT, encoding="utf-8")
