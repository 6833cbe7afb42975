"""Seed files: one URL a line, TAB-separated ``key=value`` pairs after it, ``#`` comments. Read in bounded memory.

Whatever a file holds, reading goes on: bad bytes, endless lines and binaries are refused line by line or file by file,
with their reason. Knows bytes and lines; what becomes of a URL is inject's business.
"""

from __future__ import annotations

import gzip
import io
import logging
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self, TextIO, cast

from nutchpy.core.counters import Counters
from nutchpy.core.errors import MissingError, StorageError, UsageError

_log = logging.getLogger(__name__)

STDIN: Final = Path("-")
MAX_LINE: Final = 65_536
"""Characters; a longer line is no seed."""
_BLOCK: Final = 1 << 20
_GZIP_MAGIC: Final = b"\x1f\x8b"
_BAD: Final = "\ufffd"
_BOM: Final = "\ufeff"
_NAMED: Final = 20
"""Refusals that are logged one by one; the rest is only counted."""


@dataclass(slots=True)
class SeedBatch:
    """Seeds of one block of one file, as columns: URL, line number, and the metadata text of the rows that have one."""

    source: str
    urls: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    metadata: dict[int, str] = field(default_factory=dict)
    """Row → what stood after the first TAB."""


class Rejects:
    """The lines refused: counted by reason, written to a file when one is asked for, the first of each kind logged."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._out: TextIO | None = None
        self._named: set[tuple[str, str]] = set()
        self.counters = Counters()

    def __enter__(self) -> Self:
        if self._path is not None:
            try:
                self._out = self._path.open("w", encoding="utf-8", errors="backslashreplace")
            except OSError as error:
                raise StorageError(f"{self._path} cannot be written: {error.strerror or error}") from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._out is not None:
            self._out.close()

    def add(self, reason: str, source: str, line: int, url: str) -> None:
        """Refuse a line; ``reason`` is its counter: ``malformed``, ``filtered:regex.suffix``, ``rejected:encoding``."""
        self.counters.add(reason)
        if self._out is not None:
            self._out.write(f"{reason}\t{source}:{line}\t{url[:MAX_LINE]}\n")

    def unreadable(self, reason: str, source: str, line: int, text: str, why: str) -> None:
        """Refuse what cannot be read as a seed line; said aloud once for each file and reason."""
        self.add(f"rejected:{reason}", source, line, text)
        if (source, reason) not in self._named and len(self._named) < _NAMED:
            self._named.add((source, reason))
            _log.warning("%s:%d: %s", source, line, why)


def find(paths: Sequence[Path]) -> list[Path]:
    """The seed files that ``paths`` name: files, those directly in folders (hidden ones left out), ``-`` for stdin."""
    return [file for path in paths for file in _files(path)]


def read(files: Iterable[Path], encoding: str, rejects: Rejects) -> Iterator[SeedBatch]:
    """All seeds of the files, in order, a block at a time."""
    for file in files:
        with _opened(file) as stream:
            yield from _Reader("stdin" if file == STDIN else str(file), encoding, rejects).batches(stream)


def _files(path: Path) -> list[Path]:
    if path == STDIN or path.is_file():
        return [path]
    if not path.exists():
        raise MissingError(f"seed file or folder {path} does not exist")
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.is_file() and file.name[0] not in "._")
    if not found:
        raise MissingError(f"there is no seed file in the folder {path}")
    return found


@contextmanager
def _opened(file: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, or of stdin, unzipped when they begin as gzip does."""
    try:
        raw = sys.stdin.buffer if file == STDIN else file.open("rb")
    except OSError as error:
        raise StorageError(f"seed file {file} cannot be read: {error.strerror or error}") from error
    buffered = cast("io.BufferedReader", raw)
    try:
        zipped = buffered.peek(2)[:2] == _GZIP_MAGIC
        yield cast("IO[bytes]", gzip.GzipFile(fileobj=buffered)) if zipped else buffered
    finally:
        if file != STDIN:
            buffered.close()


@dataclass(slots=True)
class _Reader:
    """Reads one file."""

    source: str
    encoding: str
    rejects: Rejects
    line: int = 0

    def batches(self, stream: IO[bytes]) -> Iterator[SeedBatch]:
        """The file's seeds, block by block; nothing when it is no text at all."""
        for block in self._blocks(stream):
            if self.line == 0 and _binary(block):
                self._refuse("binary", 1, "", f"not a text file in {self.encoding}, passed over; see --encoding")
                return
            yield self._parsed(block)

    def _blocks(self, stream: IO[bytes]) -> Iterator[str]:
        """Whole lines, about a block at a time. A line that grows endless is cut short, yet remains too long."""
        rest = ""
        for text in self._decoded(stream):
            head, newline, tail = text.rpartition("\n")
            if newline:
                yield rest + head
                rest = tail
            else:
                rest = (rest + tail)[: MAX_LINE + 1]
        if rest:
            yield rest

    def _decoded(self, stream: IO[bytes]) -> Iterator[str]:
        """Text with ``\\n`` line ends; what is not in the encoding becomes U+FFFD."""
        codec = "utf-8-sig" if self.encoding.lower().replace("-", "") == "utf8" else self.encoding
        try:
            text = io.TextIOWrapper(stream, codec, errors="replace", newline=None)
        except LookupError as error:
            raise UsageError(f"--encoding: {error}") from error
        try:
            while block := text.read(_BLOCK):
                yield block.replace(_BOM, "") if _BOM in block else block
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self._refuse("damaged", self.line, "", f"damaged gzip file ({error}); what could be read of it is taken")
        finally:
            text.detach()

    def _parsed(self, block: str) -> SeedBatch:
        """The block's seeds. The hot loop: well under a microsecond a line."""
        batch = SeedBatch(self.source)
        suspect = _BAD in block or "\0" in block
        for number, line in enumerate(block.split("\n"), self.line + 1):
            line = line.strip()
            if not line or line[0] == "#":
                continue
            if (suspect or len(line) > MAX_LINE) and not self._readable(line, number):
                continue
            url, tab, metadata = line.partition("\t")
            if tab:
                batch.metadata[len(batch.urls)] = metadata
                url = url.rstrip()
            batch.urls.append(url)
            batch.lines.append(number)
        self.line = number
        return batch

    def _readable(self, line: str, number: int) -> bool:
        if len(line) > MAX_LINE:
            self._refuse("too_long", number, line, f"a line of more than {MAX_LINE} characters, left out")
        elif _BAD in line:
            self._refuse("encoding", number, line, f"not {self.encoding}, line left out; see --encoding")
        elif "\0" in line:
            self._refuse("control", number, line, "NUL characters, line left out")
        else:
            return True
        return False

    def _refuse(self, reason: str, number: int, line: str, why: str) -> None:
        self.rejects.unreadable(reason, self.source, number, line, why)


def _binary(block: str) -> bool:
    """Whether a file's first block is no text: NUL characters, and not just a stray one."""
    nul = block.count("\0")
    return nul > 0 and nul + block.count(_BAD) > len(block) // 20
