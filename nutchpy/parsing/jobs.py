"""Jobs: what a worker process is asked to do. Each is a run of pages; one of them may be marked as failed beforehand.

A job tells a Board before it begins a page. If the process dies of that page, the job is given to another process
``without`` it: the page then comes out with the status it died of.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import pyarrow as pa

from nutchpy.core.content import Content
from nutchpy.core.parse import ParseStatus
from nutchpy.parsing.board import Board
from nutchpy.storage.parts import opened
from nutchpy.storage.schema import TABLES

if TYPE_CHECKING:
    from nutchpy.parsing.page import PageInput, PageParser, ParsedPage

_log = logging.getLogger(__name__)

Failures = Mapping[int, tuple[ParseStatus, str]]
"""Pages that a process died of: their number within the job, what it died of."""
BATCH_ROWS: Final = 16
TABLE_PAGES: Final = 64
"""Pages parsed before they become rows: as objects they take several times the memory."""
_CONTENT: Final = ("url", "base_url", "content_type", "headers", "content", "fetch_time", "truncated")


class Job(Protocol):
    """Picklable. ``run`` in a worker, everything else in its parent."""

    def run(self, parser: PageParser, board: Board) -> Any:
        """Do it; the answer pickles."""
        ...

    def without(self, page: int, status: ParseStatus, message: str) -> Self:
        """The same job, that page given up."""
        ...


@dataclass(frozen=True, slots=True)
class PagesJob:
    """Pages handed over in memory; answers a ParsedPage for each."""

    pages: Sequence[PageInput]
    failures: Failures = field(default_factory=dict)

    def run(self, parser: PageParser, board: Board) -> list[ParsedPage]:
        """Parse them."""
        return list(_parsed(enumerate(self.pages), self.failures, parser, board))

    def without(self, page: int, status: ParseStatus, message: str) -> Self:
        """That page given up."""
        return replace(self, failures={**self.failures, page: (status, message)})


@dataclass(frozen=True, slots=True)
class RowGroupJob:
    """Pages of one row group of a content part, read by the worker itself; answers the parse tables of them."""

    path: Path
    group: int
    scores: Mapping[int, tuple[float, int]]
    """Score and depth of each page that is to be parsed, by its row in the group."""
    store_text: bool = True
    failures: Failures = field(default_factory=dict)

    def run(self, parser: PageParser, board: Board) -> dict[str, bytes]:
        """Read and parse them; each table comes as an Arrow stream."""
        from nutchpy.parsing import rows  # the worker's: with what it needs, 25 ms that the parent need not spend

        parsed = _parsed(self._pages(), self.failures, parser, board)
        sinks = {name: pa.BufferOutputStream() for name in rows.ORDER}
        with ExitStack() as stack:
            streams = {
                name: stack.enter_context(pa.ipc.new_stream(sink, TABLES[name].schema)) for name, sink in sinks.items()
            }
            while some := list(islice(parsed, TABLE_PAGES)):
                for name, table in rows.tables(some, store_text=self.store_text).items():
                    streams[name].write_table(table)
        return {name: bytes(sink.getvalue()) for name, sink in sinks.items()}

    def without(self, page: int, status: ParseStatus, message: str) -> Self:
        """That page given up."""
        return replace(self, failures={**self.failures, page: (status, message)})

    def _pages(self) -> Iterator[tuple[int, PageInput]]:
        from nutchpy.parsing.page import PageInput  # the worker's, as above

        with opened(self.path, buffer_size=1 << 20) as file:
            batches = file.iter_batches(BATCH_ROWS, row_groups=[self.group], use_threads=False)
            for number, content in enumerate(chain.from_iterable(map(contents, batches))):
                if (inherited := self.scores.get(number)) is not None:
                    yield number, PageInput(content, *inherited)


def load() -> None:
    """Load what doing jobs takes: for workers, before their memory is limited."""
    import_module("nutchpy.parsing.rows")


def contents(batch: pa.RecordBatch) -> Iterator[Content]:
    """Rows of the content table as values."""
    columns = [batch.column(name).to_pylist() for name in _CONTENT]
    for url, base_url, content_type, headers, content, fetch_time, truncated in zip(*columns, strict=True):
        pairs = [(header["name"], header["value"]) for header in headers or ()]
        yield Content(url, base_url, content_type, pairs, content, fetch_time, truncated)


def table_of(stream: bytes) -> pa.Table:
    """The table that a worker sent."""
    with pa.ipc.open_stream(stream) as reader:
        return reader.read_all()


def _parsed(
    pages: Iterable[tuple[int, PageInput]], failures: Failures, parser: PageParser, board: Board
) -> Iterator[ParsedPage]:
    for number, page in pages:
        if number in failures:
            yield parser.failed(page, *failures[number])
            continue
        board.begin(number)
        parsed, status, message = _one(page, parser)
        board.end()
        yield parsed or parser.failed(page, status, message)


def _one(page: PageInput, parser: PageParser) -> tuple[ParsedPage | None, ParseStatus, str]:
    """The page, or why there is none. What took the memory is let go of by the time this returns."""
    try:
        return parser.parse(page), ParseStatus.SUCCESS, ""
    except MemoryError:
        return None, ParseStatus.MEMORY, "out of memory"
    except Exception as error:  # noqa: BLE001  worker boundary: whatever a plugin handed us costs this page
        _log.warning("parsing %s raised %r", page.content.url, error, exc_info=error)
        return None, ParseStatus.EXCEPTION, f"{type(error).__name__}: {error}"
