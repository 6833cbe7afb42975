"""Content: the body and headers of one response as stored in a segment; and ProtocolOutput, what a transport answers.

Pure values; nothing here knows sockets or files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from nutchpy.core.protocol_status import ProtocolStatus

Headers = Sequence[tuple[str, str]]


def header(headers: Headers, name: str) -> str | None:
    """The last value of a header, whatever its case; None when absent."""
    wanted, length = name.lower(), len(name)
    found = [value for key, value in headers if len(key) == length and key.lower() == wanted]
    return found[-1] if found else None


def combined(headers: Headers, name: str) -> str | None:
    """All values of a header that is a list, joined by commas, as if they had been sent in one; None when absent."""
    wanted = name.lower()
    return ", ".join(value for key, value in headers if key.lower() == wanted) or None


@dataclass(frozen=True, slots=True)
class Content:
    """One row of the ``content`` table: body as sent after transfer decoding and content decoding."""

    url: str
    base_url: str
    content_type: str
    headers: Headers
    content: bytes
    fetch_time: datetime
    truncated: str | None = None
    """None, or why the body is not whole: ``length``, ``time``, ``disconnect``."""


@dataclass(frozen=True, slots=True)
class ProtocolOutput:
    """What one request came to, the same from every transport. ``headers`` keep order and duplicates."""

    url: str
    protocol_status: ProtocolStatus
    http_status: int | None = None
    message: str = ""
    headers: Headers = ()
    content: bytes = b""
    truncated: str | None = None
    wire_bytes: int = 0
    elapsed_ms: int = 0
    ip: str | None = None
    timings_ms: Mapping[str, int] = field(default_factory=dict)
    """``dns``, ``connect``, ``tls``, ``first_byte``: milliseconds from the start of the request."""
    http_version: str | None = None
    request_head: bytes | None = None
    """Request line and headers as sent, without secrets; None when nobody wants to keep them."""
    response_head: bytes | None = None
    """Status line and headers of the final answer as they came, the empty line included."""
    ended: float | None = field(default=None, compare=False)
    """When it was over, by ``time.monotonic``: delays count from here. None: when the loop gets to hear of it."""
