"""Why a fetch ended as it did, and which fetch status that gives (Nutch's ProtocolStatus, with finer network reasons).

Shapes only: a name for the outcome, and two total functions, ``from_http`` and ``fetch_status``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from nutchpy.core.status import Status


class ProtocolStatus(StrEnum):
    """The outcome of one attempt, as stored in ``protocol_status``."""

    SUCCESS = "success"
    FAILED = "failed"
    PROTO_NOT_FOUND = "proto_not_found"
    GONE = "gone"
    MOVED = "moved"
    TEMP_MOVED = "temp_moved"
    NOTFOUND = "notfound"
    RETRY = "retry"
    EXCEPTION = "exception"
    ACCESS_DENIED = "access_denied"
    ROBOTS_DENIED = "robots_denied"
    CRAWL_DELAY_TOO_LONG = "crawl_delay_too_long"
    REDIR_EXCEEDED = "redir_exceeded"
    NOTMODIFIED = "notmodified"
    TIMEOUT = "timeout"
    DNS_FAILED = "dns_failed"
    CONNECT_FAILED = "connect_failed"
    TLS_FAILED = "tls_failed"
    ADDRESS_REFUSED = "address_refused"
    BAD_RESPONSE = "bad_response"
    BAD_ENCODING = "bad_encoding"
    HEADERS_TOO_LARGE = "headers_too_large"


_FETCH_STATUS: Final[dict[ProtocolStatus, Status]] = {
    ProtocolStatus.SUCCESS: Status.FETCH_SUCCESS,
    ProtocolStatus.MOVED: Status.FETCH_REDIR_PERM,
    ProtocolStatus.TEMP_MOVED: Status.FETCH_REDIR_TEMP,
    ProtocolStatus.NOTMODIFIED: Status.FETCH_NOTMODIFIED,
    ProtocolStatus.GONE: Status.FETCH_GONE,
    ProtocolStatus.NOTFOUND: Status.FETCH_GONE,
    ProtocolStatus.ACCESS_DENIED: Status.FETCH_GONE,
    ProtocolStatus.ROBOTS_DENIED: Status.FETCH_GONE,
    ProtocolStatus.CRAWL_DELAY_TOO_LONG: Status.FETCH_GONE,
    ProtocolStatus.PROTO_NOT_FOUND: Status.FETCH_GONE,
    ProtocolStatus.REDIR_EXCEEDED: Status.FETCH_GONE,
}

_FROM_HTTP: Final[dict[int, ProtocolStatus]] = {
    200: ProtocolStatus.SUCCESS,
    300: ProtocolStatus.MOVED,
    301: ProtocolStatus.MOVED,
    302: ProtocolStatus.TEMP_MOVED,
    303: ProtocolStatus.TEMP_MOVED,
    304: ProtocolStatus.NOTMODIFIED,
    305: ProtocolStatus.MOVED,
    307: ProtocolStatus.TEMP_MOVED,
    308: ProtocolStatus.MOVED,
    400: ProtocolStatus.GONE,
    401: ProtocolStatus.ACCESS_DENIED,
    404: ProtocolStatus.NOTFOUND,
    410: ProtocolStatus.GONE,
}


def fetch_status(status: ProtocolStatus) -> Status:
    """The crawl_fetch status an outcome leads to; whatever is not final is a retry."""
    return _FETCH_STATUS.get(status, Status.FETCH_RETRY)


def from_http(code: int) -> ProtocolStatus:
    """The outcome an HTTP status code means (HttpBase.java): only 200 is success, unlisted 3xx are moves."""
    if code in _FROM_HTTP:
        return _FROM_HTTP[code]
    return ProtocolStatus.MOVED if 300 <= code < 400 else ProtocolStatus.EXCEPTION
