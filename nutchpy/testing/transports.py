"""What every Transport has to make of a server's behaviour: cases for a conformance suite, and how to run one.

A third-party transport proves itself by running them all::

    @pytest.mark.parametrize("case", CASES, ids=str)
    def test_mine(case):
        assert outcome(run(case, MyTransport.from_conf)) == case.expected

*The same answers* means the same protocol status, HTTP status, headers, body and truncation. Messages and times are
each library's own. Where a library cannot do better, list the difference with its reason beside the test.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from nutchpy.conf.layers import Conf, Value, defaults
from nutchpy.core.content import Headers, ProtocolOutput
from nutchpy.core.protocol_status import ProtocolStatus as Status
from nutchpy.extension.points import Transport
from nutchpy.testing.client import Client, PlainRequest, PlainTimeouts
from nutchpy.testing.raw_server import Drip, RawServer, Reset, Script, Send, Wait

MakeTransport = Callable[[Conf], Transport]

_OK: Final = b"HTTP/1.1 200 OK\r\n"
_CHUNKED: Final = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
_ONE_CHUNK: Final = _CHUNKED + b"4\r\nbody\r\n0\r\n"
_FAST: Final = PlainTimeouts(connect=2, first_byte=0.3, idle=0.3, total=1.5)
_PARTIAL: Final[Mapping[str, Value]] = {"http.partial.truncated": True}
_TEXT: Final = b"some text, and more of it\n" * 40
_BOMB: Final = gzip.compress(bytes(30_000_000))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is compared."""

    protocol_status: Status
    http_status: int | None = None
    content: bytes = b""
    truncated: str | None = None
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Case:
    """A server's script, and what a transport must make of it."""

    name: str
    script: Script
    expected: Outcome
    settings: Mapping[str, Value] = field(default_factory=dict)
    timeouts: PlainTimeouts = field(default_factory=PlainTimeouts)
    content_limit: int = 1 << 20
    decode: bool = True

    def __str__(self) -> str:
        return self.name


def transport_conf(settings: Mapping[str, Value] | None = None) -> Conf:
    """Settings for a transport that talks to loopback servers."""
    base: dict[str, Value] = {"http.agent.name": "testbot", "http.filter.ipaddress.exclude": []}
    return defaults().with_values({**base, **(settings or {})})


def run(case: Case, make: MakeTransport) -> ProtocolOutput:
    """Serve the script, fetch it once."""
    with RawServer(case.script) as server, Client(make(transport_conf(case.settings))) as client:
        request = PlainRequest(
            server.url(), timeouts=case.timeouts, content_limit=case.content_limit, decode=case.decode
        )
        return client.fetch(request)


def outcome(output: ProtocolOutput) -> Outcome:
    """The part of an answer in which transports must agree."""
    return Outcome(output.protocol_status, output.http_status, output.content, output.truncated, tuple(output.headers))


def success(content: bytes = b"body", *headers: tuple[str, str], truncated: str | None = None) -> Outcome:
    """A page."""
    return Outcome(Status.SUCCESS, 200, content, truncated, headers)


def _raw(name: str, answer: bytes, expected: Outcome) -> Case:
    return Case(name, [Send(answer)], expected)


def _status(code: int, status: Status, *headers: tuple[str, str], body: bytes = b"body") -> Case:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers).encode()
    sized = f"Content-Length: {len(body)}\r\n\r\n".encode()
    sent = (*headers, ("Content-Length", str(len(body))))
    expected = Outcome(status, code, b"" if code in (204, 304) else body, None, sent)
    return _raw(f"status {code}", f"HTTP/1.1 {code} Whatever\r\n".encode() + lines + sized + body, expected)


def _coded(name: str, label: str, body: bytes, expected: bytes, truncated: str | None = None, limit: int = -1) -> Case:
    head = _OK + f"Content-Encoding: {label}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    headers = (("Content-Encoding", label), ("Content-Length", str(len(body))))
    return Case(name, [Send(head + body)], success(expected, *headers, truncated=truncated), content_limit=limit)


_CL: Final = ("Content-Length", "100")
_TE: Final = ("Transfer-Encoding", "chunked")
_BARE_TEXT: Final = "just some text, äöü".encode()
_BARE_HTML: Final = b"<!DOCTYPE html>\n<html><title>x</title></html>"
_BAD: Final = Outcome(Status.BAD_RESPONSE)
_LOST: Final = Outcome(Status.EXCEPTION)
_LATE: Final = Outcome(Status.TIMEOUT)
_TOO_LARGE: Final = Outcome(Status.HEADERS_TOO_LARGE)

_STATUSES: Final = (
    _status(200, Status.SUCCESS, ("ETag", '"x"')),
    _status(204, Status.EXCEPTION, body=b""),
    _status(206, Status.EXCEPTION),
    _status(301, Status.MOVED, ("Location", "/elsewhere")),
    _status(302, Status.TEMP_MOVED, ("Location", "//other.example/ä")),
    _status(304, Status.NOTMODIFIED, body=b""),
    _status(308, Status.MOVED, ("Location", "x")),
    _status(400, Status.GONE),
    _status(401, Status.ACCESS_DENIED, ("WWW-Authenticate", "Basic")),
    _status(403, Status.EXCEPTION),
    _status(404, Status.NOTFOUND),
    _status(410, Status.GONE),
    _status(429, Status.EXCEPTION, ("Retry-After", "120")),
    _status(503, Status.EXCEPTION, ("Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT")),
    _status(999, Status.EXCEPTION),
)

_FRAMING: Final = (
    _raw("until close", _OK + b"\r\nbody", success()),
    _raw("http 1.0", b"HTTP/1.0 200 OK\r\n\r\nbody", success()),
    _raw("no reason", b"HTTP/1.1 200\r\n\r\nbody", success()),
    _raw("bare line feeds", b"HTTP/1.1 200 OK\nA: b\n\nbody", success(b"body", ("A", "b"))),
    _raw("empty body", _OK + b"Content-Length: 0\r\n\r\n", success(b"", ("Content-Length", "0"))),
    _raw("shorter length", _OK + b"Content-Length: 2\r\n\r\nbody", success(b"bo", ("Content-Length", "2"))),
    _raw("chunks", _CHUNKED + b"2;ext=1\r\nbo\r\n2\r\ndy\r\n0\r\nTrailer: x\r\n\r\n", success(b"body", _TE)),
    _raw(
        "chunked said twice",
        _OK + b"Transfer-Encoding: chunked, chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        success(b"body", ("Transfer-Encoding", "chunked, chunked")),
    ),
    _raw("space before colon", _OK + b"A : b\r\n\r\nbody", success(b"body", ("A", "b"))),
    _raw("folded header", _OK + b"A: b;\r\n  c;\r\n\td\r\n\r\nbody", success(b"body", ("A", "b; c; d"))),
    _raw(
        "duplicates in order",
        _OK + b"Set-Cookie: 1\r\nB: x\r\nset-cookie: 2\r\n\r\nbody",
        success(b"body", ("Set-Cookie", "1"), ("B", "x"), ("set-cookie", "2")),
    ),
    _raw(
        "utf-8 and latin-1 headers",
        b"HTTP/1.1 302 Found\r\nLocation: /\xc3\xa4\r\nX: \xe4\r\nContent-Length: 0\r\n\r\n",
        Outcome(Status.TEMP_MOVED, 302, b"", None, (("Location", "/ä"), ("X", "ä"), ("Content-Length", "0"))),
    ),
    _raw(
        "interim answers",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + _OK + b"A: b\r\n\r\nbody",
        success(b"body", ("A", "b")),
    ),
    _raw(
        "chunks and length",
        _OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        success(b"body", ("Content-Length", "3"), _TE),
    ),
    _raw(
        "unknown header that ends like one",
        _OK + b"Client-Transfer-Encoding: chunked\r\n\r\nbody",
        success(b"body", ("Client-Transfer-Encoding", "chunked")),
    ),
    _raw("body behind 204", b"HTTP/1.1 204 No\r\n\r\nbody", Outcome(Status.EXCEPTION, 204)),
)

_BROKEN: Final = (
    _raw("binary without status line", b"\x15\x03\x01\0\2\2\x46 as TLS complains", _BAD),
    _raw("another protocol", b"SSH-2.0-OpenSSH_9.9\r\n", _BAD),
    _raw("yet another", b"220 mail.example ESMTP\r\n", _BAD),
    _raw("status line in lower case", b"http/1.1 200 ok\r\n\r\nbody", _BAD),
    _raw("icy", b"ICY 200 OK\r\n\r\nbody", _BAD),
    _raw("unknown version", b"HTTP/9.9 200 OK\r\n\r\nbody", _BAD),
    _raw("status is no number", b"HTTP/1.1 abc OK\r\n\r\nbody", _BAD),
    _raw("status of two digits", b"HTTP/1.1 20 OK\r\n\r\nbody", _BAD),
    _raw("empty line first", b"\r\n" + _OK + b"\r\nbody", _BAD),
    _raw("header without colon", _OK + b"A: b\r\nnonsense\r\n\r\nbody", _BAD),
    _raw("NUL in header", _OK + b"A: b\0c\r\n\r\nbody", _BAD),
    _raw("headers end early", _OK + b"A: b\r\n", _BAD),
    _raw("different lengths", _OK + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nbody", _BAD),
    _raw("different lengths in one", _OK + b"Content-Length: 3, 4\r\n\r\nbody", _BAD),
    _raw("different locations", b"HTTP/1.1 301 x\r\nLocation: /a\r\nLocation: /b\r\n\r\n", _BAD),
    _raw("unasked transfer coding", _OK + b"Transfer-Encoding: gzip\r\n\r\nbody", _BAD),
    _raw("chunk length with a sign", _CHUNKED + b"-4\r\nbody\r\n0\r\n\r\n", _BAD),
    _raw("chunk length with a prefix", _CHUNKED + b"0x4\r\nbody\r\n0\r\n\r\n", _BAD),
    _raw("no slash in the status line", b"HTTP 200 OK\r\n\r\nbody", _BAD),
    _raw("no chunk at all", _CHUNKED + b"Not a chunk", _BAD),
    _raw("bad chunk later", _CHUNKED + b"4\r\nbody\r\nzz\r\n", success(b"body", _TE, truncated="disconnect")),
    _raw(
        "redirect with a body that is no chunk",
        b"HTTP/1.1 302 Found\r\nLocation: /x\r\nTransfer-Encoding: chunked\r\n\r\nNot a chunk",
        Outcome(Status.TEMP_MOVED, 302, b"", "disconnect", (("Location", "/x"), _TE)),
    ),
)

_LENIENT: Final = (
    _raw("no status line", _BARE_TEXT, success(_BARE_TEXT)),
    _raw("html without status line", _BARE_HTML, success(_BARE_HTML)),
    Case(
        "long without status line",
        [Send(_BARE_HTML), Send(b"x" * 9000)],
        success(_BARE_HTML, truncated="length"),
        content_limit=len(_BARE_HTML),
    ),
    _raw("one length twice", _OK + b"Content-Length: 2, 2\r\n\r\nbody", success(b"bo", ("Content-Length", "2, 2"))),
    _raw("colon behind the status", b"HTTP/1.1 200: OK\r\n\r\nbody", success()),
    _raw("length is no number", _OK + b"Content-Length: 4s\r\n\r\nbody", success(b"body", ("Content-Length", "4s"))),
    _raw("negative length", _OK + b"Content-Length: -1\r\n\r\nbody", success(b"body", ("Content-Length", "-1"))),
    _raw("150 headers", _OK + b"A: x\r\n" * 150 + b"\r\nbody", success(b"body", *[("A", "x")] * 150)),
    _raw("chunk length beyond 64 bits", _CHUNKED + b"f" * 18 + b"\r\nbody\r\n", _BAD),
    _raw(
        "length beyond 64 bits",
        _OK + b"Content-Length: " + b"9" * 30 + b"\r\n\r\nbody",
        success(b"body", ("Content-Length", "9" * 30), truncated="disconnect"),
    ),
)
"""Where browsers are lenient, or libraries count differently."""

_DROPPED: Final = (
    Case("closed at once", [], _LOST),
    Case("reset at once", [Reset()], _LOST),
    _raw("closed after an interim answer", b"HTTP/1.1 100 Continue\r\n\r\n", _LOST),
    _raw("closed before the body", _OK + b"Content-Length: 100\r\n\r\n", _LOST),
    _raw("closed in the body", _OK + b"Content-Length: 100\r\n\r\nbody", success(b"body", _CL, truncated="disconnect")),
    _raw("closed in a chunk", _CHUNKED + b"9\r\nbody", success(b"body", _TE, truncated="disconnect")),
    _raw("closed between chunks", _CHUNKED + b"4\r\nbody\r\n", success(b"body", _TE, truncated="disconnect")),
    _raw("closed before the first chunk", _CHUNKED, _LOST),
    _raw("closed in the trailers", _ONE_CHUNK + b"A: b\r\n", success(b"body", _TE, truncated="disconnect")),
    Case(
        "reset in the body",
        [Send(_OK + b"Content-Length: 100\r\n\r\nbody"), Wait(0.1), Reset()],
        success(b"body", _CL, truncated="disconnect"),
    ),
    _raw(
        "closed in the body of a 404",
        b"HTTP/1.1 404 No\r\nContent-Length: 100\r\n\r\n",
        Outcome(Status.NOTFOUND, 404, b"", "disconnect", (_CL,)),
    ),
)

_SILENT: Final = (
    Case("no answer", [Wait(5)], _LATE, timeouts=_FAST),
    Case("status line only", [Send(_OK), Wait(5)], _LATE, timeouts=_FAST),
    Case("silence after the head", [Send(_OK + b"\r\n"), Wait(5)], _LATE, timeouts=PlainTimeouts(idle=0.3)),
    Case("stalled body", [Send(_OK + b"\r\nbody"), Wait(5)], _LATE, timeouts=_FAST),
    Case(
        "stalled body, kept",
        [Send(_OK + b"\r\nbody"), Wait(5)],
        success(b"body", truncated="time"),
        _PARTIAL,
        timeouts=_FAST,
    ),
    Case("stalled before the body, kept", [Send(_OK + b"\r\n"), Wait(5)], _LATE, _PARTIAL, timeouts=_FAST),
    Case("dripping headers", [Drip(_OK + b"A: b\r\n" * 100, 0.05)], _LATE, timeouts=PlainTimeouts(total=0.7)),
    Case(
        "dripping trailers", [Send(_ONE_CHUNK), Drip(b"A: b\r\n" * 100, 0.05)], _LATE, timeouts=PlainTimeouts(total=0.7)
    ),
    Case("dripping body", [Send(_OK + b"\r\n"), Drip(bytes(100), 0.05)], _LATE, timeouts=PlainTimeouts(total=0.7)),
    Case(
        "slow body within its time",
        [Send(_OK + b"Content-Length: 4\r\n\r\n"), Drip(b"body", 0.1)],
        success(b"body", ("Content-Length", "4")),
        timeouts=PlainTimeouts(first_byte=1, idle=1, total=5),
    ),
    Case(
        "stalled body of a 404",
        [Send(b"HTTP/1.1 404 No\r\nContent-Length: 100\r\n\r\nbody"), Wait(5)],
        Outcome(Status.NOTFOUND, 404, b"body", "time", (_CL,)),
        timeouts=_FAST,
    ),
)

_CODED: Final = (
    _coded("gzip", "gzip", gzip.compress(_TEXT), _TEXT),
    _coded("gzip members and junk", "x-gzip", gzip.compress(_TEXT) * 2 + b"junk", _TEXT * 2),
    _coded("deflate", "deflate", zlib.compress(_TEXT), _TEXT),
    _coded("chain", "deflate, gzip", gzip.compress(zlib.compress(_TEXT)), _TEXT),
    _coded("label lies", "gzip", _TEXT, _TEXT),
    _coded("unknown coding", "sdch", _TEXT, _TEXT),
    _coded("cut coding", "gzip", gzip.compress(_TEXT)[:-6], _TEXT, "disconnect"),
    _coded("coded over the limit", "gzip", gzip.compress(_TEXT), _TEXT[:100], "length", 100),
    _coded("bomb", "gzip", _BOMB, bytes(50_000), "length", 50_000),
    Case(
        "damaged coding",
        [Send(_OK + b"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0\0" + b"\xff" * 50)],
        Outcome(Status.BAD_ENCODING),
    ),
    Case(
        "left as sent",
        [Send(_OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(_TEXT, mtime=0))],
        success(gzip.compress(_TEXT, mtime=0), ("Content-Encoding", "gzip")),
        decode=False,
    ),
)

_LARGE: Final = (
    Case("exactly the limit", [Send(_OK + b"\r\n" + bytes(1000))], success(bytes(1000)), content_limit=1000),
    Case(
        "over the limit",
        [Send(_OK + b"\r\n" + bytes(1001))],
        success(bytes(1000), truncated="length"),
        content_limit=1000,
    ),
    Case(
        "endless body",
        [Send(_OK + b"\r\n"), Send(bytes(65536), -1)],
        success(bytes(100_000), truncated="length"),
        content_limit=100_000,
    ),
    Case(
        "endless chunks",
        [Send(_CHUNKED), Send(b"400\r\n" + bytes(1024) + b"\r\n", -1)],
        success(bytes(65536), _TE, truncated="length"),
        content_limit=65536,
    ),
    Case("no limit", [Send(_OK + b"\r\n"), Send(bytes(65536), 40)], success(bytes(65536 * 40)), content_limit=-1),
    Case("endless headers", [Send(_OK), Send(b"A: " + b"x" * 8000 + b"\r\n", -1)], _TOO_LARGE),
    Case("endless header line", [Send(_OK + b"A: "), Send(b"x" * 65536, -1)], _TOO_LARGE),
    Case(
        "headers over the limit",
        [Send(_OK + b"A: x\r\n" * 50 + b"\r\nbody")],
        _TOO_LARGE,
        {"http.header.limit": 200},
    ),
    Case("300 trailers", [Send(_ONE_CHUNK + b"A: b\r\n" * 300 + b"\r\n")], success(b"body", _TE)),
    Case("endless trailers", [Send(_ONE_CHUNK), Send(b"A: b\r\n", -1)], success(b"body", _TE, truncated="disconnect")),
    Case(
        "endless trailer",
        [Send(_ONE_CHUNK + b"A: "), Send(b"x" * 65536, -1)],
        success(b"body", _TE, truncated="disconnect"),
    ),
    Case(
        "interim answers for ever",
        [Send(b"HTTP/1.1 102 Processing\r\n\r\n", -1)],
        _TOO_LARGE,
    ),
)

CASES: Final = (*_STATUSES, *_FRAMING, *_BROKEN, *_LENIENT, *_DROPPED, *_SILENT, *_CODED, *_LARGE)
