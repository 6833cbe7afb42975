"""What an exception of requests, urllib3, http.client, ssl or socket means for the exchange it ended."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Iterator
from typing import Final

import requests.exceptions
import urllib3.exceptions

from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.plugins.protocol.exchange import Failure

_MEANINGS: Final[tuple[tuple[ProtocolStatus, tuple[type[BaseException], ...]], ...]] = (
    (ProtocolStatus.TLS_FAILED, (ssl.SSLError, ssl.CertificateError, urllib3.exceptions.SSLError)),
    (ProtocolStatus.DNS_FAILED, (socket.gaierror, urllib3.exceptions.NameResolutionError)),
    (ProtocolStatus.CONNECT_FAILED, (urllib3.exceptions.NewConnectionError, ConnectionRefusedError)),
    (ProtocolStatus.TIMEOUT, (TimeoutError, urllib3.exceptions.TimeoutError)),
    (ProtocolStatus.CONNECT_FAILED, (urllib3.exceptions.ProxyError, requests.exceptions.ProxyError)),
    (ProtocolStatus.EXCEPTION, (http.client.RemoteDisconnected, ConnectionError)),
    (ProtocolStatus.HEADERS_TOO_LARGE, (http.client.LineTooLong,)),
    (ProtocolStatus.BAD_RESPONSE, (http.client.BadStatusLine, http.client.UnknownProtocol)),
    (ProtocolStatus.BAD_RESPONSE, (urllib3.exceptions.InvalidHeader, requests.exceptions.InvalidHeader)),
    (ProtocolStatus.FAILED, (urllib3.exceptions.LocationValueError, requests.exceptions.InvalidURL)),
)
"""Asked from the top: an exception is often wrapped in others that say less."""
_NO_CHUNK: Final = "b''"
_MOST_CAUSES: Final = 20


class BadHead(http.client.HTTPException):
    """A head that http.client lets pass, though it frames no answer."""


def failure_of(error: BaseException) -> Failure:
    """The failure an exception stands for; one that is not known is an ``exception``."""
    causes = list(_causes(error))
    message = f"{type(causes[-1]).__name__}: {causes[-1]}"[:500]
    for status, kinds in _MEANINGS:
        found = next((cause for cause in causes if isinstance(cause, kinds)), None)
        if found is not None:
            return Failure(status, str(found) or message)
    return Failure(_by_message(causes), message)


def _by_message(causes: list[BaseException]) -> ProtocolStatus:
    """http.client has no types of its own for too many headers, and for chunks that are none."""
    for cause in causes:
        if isinstance(cause, BadHead) or (isinstance(cause, ValueError) and _is_bad_chunk(str(cause))):
            return ProtocolStatus.BAD_RESPONSE
        if isinstance(cause, http.client.HTTPException) and "headers" in str(cause):
            return ProtocolStatus.HEADERS_TOO_LARGE
    return ProtocolStatus.EXCEPTION


def _is_bad_chunk(message: str) -> bool:
    """A chunk length that is no number; that of a lost connection is empty."""
    return "invalid literal for int() with base 16" in message and not message.endswith(_NO_CHUNK)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception, and those it was made from, by whatever way it carries them."""
    waiting: list[object] = [error]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_CAUSES:
        cause = waiting.pop(0)
        if not isinstance(cause, BaseException) or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting += [*cause.args, getattr(cause, "reason", None), cause.__cause__, cause.__context__]
