"""Exchange: one answer as it comes in, the same for every transport, ending in a ProtocolOutput.

A transport tells it the head of the answer, pieces of the body, and at the end what went wrong, if anything. Here it
is decided what that comes to: which limit was hit, what is kept of a body that is not whole, which status it gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from nutchpy.core.content import Headers, ProtocolOutput
from nutchpy.core.mime import SNIFF_BYTES, is_binary
from nutchpy.core.protocol_status import ProtocolStatus, from_http
from nutchpy.extension.decoder import BodyDecoder, Reason
from nutchpy.extension.points import Request
from nutchpy.plugins.protocol.budget import BodyBudget
from nutchpy.plugins.protocol.deadlines import Deadlines
from nutchpy.plugins.protocol.settings import TransportSettings

_FOLD: Final = re.compile(rb"\r?\n[ \t]+")
_GREETING: Final = re.compile(
    rb"HTTP[/ ]|ICY |RTSP/|SIP/|SSH-|RFB |@RSYNCD|\+OK|-ERR|\* OK|[0-9]{3}[ -]", re.IGNORECASE
)
"""How a broken status line begins, and what other servers say first."""
_ASCII: Final = bytes(range(128))
_EDGES: Final = " \t\r\n\0"
_TELLING: Final = frozenset({"transfer-encoding", "location", "content-length", "content-encoding"})
"""Headers that say how the answer is to be read, or followed."""
_CODINGS_OF_TRANSFER: Final = frozenset({"", "identity", "chunked"})
_NO_NEWS: Final = (
    ProtocolStatus.SUCCESS,
    ProtocolStatus.MOVED,
    ProtocolStatus.TEMP_MOVED,
    ProtocolStatus.NOTMODIFIED,
)
_WHY: Final[dict[Reason, str]] = {
    "length": "body is longer than the limit",
    "ratio": "body unfolds to more than http.content.ratio times its size",
    "disconnect": "coded body ended early",
    "bad_encoding": "coded body is damaged",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """What ended an exchange before its time."""

    status: ProtocolStatus
    message: str


class Exchange:
    """What has come of one request so far."""

    def __init__(
        self, token: int, request: Request, settings: TransportSettings, deadlines: Deadlines, budget: BodyBudget
    ) -> None:
        self.budget = budget
        self.token = token
        self.request = request
        self.settings = settings
        self.deadlines = deadlines
        self.http_status: int | None = None
        self.headers: Headers = ()
        self.http_version: str | None = None
        self.ip: str | None = None
        self.refused: Failure | None = None
        """An address the filter refused: what it comes to when no other address connects."""
        self.timings_ms: dict[str, int] = {}
        self.too_large = False
        self.request_head: bytes | None = None
        self.response_head: bytes | None = None
        self._fault = ""
        self._decoder: BodyDecoder | None = None
        self._body: list[bytes] = []

    def begin(self, http_status: int, headers: Headers, http_version: str | None, head: bytes | None = None) -> None:
        """The head of the final answer is there; ``head`` as it came."""
        self.response_head = head
        self.http_status = http_status
        self.headers = headers
        self.http_version = http_version
        telling = _telling(headers)
        self._fault = _fault(telling) if telling else ""
        wanted = self.request
        encodings = telling.get("content-encoding", []) if wanted.decode else []
        self._decoder = BodyDecoder(encodings, wanted.content_limit, self.settings.ratio_limit)

    def body(self, data: bytes) -> bool:
        """Take a piece of the body; False when no more of it is wanted."""
        if self._decoder is None or self._fault:
            return False
        piece = self._decoder.feed(data)
        if piece:
            self._body.append(piece)
        if not self.budget.hold(self.token, self._decoder.held):
            self._decoder.overflow()
        return self._decoder.stopped is None

    def note(self, step: str, now: float) -> None:
        """A step of the request is done: ``dns``, ``connect``, ``tls``, ``first_byte``."""
        self.timings_ms.setdefault(step, round((now - self.deadlines.started) * 1000))

    @property
    def sated(self) -> bool:
        """Whether the exchange itself said that it wants no more: breaking off is then no failure."""
        return bool(self._fault) or (self._decoder is not None and self._decoder.stopped is not None)

    def end(self, failure: Failure | None, now: float) -> ProtocolOutput:
        """What the exchange came to."""
        reason = self._finish_body()
        body = b"" if (self.http_status or 0) < 200 else b"".join(self._body)
        status, message, truncated = self._outcome(failure, reason, bool(body))
        # A 200 whose body is not there answers nothing: nobody may take it for an empty page.
        lost = bool(self._fault) or (status is not ProtocolStatus.SUCCESS and self.http_status in (None, 200))
        return ProtocolOutput(
            url=self.request.url,
            protocol_status=status,
            http_status=None if lost else self.http_status,
            message=message,
            headers=() if lost else self.headers,
            content=b"" if lost else body,
            truncated=None if lost else truncated,
            wire_bytes=self._decoder.wire_bytes if self._decoder else 0,
            elapsed_ms=self._elapsed(now),
            ip=self.ip,
            timings_ms=self.timings_ms,
            http_version=self.http_version,
            request_head=self.request_head,
            response_head=None if lost else self.response_head,
            ended=now,
        )

    def admits(self, ip: str) -> bool:
        """Whether the address filter lets this request connect to ``ip``; a refusal is kept in mind."""
        reason = self.settings.addresses.refuse(ip)
        self.ip = ip
        if reason is not None:
            self.refused = refusal(ip, reason)
        return reason is None

    def give_up(self, reason: str, now: float) -> ProtocolOutput:
        """What it comes to when the caller no longer wants it."""
        return self.lose(Failure(ProtocolStatus.RETRY, reason), now)

    def lose(self, failure: Failure, now: float) -> ProtocolOutput:
        """What it comes to when nothing of it can be had, not even what came."""
        return ProtocolOutput(
            self.request.url, failure.status, message=failure.message, elapsed_ms=self._elapsed(now), ip=self.ip
        )

    def _elapsed(self, now: float) -> int:
        return round((now - self.deadlines.started) * 1000)

    def _finish_body(self) -> Reason | None:
        if self._decoder is None:
            return None
        last, reason = self._decoder.finish()
        self._body.append(last)
        return reason

    def _outcome(
        self, failure: Failure | None, reason: Reason | None, some: bool
    ) -> tuple[ProtocolStatus, str, str | None]:
        """Status, message and truncation; ``reason`` is the decoder's, ``some`` whether it gave any bytes."""
        if self.too_large:
            return ProtocolStatus.HEADERS_TOO_LARGE, f"headers are larger than {self.settings.header_limit} bytes", None
        if self._fault:
            return ProtocolStatus.BAD_RESPONSE, self._fault, None
        if self.http_status is None:
            return (*self._no_answer(failure), None)
        if reason in ("length", "ratio"):
            return (*self._answer(_WHY[reason]), "length")
        if failure is not None:
            return self._broken_off(failure, some)
        if reason == "bad_encoding" and not some and self.http_status == 200:
            return ProtocolStatus.BAD_ENCODING, _WHY[reason], None
        return (*self._answer(_WHY[reason] if reason else ""), "disconnect" if reason else None)

    def _no_answer(self, failure: Failure | None) -> tuple[ProtocolStatus, str]:
        failure = failure or Failure(ProtocolStatus.BAD_RESPONSE, "no answer")
        if self.refused and failure.status is ProtocolStatus.CONNECT_FAILED:
            return self.refused.status, self.refused.message
        return failure.status, failure.message

    def _broken_off(self, failure: Failure, some: bool) -> tuple[ProtocolStatus, str, str | None]:
        """The body is not whole. Only a 200 stands or falls with it: any other status has said all it has to say."""
        late = failure.status is ProtocolStatus.TIMEOUT
        kept = some and (self.settings.keep_partial or not late)
        if self.http_status == 200 and not kept:
            return failure.status, failure.message, None
        return (*self._answer(failure.message), "time" if late else "disconnect")

    def _answer(self, message: str) -> tuple[ProtocolStatus, str]:
        status = from_http(self.http_status or 0)
        return status, message or ("" if status in _NO_NEWS else f"HTTP {self.http_status}")


def is_bare(head: bytes) -> bool:
    """Whether an answer that begins so is a document without a head (HTTP/0.9): a text, not another protocol's word."""
    return bool(head.strip()) and _is_text(head[:SNIFF_BYTES]) and _GREETING.match(head.lstrip()) is None


def _is_text(head: bytes) -> bool:
    """Half of it in ASCII, or all of it in UTF-8, and no control characters."""
    beyond = len(head.translate(None, _ASCII))
    return not is_binary(head) and (2 * beyond <= len(head) or "\ufffd" not in head.decode("utf-8", "replace")[:-1])


def refusal(ip: str, reason: str) -> Failure:
    """What it comes to when an address is not to be connected to."""
    return Failure(ProtocolStatus.ADDRESS_REFUSED, f"{ip} is not to be connected to ({reason})")


def headers_of(lines: Sequence[bytes]) -> list[tuple[str, str]]:
    """Header lines as (name, value) pairs in their order; folded lines unfolded, lines without a colon left out."""
    try:
        plain = b"".join(lines).decode("ascii")
    except UnicodeDecodeError:
        plain = "\n "
    if "\n " in plain or "\n\t" in plain:
        pairs = (line.partition(b":") for line in _unfolded(lines))
        return [(text_of(name), text_of(value)) for name, colon, value in pairs if colon and name.strip()]
    found = []
    for line in plain.split("\n"):
        name, colon, value = line.partition(":")
        if colon and name and not name.isspace():
            found.append((name.strip(_EDGES), value.strip(_EDGES)))
    return found


def text_of(value: bytes) -> str:
    """A header value as text: UTF-8 when it is, else Latin-1; folds become a space."""
    value = value.strip(b" \t\r\n\0")
    if b"\n" in value:
        value = _FOLD.sub(b" ", value)
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def lengths_of(headers: Headers) -> list[str]:
    """The values of Content-Length that differ."""
    return _parts(value for name, value in headers if name.lower() == "content-length")


def is_chunked(headers: Headers) -> bool:
    """Whether Transfer-Encoding names that coding, alone or among others."""
    return "chunked" in _parts(value for name, value in headers if name.lower() == "transfer-encoding")


def _telling(headers: Headers) -> dict[str, list[str]]:
    """The values of headers that matter here, by their names in lower case."""
    found: dict[str, list[str]] = {}
    for name, value in headers:
        lower = name.lower()
        if lower in _TELLING:
            found.setdefault(lower, []).append(value)
    return found


def _fault(telling: Mapping[str, Sequence[str]]) -> str:
    """What is wrong with a head that can be read in two ways, or in none."""
    unasked = set(_parts(telling.get("transfer-encoding", ()))) - _CODINGS_OF_TRANSFER
    if unasked:
        return f"transfer coding {', '.join(sorted(unasked))} was not asked for"
    if len(set(telling.get("location", ()))) > 1:
        return "several Location headers"
    return "several Content-Length values" if len(_parts(telling.get("content-length", ()))) > 1 else ""


def _parts(values: Iterable[str]) -> list[str]:
    """The parts of comma-separated values, each once."""
    return list(dict.fromkeys(part.strip().lower() for value in values for part in value.split(",")))


def _unfolded(lines: Sequence[bytes]) -> list[bytes]:
    joined: list[bytes] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and joined:
            joined[-1] = joined[-1].rstrip(b"\r\n") + b" " + line.strip()
        else:
            joined.append(line)
    return joined
