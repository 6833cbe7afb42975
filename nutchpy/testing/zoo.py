"""A zoo of hostile servers: what each does to whoever asks, and what has to come of it.

Each animal gets an address of its own, so that it is a host of its own. Where a robots.txt is not its subject, it says
that there is none. ``expected`` is the protocol status of the page asked for (None: no row, the URL stays due), its
HTTP status and how it was truncated.
"""

from __future__ import annotations

import gzip
import ssl
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import brotli
import zstandard

from nutchpy.core.protocol_status import ProtocolStatus as Status
from nutchpy.testing.raw_server import Action, Drip, RawServer, Reset, Send, Wait

Expected = tuple[Status | None, int | None, str | None]

NO_ROBOTS: Final = b"HTTP/1.1 404 None\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
OK: Final = b"HTTP/1.1 200 OK\r\n"
PAGE: Final = OK + b"Content-Type: text/html\r\nContent-Length: 16\r\n\r\n<title>x</title>"
_CHUNKED: Final = OK + b"Transfer-Encoding: chunked\r\n\r\n"
_ZEROS: Final = 200 << 20
_LATE: Final[Expected] = (Status.TIMEOUT, None, None)
_BAD: Final[Expected] = (Status.BAD_RESPONSE, None, None)
_LOST: Final[Expected] = (Status.EXCEPTION, None, None)
_CUT: Final[Expected] = (Status.SUCCESS, 200, "length")
_BROKEN: Final[Expected] = (Status.SUCCESS, 200, "disconnect")
_FINE: Final[Expected] = (Status.SUCCESS, 200, None)
_HEADERS: Final[Expected] = (Status.HEADERS_TOO_LARGE, None, None)
_UNREACHED: Final[Expected] = (Status.CONNECT_FAILED, None, None)
_NO_TLS: Final[Expected] = (Status.TLS_FAILED, None, None)


@dataclass(frozen=True, slots=True)
class Animal:
    """One hostile server."""

    name: str
    page: Sequence[Action]
    expected: Expected
    robots: Sequence[Action] = (Send(NO_ROBOTS),)
    tls: str = ""
    """``server``: it speaks TLS; ``client``: it does not, and is asked to."""
    silent: bool = False
    """It acts without waiting for a request."""
    also: tuple[Expected, ...] = ()
    """What else may come of it: by chance of what arrives first, or because libraries differ."""

    def serve(self, address: str, context: Callable[[], ssl.SSLContext]) -> RawServer:
        """Let it loose."""
        tls = context() if self.tls == "server" else None
        return RawServer(self._answer, tls, read_request=not self.silent, address=address)

    def url(self, server: RawServer) -> str:
        """What is asked of it."""
        return server.url("/page").replace("http:", "https:") if self.tls else server.url("/page")

    def _answer(self, head: bytes) -> Sequence[Action]:
        return self.robots if head.startswith(b"GET /robots.txt ") else self.page


def _coded(coding: str, body: bytes) -> Sequence[Action]:
    return [Send(OK + f"Content-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)]


def _raw(name: str, answer: bytes, expected: Expected) -> Animal:
    return Animal(name, [Send(answer)], expected)


def _gzip_bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(_ZEROS >> 20)) + packer.flush()


def _bombs() -> list[Animal]:
    once = _gzip_bomb()
    return [
        Animal("gzip bomb", _coded("gzip", once), _CUT),
        Animal("gzip bomb in gzip", _coded("gzip, gzip", gzip.compress(once)), _CUT),
        Animal("deflate bomb", _coded("deflate", zlib.compress(bytes(_ZEROS >> 2), 9)), _CUT),
        Animal("brotli bomb", _coded("br", brotli.compress(bytes(_ZEROS >> 2), quality=5)), _CUT),
        Animal("zstd bomb", _coded("zstd", zstandard.compress(bytes(_ZEROS), 3)), _CUT),
        Animal("fifty codings", _coded(", ".join(["gzip"] * 50), once), _CUT),
        Animal("bomb as robots.txt", [Send(PAGE)], _FINE, robots=_coded("gzip", once)),
        Animal(
            "damaged coding",
            _coded("gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\0" + b"\xff" * 50),
            (Status.BAD_ENCODING, None, None),
        ),
    ]


_SLOW: Final = [
    Animal("drips its status line", [Drip(OK * 100, 0.2)], _LATE),
    Animal("drips headers", [Send(OK), Drip(b"A: b\r\n" * 1000, 0.2)], _LATE),
    Animal("drips its body", [Send(OK + b"\r\n"), Drip(bytes(1000), 0.2)], _LATE),
    Animal("drips chunks", [Send(_CHUNKED), Drip(b"1\r\nx\r\n" * 500, 0.2)], _LATE),
    Animal("says nothing", [Wait(60)], _LATE),
    Animal("says nothing after its status", [Send(OK), Wait(60)], _LATE),
    Animal("says nothing after its headers", [Send(OK + b"\r\n"), Wait(60)], _LATE),
    Animal("stops in the body", [Send(OK + b"Content-Length: 9\r\n\r\nabc"), Wait(60)], _LATE),
    Animal("will continue", [Send(b"HTTP/1.1 100 Continue\r\n\r\n"), Wait(60)], _LATE),
    Animal("says nothing to TLS", [Wait(60)], _LATE, tls="client", silent=True),
    Animal("drips robots.txt", [Send(PAGE)], _LATE, robots=[Send(OK + b"\r\n"), Drip(bytes(1000), 0.2)]),
]

_ENDLESS: Final = [
    Animal("endless body", [Send(OK + b"\r\n"), Send(bytes(65536), -1)], _CUT),
    Animal("endless chunks", [Send(_CHUNKED), Send(b"400\r\n" + bytes(1024) + b"\r\n", -1)], _CUT),
    Animal("endless headers", [Send(OK), Send(b"A: " + b"x" * 4000 + b"\r\n", -1)], _HEADERS),
    Animal("endless header", [Send(OK + b"A: "), Send(b"x" * 65536, -1)], _HEADERS),
    Animal("endless status line", [Send(b"HTTP/1.1 200 "), Send(b"x" * 65536, -1)], _HEADERS),
    Animal("interim answers for ever", [Send(b"HTTP/1.1 103 Hint\r\nLink: x\r\n\r\n", -1)], _HEADERS),
    Animal(
        "endless trailers",
        [Send(_CHUNKED + b"1\r\nx\r\n0\r\n"), Send(b"A: b\r\n", -1)],
        _BROKEN,
    ),
    Animal(
        "endless error page",
        [Send(b"HTTP/1.1 500 No\r\n\r\n"), Send(bytes(65536), -1)],
        (Status.EXCEPTION, 500, "length"),
    ),
    Animal("endless robots.txt", [Send(PAGE)], _FINE, robots=[Send(OK + b"\r\n"), Send(b"# " + b"x" * 65534, -1)]),
    Animal("garbage for ever", [Send(b"\x8f" * 65536, -1)], _BAD, also=(_HEADERS,)),
]

_LIARS: Final = [
    _raw("promises more than it gives", OK + b"Content-Length: 999999999999\r\n\r\nabc", _BROKEN),
    _raw("gives more than it promises", OK + b"Content-Length: 3\r\n\r\nabcdef", _FINE),
    _raw("two lengths", OK + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", _BAD),
    Animal("a negative length", [Send(OK + b"Content-Length: -1\r\n\r\nabc")], _BAD, also=(_FINE,)),
    _raw("no chunk", _CHUNKED + b"nonsense", _BAD),
    _raw("a bad chunk", _CHUNKED + b"3\r\nabc\r\nzz\r\n", _BROKEN),
    _raw("no last chunk", _CHUNKED + b"3\r\nabc\r\n", _BROKEN),
    Animal("a chunk without end", [Send(_CHUNKED + b"ffffffffffffffff0\r\nabc")], _BAD, also=(_BROKEN,)),
    _raw("two locations", b"HTTP/1.1 301 x\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n", _BAD),
    _raw("a transfer coding nobody asked for", OK + b"Transfer-Encoding: gzip\r\n\r\nabc", _BAD),
    _raw("not modified, says who", b"HTTP/1.1 304 Not Modified\r\n\r\n", (Status.BAD_RESPONSE, 304, None)),
    _raw("NUL in a header", OK + b"A: b\0c\r\n\r\nabc", _BAD),
    _raw("a header without colon", OK + b"nonsense\r\n\r\nabc", _BAD),
    Animal(
        "switches protocols",
        [Send(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")],
        (Status.EXCEPTION, 101, "disconnect"),
        also=((Status.EXCEPTION, 101, None),),
    ),
    _raw("a status of its own", b"HTTP/1.1 999 Hm\r\nContent-Length: 0\r\n\r\n", (Status.EXCEPTION, 999, None)),
    _raw("a type of 60 KB", OK + b"Content-Type: " + b"x/" * 30_000 + b"\r\nContent-Length: 3\r\n\r\nabc", _FINE),
    _raw(
        "asks for thirty years",
        b"HTTP/1.1 503 Later\r\nRetry-After: 999999999\r\nContent-Length: 0\r\n\r\n",
        (Status.EXCEPTION, 503, None),
    ),
]

_STRANGERS: Final = [
    _raw("HTTP 0.9", b"<html><title>old</title></html>", _FINE),
    _raw("ssh", b"SSH-2.0-OpenSSH_9.0\r\n", _BAD),
    _raw("smtp", b"220 mail.test ESMTP ready\r\n", _BAD),
    _raw("an unknown version", b"HTTP/7.3 200 OK\r\n\r\nabc", _BAD),
    _raw("a status that is no number", b"HTTP/1.1 abc OK\r\n\r\nabc", _BAD),
    Animal("TLS alert for an answer", [Send(b"\x15\x03\x03\x00\x02\x02\x28")], _BAD),
]

_DROPPED: Final = [
    Animal("closes at once", [], _LOST, silent=True, robots=[]),
    Animal("resets at once", [Reset()], _LOST, silent=True, also=(_UNREACHED,)),
    Animal("closes without an answer", [], _LOST),
    Animal("resets without an answer", [Reset()], _LOST),
    Animal("closes in its headers", [Send(OK + b"A: b\r\n")], _BAD),
    Animal("resets in its headers", [Send(OK + b"A: b\r\n"), Wait(0.2), Reset()], _LOST),
    Animal("closes in its body", [Send(OK + b"Content-Length: 9\r\n\r\nabc")], _BROKEN),
    Animal("resets in its body", [Send(OK + b"Content-Length: 9\r\n\r\nabc"), Wait(0.2), Reset()], _BROKEN),
]

_TLS: Final = [
    Animal("a certificate of its own", [Send(PAGE)], _NO_TLS, tls="server"),
    Animal("no TLS at all", [Send(PAGE)], _NO_TLS, tls="client", silent=True),
    Animal("closes in the handshake", [Send(b"\x16\x03\x03")], _NO_TLS, tls="client", silent=True, also=(_LOST,)),
    Animal("resets in the handshake", [Reset()], _NO_TLS, tls="client", silent=True, also=(_UNREACHED, _LOST)),
]

_MOVERS: Final = [
    _raw(
        "moves to itself", b"HTTP/1.1 301 x\r\nLocation: /page\r\nContent-Length: 0\r\n\r\n", (Status.MOVED, 301, None)
    ),
    Animal(
        "robots.txt moves for ever",
        [Send(PAGE)],
        _FINE,
        robots=[Send(b"HTTP/1.1 302 x\r\nLocation: /robots.txt\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")],
    ),
    _raw(
        "moves to the cloud's secrets",
        b"HTTP/1.1 302 x\r\nLocation: http://169.254.169.254/latest\r\nContent-Length: 0\r\n\r\n",
        (Status.TEMP_MOVED, 302, None),
    ),
    _raw(
        "moves to a file",
        b"HTTP/1.1 302 x\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n",
        (Status.TEMP_MOVED, 302, None),
    ),
]

_RULERS: Final = [
    Animal(
        "asks for a day between pages",
        [Send(PAGE)],
        (Status.CRAWL_DELAY_TOO_LONG, None, None),
        robots=[Send(OK + b"Content-Length: 36\r\n\r\nUser-agent: *\nCrawl-delay: 86400     ")],
    ),
    Animal(
        "robots.txt in trouble",
        [Send(PAGE)],
        (None, None, None),
        robots=[Send(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")],
    ),
    Animal("robots.txt that is lost", [Send(PAGE)], _LOST, robots=[Reset()]),
    Animal("robots.txt of garbage", [Send(PAGE)], _FINE, robots=[Send(OK + b"\r\n" + bytes(range(256)) * 100)]),
]


def animals() -> list[Animal]:
    """All of them."""
    return [*_SLOW, *_ENDLESS, *_bombs(), *_LIARS, *_STRANGERS, *_DROPPED, *_TLS, *_MOVERS, *_RULERS]
