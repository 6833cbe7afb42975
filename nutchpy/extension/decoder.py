"""The body decoder both transports share: undoes ``Content-Encoding`` while the body streams in, within limits.

Chains are undone from the last coding to the first, as far as codings are known. Damaged and cut data give what can
be had of them. ``stopped`` tells the transport that no more is wanted; ``finish`` says why a body is not whole:

- ``length``: more bytes came than the limit allows (decoded, or coded beyond what could decode to the limit)
- ``ratio``: the data unfolds to more than ``ratio`` times its size, a bomb
- ``disconnect``: the coded data ended before its end mark
- ``bad_encoding``: the coded data is damaged
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

from nutchpy.extension.codings import SNIFFED, ChecksumError, CodingError, Decoder, Emit, candidates

Reason = Literal["length", "ratio", "disconnect", "bad_encoding"]

_NAMES: Final = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate", "br": "br", "zstd": "zstd"}
_NO_CODING: Final = frozenset({"", "identity", "none"})
_MOST_CODINGS: Final = 5
_RATIO_FLOOR: Final = 1 << 20
"""A body of less than 1 MiB is no bomb, whatever it unfolds from."""

_SALVAGE_STEPS: Final = (4096, 64, 1)
_FEED: Final = 1 << 14

ACCEPT_ENCODING: Final = "gzip, deflate, br, zstd"


class _Enough(Exception):  # noqa: N818  # control flow within this module
    """A limit is reached: unwinds the decoders of a chain."""


class BodyDecoder:
    """Decodes one body. ``limit`` -1: any length; ``ratio`` 0: any ratio."""

    def __init__(self, content_encoding: Sequence[str], limit: int = -1, ratio: int = 0) -> None:
        known, self.remaining = _codings(content_encoding)
        self.stopped: Reason | None = None
        self.wire_bytes = 0
        self.decoded_bytes = 0
        self._limit = limit
        self._ratio = ratio
        self._wire_limit = limit + limit // 8 + 4096 if known and limit >= 0 else -1
        self._out: list[bytes] = []
        self._layers: list[_Layer] = []
        for coding in known:
            emit = self._layers[-1].feed if self._layers else self._keep
            self._layers.append(_Layer(coding, emit, self._unfolded))

    @property
    def held(self) -> int:
        """Bytes of the body kept in memory: decoded, and coded ones beside them."""
        return self.decoded_bytes + (self.wire_bytes if self._layers else 0)

    def overflow(self) -> None:
        """No more is wanted, there is no room for it."""
        self.stopped = self.stopped or "length"

    def feed(self, data: bytes) -> bytes:
        """Take body bytes as they came from the wire; returns those decoded."""
        if self.stopped or not data:
            return b""
        self.wire_bytes += len(data)
        try:
            if self._layers:
                self._layers[-1].feed(data)
            else:
                self._keep(data)
            if 0 <= self._wire_limit < self.wire_bytes:
                self.stopped = "length"
        except _Enough:
            pass
        except CodingError:
            self.stopped = "bad_encoding"
        return self._take()

    def finish(self) -> tuple[bytes, Reason | None]:
        """The wire has ended: the last decoded bytes, and why the body is not whole (None when it is)."""
        if self.stopped is None:
            try:
                for layer in reversed(self._layers):
                    layer.finish()
            except _Enough:
                pass
            except CodingError:
                self.stopped = "bad_encoding"
        cut = self.stopped is None and not all(layer.whole for layer in self._layers)
        return self._take(), "disconnect" if cut else self.stopped

    def _keep(self, data: bytes) -> None:
        room = self._limit - self.decoded_bytes
        if self._limit >= 0 and len(data) > room:
            data = data[:room]
            self.stopped = "length"
        self.decoded_bytes += len(data)
        self._out.append(data)
        if self.stopped:
            raise _Enough

    def _unfolded(self, produced: int) -> None:
        if self._ratio and produced > _RATIO_FLOOR and produced > self._ratio * self.wire_bytes:
            self.stopped = "ratio"
            raise _Enough

    def _take(self) -> bytes:
        out = b"".join(self._out)
        self._out.clear()
        return out


class _Layer:
    """One coding of a chain. Chooses its decoder by the first bytes, and another when the first choice gives nothing.

    The coded bytes are kept, so that damage costs only what lies behind it: a decoder loses what it had decoded in the
    call that fails, and a second one, fed in ever smaller steps, gets it back.
    """

    def __init__(self, coding: str, emit: Emit, unfolded: Callable[[int], None]) -> None:
        self._coding = coding
        self._emit = emit
        self._unfolded = unfolded
        self._raw = bytearray()
        self._produced = 0
        self._skip = 0
        self._choices: list[Callable[[], Decoder]] = []
        self._decoder: Decoder | None = None
        self._plain = False
        self._over = False

    @property
    def whole(self) -> bool:
        """Whether the coded data came to its end; no data at all is whole too."""
        return self._plain or self._over or not self._raw or (self._decoder is not None and self._decoder.done)

    def feed(self, data: bytes) -> None:
        if self._plain:
            self._emit(data)
        if self._plain or self._over:
            return
        self._raw += data
        if self._decoder is not None:
            self._decode(self._decoder, data)
        elif len(self._raw) >= SNIFFED:
            self._begin()

    def finish(self) -> None:
        if self._raw and self._decoder is None and not self._plain:
            self._begin()

    def _begin(self) -> None:
        choices = candidates(self._coding, bytes(self._raw[:SNIFFED]))
        if choices is None:
            self._plain = True
            self._emit(bytes(self._raw))
            self._raw.clear()
            return
        self._choices = choices
        self._decoder = self._choices[0]()
        self._decode(self._decoder, bytes(self._raw))

    def _decode(self, decoder: Decoder, data: bytes) -> None:
        try:
            decoder.feed(data, self._deliver)
        except CodingError as error:
            self._salvage(len(self._raw) - len(data))
            self._over = isinstance(error, ChecksumError)
            if self._over:
                return
            if self._produced or len(self._choices) == 1:
                raise
            self._choices = self._choices[1:]
            self._decoder = self._choices[0]()
            self._decode(self._decoder, bytes(self._raw))

    def _salvage(self, good: int) -> None:
        """Deliver what can be decoded before the damage; the first ``good`` coded bytes are known to decode."""
        raw = bytes(self._raw)
        for step in _SALVAGE_STEPS:
            self._skip = self._produced
            again = self._choices[0]()
            again.feed(raw[:good], self._deliver)
            try:
                while good < len(raw):
                    again.feed(raw[good : good + step], self._deliver)
                    good += step
            except CodingError:
                continue

    def _deliver(self, piece: bytes) -> None:
        if self._skip:
            skipped = min(self._skip, len(piece))
            self._skip -= skipped
            piece = piece[skipped:]
        if piece:
            self._produced += len(piece)
            self._unfolded(self._produced)
            self._emit(piece)


def decode(body: bytes, content_encoding: str, limit: int = -1) -> tuple[bytes, Reason | None]:
    """A whole body at once; the reason when it is cut, damaged or over the limit."""
    decoder = BodyDecoder([content_encoding], limit)
    pieces = [decoder.feed(body[at : at + _FEED]) for at in range(0, len(body), _FEED)]
    last, reason = decoder.finish()
    return b"".join([*pieces, last]), reason


def _codings(content_encoding: Sequence[str]) -> tuple[list[str], list[str]]:
    """The codings to undo, in the order they were applied, and those before them that nobody can undo."""
    names = [name.strip().lower() for value in content_encoding for name in value.split(",")]
    names = [name for name in names if name not in _NO_CODING]
    known: list[str] = []
    while names and names[-1] in _NAMES and len(known) < _MOST_CODINGS:
        known.insert(0, _NAMES[names.pop()])
    return known, names
