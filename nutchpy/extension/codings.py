"""Streaming decoders of single content codings: gzip, deflate, br, zstd. No limits here: ``emit`` may raise.

Each takes coded bytes by ``feed`` and hands out pieces of at most some 100 KiB, so that a bomb is stopped while it
unfolds. ``done`` says that the coded data came to its proper end; what follows that end is passed over.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final, Protocol

import brotli
import zstandard

Emit = Callable[[bytes], None]

_PIECE: Final = 1 << 16
_ZSTD_SLICE: Final = 512
"""Coded bytes given to zstd at once: it cannot be told to stop, and each four bytes may unfold to 128 KiB."""
_ZSTD_WINDOW: Final = 1 << 23
"""RFC 9659: a zstd window on the web is at most 8 MiB."""
_GZIP_MAGIC: Final = b"\x1f\x8b"
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_MAGIC: Final = {"gzip": _GZIP_MAGIC, "zstd": _ZSTD_MAGIC}
_ZSTD_SKIPPABLE: Final = b"\x2a\x4d\x18"
_PRINTABLE: Final = frozenset(b"\t\n\r\f") | frozenset(range(0x20, 0x7F))
_WRONG_CHECKSUM: Final = ("incorrect data check", "incorrect length check")

SNIFFED: Final = 16
"""Bytes that ``candidates`` wants to see, when there are so many."""


class CodingError(Exception):
    """The data is not, or no longer, of the coding."""


class ChecksumError(CodingError):
    """All data has been decoded, but its checksum is wrong. Browsers do not look at it."""


class Decoder(Protocol):
    """Decodes one coding of one body."""

    @property
    def done(self) -> bool:
        """Whether the coded data has come to a proper end; another member may still follow."""
        ...

    def feed(self, data: bytes, emit: Emit) -> None:
        """Decode what can be decoded; raise CodingError when the data is damaged."""
        ...


class Inflate:
    """``deflate`` with its zlib wrapper, or raw as some servers send it."""

    def __init__(self, wbits: int) -> None:
        self._wbits = wbits
        self._inflate = zlib.decompressobj(wbits)

    @property
    def done(self) -> bool:
        return self._inflate.eof

    def feed(self, data: bytes, emit: Emit) -> None:
        if not self._inflate.eof:
            self._decompress(data, emit)

    def _decompress(self, data: bytes, emit: Emit) -> None:
        while True:
            try:
                piece = self._inflate.decompress(data, _PIECE)
            except zlib.error as error:
                wrong_sum = any(text in str(error) for text in _WRONG_CHECKSUM)
                raise (ChecksumError if wrong_sum else CodingError)(str(error)) from error
            if piece:
                emit(piece)
            data = self._inflate.unconsumed_tail
            if self._inflate.eof or (not data and len(piece) < _PIECE):
                return


class Gunzip(Inflate):
    """``gzip``: one or more members; zeros and junk after the last one are passed over."""

    def __init__(self) -> None:
        super().__init__(zlib.MAX_WBITS | 16)
        self._rest = b""
        self._over = False

    def feed(self, data: bytes, emit: Emit) -> None:
        data, self._rest = self._rest + data, b""
        while data and not self._over:
            if self._inflate.eof:
                data = data.lstrip(b"\0")
                if len(data) < len(_GZIP_MAGIC):
                    self._rest = data
                    return
                self._next_member(data)
                continue
            self._decompress(data, emit)
            data = self._inflate.unused_data

    def _next_member(self, data: bytes) -> None:
        self._over = not data.startswith(_GZIP_MAGIC)
        self._inflate = self._inflate if self._over else zlib.decompressobj(self._wbits)


class Unbrotli:
    """``br``."""

    def __init__(self) -> None:
        self.done = False
        self._brotli = brotli.Decompressor()

    def feed(self, data: bytes, emit: Emit) -> None:
        while not self.done:
            try:
                piece = self._brotli.process(data, output_buffer_limit=_PIECE)
                self.done = self._brotli.is_finished()
            except brotli.error as error:
                raise CodingError(str(error)) from error
            data = b""
            if not piece:
                return
            emit(piece)


class Unzstd:
    """``zstd``: one or more frames; what follows and is no frame is passed over."""

    def __init__(self) -> None:
        self._context = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        self._frame = self._context.decompressobj()
        self._rest = b""
        self._over = False

    @property
    def done(self) -> bool:
        return self._over or bool(self._frame.eof)

    def feed(self, data: bytes, emit: Emit) -> None:
        for at in range(0, len(data), _ZSTD_SLICE):
            self._feed_slice(self._rest + data[at : at + _ZSTD_SLICE], emit)

    def _feed_slice(self, data: bytes, emit: Emit) -> None:
        self._rest = b""
        while data and not self._over:
            if self._frame.eof:
                if len(data) < len(_ZSTD_MAGIC):
                    self._rest = data
                    return
                self._over = data[:4] != _ZSTD_MAGIC and data[1:4] != _ZSTD_SKIPPABLE
                self._frame = self._frame if self._over else self._context.decompressobj()
                continue
            try:
                piece = self._frame.decompress(data)
            except zstandard.ZstdError as error:
                raise CodingError(str(error)) from error
            if piece:
                emit(piece)
            data = self._frame.unused_data if self._frame.eof else b""


def candidates(coding: str, prefix: bytes) -> list[Callable[[], Decoder]] | None:
    """The decoders to try on data labelled ``coding``, by its first bytes; None when it plainly is not coded at all.

    Labels lie: gzip data is told by its magic under any label, and text is text.
    """
    if prefix[:3] == b"\x1f\x8b\x08" or (coding == "gzip" and prefix.startswith(_GZIP_MAGIC)):
        return [Gunzip]
    if prefix.startswith(_ZSTD_MAGIC):
        return [Unzstd]
    if _is_text(prefix):
        return None
    if coding == "br":
        return [Unbrotli]
    wrapped = len(prefix) > 1 and prefix[0] & 15 == 8 and int.from_bytes(prefix[:2]) % 31 == 0
    if coding == "deflate":
        return [_zlib, _raw_deflate] if wrapped else [_raw_deflate]
    if coding == "zstd" and prefix[1:4] == _ZSTD_SKIPPABLE:
        return [Unzstd]
    if len(prefix) < SNIFFED and _MAGIC[coding].startswith(prefix):
        return [Gunzip if coding == "gzip" else Unzstd]
    return [_zlib] if wrapped else None


def _zlib() -> Decoder:
    return Inflate(zlib.MAX_WBITS)


def _raw_deflate() -> Decoder:
    return Inflate(-zlib.MAX_WBITS)


def _is_text(prefix: bytes) -> bool:
    return len(prefix) >= SNIFFED and _PRINTABLE.issuperset(prefix.removeprefix(b"\xef\xbb\xbf"))
