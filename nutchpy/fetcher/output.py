"""Output of one fetch list: rows in, part pairs out, written by one thread so that the loop never waits for a disk.

Rows are handed over in bounded chunks; while the writer cannot take the next one, ``full`` tells the loop to begin
nothing new. A part ends by size or age. Its content is published first and its crawl_fetch last: that is the commit
record, so a kill costs the rows since, which are fetched again, and leaves no page recorded without its body. When
pages are parsed as they come, their parse tables follow.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Full, Queue
from typing import Any, Final

import pyarrow as pa

from nutchpy.core.errors import StorageError
from nutchpy.fetcher.item import Row
from nutchpy.fetcher.rows import to_table
from nutchpy.parsing.output import ParseParts
from nutchpy.parsing.rows import tables as parse_tables
from nutchpy.storage.parts import PartName, PartWriter, write_part
from nutchpy.storage.schema import TABLES
from nutchpy.storage.segment import Segment

_log = logging.getLogger(__name__)

_CHUNK_BYTES: Final = 8 << 20
_CHUNK_ROWS: Final = 2_000
_CHUNKS_WAITING: Final = 2
_ROW_BYTES: Final = 500
"""What a row is taken to weigh besides its body."""


@dataclass(slots=True)
class Chunk:
    """Rows on their way to the writer; ``last`` ends the part."""

    fetch: list[Row] = field(default_factory=list)
    content: list[Row] = field(default_factory=list)
    parses: list[Any] = field(default_factory=list)
    bytes: int = 0
    last: bool = False


@dataclass(frozen=True, slots=True)
class FlushLimits:
    """When a part ends."""

    bytes: int
    seconds: float


class SegmentOutput:
    """The rows of one fetch list. One source of the loop: ``deadline`` and ``step``."""

    def __init__(
        self,
        segment: Segment,
        number: int,
        limits: FlushLimits,
        wake: Callable[[], None],
        store_text: bool | None = None,
    ) -> None:
        """``store_text`` is None when pages are not parsed here; else whether parse_text is written."""
        self._limits = limits
        self._chunk = Chunk()
        self._due: float | None = None
        self._chunks: Queue[Chunk | None] = Queue(_CHUNKS_WAITING)
        first = next_flush(segment, number)
        self._writer = _Writer(segment, number, first, limits.bytes, self._chunks, wake, store_text)
        self._thread = threading.Thread(target=self._writer.run, name="writer", daemon=True)
        self._thread.start()

    @property
    def full(self) -> bool:
        """Whether the writer is behind: nothing new should be begun."""
        return self._large and self._chunks.full()

    @property
    def _large(self) -> bool:
        return self._chunk.bytes >= _CHUNK_BYTES or len(self._chunk.fetch) >= _CHUNK_ROWS

    def put(self, fetch: Row, content: Row | None, parse: Any) -> None:
        """Take the rows of one attempt."""
        chunk = self._chunk
        chunk.fetch.append(fetch)
        chunk.bytes += _ROW_BYTES
        if content is not None:
            self.keep(content)
        if parse is not None:
            chunk.parses.append(parse)
            chunk.bytes += len(parse.text)

    def keep(self, content: Row) -> None:
        """Take a body; one without an attempt is published with the next attempts."""
        self._chunk.content.append(content)
        self._chunk.bytes += len(content["content"])

    def deadline(self) -> float | None:
        """When the present part is to end; None when it is empty."""
        return self._due

    def step(self, now: float) -> None:
        """Hand over what is large or old enough; raises what the writer ran into."""
        self._writer.check()
        if self._due is None and self._chunk.fetch:
            self._due = now + self._limits.seconds
        old = self._due is not None and self._due <= now
        if old or self._large:
            self._chunk.last = old
            self._hand_over(now)

    def close(self) -> None:
        """Publish everything that was put; raises what the writer ran into."""
        self._chunk.last = True
        self._chunks.put(self._chunk)
        self._chunks.put(None)
        self._thread.join()
        self._writer.check()

    def abandon(self) -> None:
        """Stop writing, unless it has been closed; what is not published is not kept."""
        if not self._thread.is_alive():
            return
        self._writer.abandoned = True
        while True:
            try:
                self._chunks.get_nowait()
            except Empty:
                break
        self._chunks.put(None)
        self._thread.join()

    def _hand_over(self, now: float) -> None:
        try:
            self._chunks.put_nowait(self._chunk)
        except Full:
            if self._due is not None and self._due <= now:
                self._due = now + 1.0
            return
        if self._chunk.last:
            self._due = None
        self._chunk = Chunk()


class _Writer:
    """Runs in its thread: chunks become row groups, part after part."""

    def __init__(
        self,
        segment: Segment,
        number: int,
        first: int,
        part_bytes: int,
        chunks: Queue[Chunk | None],
        wake: Callable[[], None],
        store_text: bool | None,
    ) -> None:
        self._segment = segment
        self._name = PartName(number, first, first)
        self._part_bytes = part_bytes
        self._chunks = chunks
        self._wake = wake
        self._store_text = store_text
        self._content: PartWriter | None = None
        self._fetch: list[pa.Table] = []
        self._parses: ParseParts | None = None
        self._error: BaseException | None = None
        self.abandoned = False

    def check(self) -> None:
        """Raise what went wrong."""
        if self._error is not None:
            raise self._error

    def run(self) -> None:
        """Write chunks until None comes."""
        while (chunk := self._chunks.get()) is not None:
            if self._error is None and not self.abandoned:
                try:
                    self._write(chunk)
                except OSError as error:
                    self._error = unwritable(self._segment, error)
                except Exception as error:  # noqa: BLE001  raised again in the loop's thread by ``check``
                    self._error = error
            self._wake()
        self._discard()

    def _write(self, chunk: Chunk) -> None:
        if chunk.content:
            self._write_content(chunk.content)
        if chunk.fetch:
            self._fetch.append(to_table(chunk.fetch, TABLES["crawl_fetch"]))
        if self._store_text is not None:
            self._write_parses(chunk.parses, self._store_text)
        if chunk.last or self._large():
            self._publish()

    def _write_content(self, rows: list[Row]) -> None:
        table = TABLES["content"]
        if self._content is None:
            self._content = PartWriter(self._target("content"), table)
        self._content.write(to_table(rows, table))

    def _write_parses(self, pages: list[Any], store_text: bool) -> None:
        if self._parses is None:
            self._parses = ParseParts(self._segment, self._name)
        self._parses.write(parse_tables(pages, store_text=store_text))

    def _large(self) -> bool:
        return self._content is not None and self._content.bytes_written() >= self._part_bytes

    def _publish(self) -> None:
        if not self._fetch:
            return
        if self._content is not None:
            self._content.publish()
            self._content = None
        table = TABLES["crawl_fetch"]
        write_part(self._target("crawl_fetch"), table, pa.concat_tables(self._fetch))
        if self._parses is not None:
            self._parses.publish()
            self._parses = None
        self._fetch = []
        self._name = PartName(self._name.list, self._name.last + 1, self._name.last + 1)

    def _discard(self) -> None:
        """Remove parts that were begun."""
        for begun in (self._content, self._parses):
            if begun is not None:
                begun.discard()

    def _target(self, table: str) -> Path:
        return self._segment.path / table / str(self._name)


def unwritable(segment: Segment, error: OSError) -> StorageError:
    """What a disk's refusal means for the fetch."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    return StorageError(f"{segment.path} cannot be written: {reason}; what stands is kept, fetch again to go on")


def next_flush(segment: Segment, number: int) -> int:
    """The first flush number that no part of a list bears."""
    names = [name for table in ("content", "crawl_fetch", "crawl_parse") for name, _ in segment.parts(table)]
    return max((name.last for name in names if name.list == number), default=-1) + 1
