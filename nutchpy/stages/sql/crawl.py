"""``open_crawl``: one state of a crawl folder, held still, to be asked with SQL from Python and notebooks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from nutchpy.core.errors import MissingError
from nutchpy.engine.session import Limits, Session
from nutchpy.stages.sql.views import DATABASES, statements
from nutchpy.storage.database import Database, Generation
from nutchpy.storage.segment import segments_in, segments_reading

DEFAULT_LIMITS = Limits(memory="80%", threads=0, spill=Path(tempfile.gettempdir()) / "nutchpy-spill")


class Crawl:
    """A crawl opened for reading: every query sees the generations that were current when it was opened.

    Close it (or use ``with``) to let old generations be cleaned up. One opened for a ``query`` answers that alone.
    """

    def __init__(
        self, path: Path, limits: Limits = DEFAULT_LIMITS, unsafe: bool = False, query: str | None = None
    ) -> None:
        self.path = require_crawl(path).resolve()
        self._held = ExitStack()
        views = self.views(query)
        self._session = Session(views, self.path, limits, unsafe)

    def sql(self, query: str, **params: Any) -> pa.Table:
        """The rows of one SELECT as an Arrow table (``.to_pandas()`` where pandas is installed)."""
        schema, batches = self._session.run(query, params)
        return pa.Table.from_batches(list(batches), schema)

    def stream(self, query: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Schema and rows of one SELECT, batch by batch."""
        return self._session.run(query)

    def views(self, query: str | None = None) -> list[str]:
        """The statements that make the views, for the state this crawl was opened at."""
        self._held.enter_context(segments_reading(self.path / "segments"))
        databases = {name: self._hold(Database(self.path / name, name)) for name in DATABASES}
        return statements(self.path, databases, segments_in(self.path / "segments"), query)

    def close(self) -> None:
        """Let go of files and of the generations held."""
        self._session.close()
        self._held.close()

    def _hold(self, database: Database) -> Generation | None:
        return self._held.enter_context(database.reading()) if database.exists else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def open_crawl(path: str | Path) -> Crawl:
    """Open a crawl folder for reading; MissingError when it is none."""
    return Crawl(Path(path))


def require_crawl(path: Path) -> Path:
    """``path`` when it looks like a crawl folder; MissingError with a hint otherwise."""
    if not path.is_dir():
        raise MissingError(f"there is no crawl folder {path}; name it with -dir")
    if not any((path / name).exists() for name in ("crawldb", "segments", "linkdb")):
        raise MissingError(f"{path} is not a crawl folder: it has no crawldb, linkdb or segments")
    return path
