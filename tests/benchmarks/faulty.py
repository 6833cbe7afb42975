"""A server that fails two requests in a hundred, in every way there is: a process of its own, for soak.py.

    python tests/benchmarks/faulty.py CERTIFICATE KEY

Listens on every loopback address, in the clear and by TLS, and prints its two ports. Which URL fails, and how, hangs on
the URL alone; one connection in a hundred is dropped before anything is asked.
"""

from __future__ import annotations

import asyncio
import gzip
import os
import random
import socket
import ssl
import struct
import sys
import zlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

Reader, Writer = asyncio.StreamReader, asyncio.StreamWriter
Fault = Callable[[Writer], Awaitable[None]]

PER_MILLE: Final = 20
OK: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED: Final = OK + b"Transfer-Encoding: chunked\r\n\r\n"
EMPTY: Final = b"Content-Length: 0\r\n\r\n"
WORDS: Final = " ".join("".join(random.Random(1).choices("etaoinshrdlu", k=7)) for _ in range(1000))
PAGE: Final = f"<!doctype html><title>t</title><a href=/p/1>x</a><p>{WORDS}".encode()
PACKED: Final = gzip.compress(PAGE)
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


def reset(writer: Writer) -> None:
    """End the connection with a TCP reset."""
    found = writer.get_extra_info("socket")
    with suppress(OSError):
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    writer.transport.abort()


def says(answer: bytes) -> Fault:
    """Say that and close."""

    async def fault(writer: Writer) -> None:
        writer.write(answer)
        await writer.drain()

    return fault


def resets(answer: bytes) -> Fault:
    """Say that, wait until it has come, and reset."""

    async def fault(writer: Writer) -> None:
        writer.write(answer)
        await asyncio.sleep(0.1)
        reset(writer)

    return fault


def drips(head: bytes, drop: bytes, seconds: float = 2.0) -> Fault:
    """Say the head, then a drop now and then, for ever."""

    async def fault(writer: Writer) -> None:
        writer.write(head)
        while True:
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(seconds)

    return fault


def floods(head: bytes, data: bytes) -> Fault:
    """Say the head, then as much as the client bears."""

    async def fault(writer: Writer) -> None:
        writer.write(head)
        while True:
            writer.write(data)
            await writer.drain()
            await asyncio.sleep(0)  # draining a connection that takes it all never lets others work

    return fault


async def silence(_writer: Writer) -> None:
    """Say nothing."""
    await asyncio.sleep(600)


def coded(coding: str, body: bytes) -> Fault:
    """A body in that coding, whatever it is."""
    return says(OK + f"Content-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)


def moves(status: int, target: str) -> Fault:
    """A redirect."""
    return says(f"HTTP/1.1 {status} Moved\r\nLocation: {target}\r\n".encode() + EMPTY)


FAULTS: Final[list[Fault]] = [
    resets(b""),
    resets(OK),
    resets(OK + b"Content-Length: 9000\r\n\r\nabc"),
    resets(CHUNKED + b"5\r\nabc"),
    says(b""),
    says(OK),
    says(OK + b"Content-Length: 9000\r\n\r\nabc"),
    says(CHUNKED + b"5\r\nabcde\r\nzz\r\n"),
    says(CHUNKED + b"nonsense"),
    says(CHUNKED + b"ffffffffffffffff0\r\nabc"),
    says(OK + b"nonsense\r\nContent-Length: 3\r\n\r\nabc"),
    says(OK + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
    says(b"SSH-2.0-OpenSSH_9.0\r\n"),
    drips(b"HTTP/1.1 200 ", b"x"),
    drips(OK, b"A: b\r\n"),
    drips(OK + b"Content-Length: 9000\r\n\r\n", b"x"),
    drips(CHUNKED, b"1\r\nx\r\n"),
    silence,
    floods(OK, b"A: " + b"x" * 4000 + b"\r\n"),
    floods(OK + b"A: ", b"x" * 4000),
    floods(OK + b"\r\n", bytes(65536)),
    floods(CHUNKED, b"400\r\n" + bytes(1024) + b"\r\n"),
    floods(CHUNKED + b"1\r\nx\r\n0\r\n", b"A: b\r\n" * 100),
    floods(b"", b"HTTP/1.1 103 Hint\r\nLink: x\r\n\r\n" * 50),
    floods(b"HTTP/1.1 500 No\r\n\r\n", bytes(65536)),
    coded("gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\0" + b"\xff" * 50),
    coded("gzip", gzip.compress(bytes(20 << 20))),
    coded("gzip", PACKED[:-200]),
    coded("br", b"\xff" * 200),
    coded("zstd", b"\xff" * 200),
    coded("martian", b"abc"),
    says(b"HTTP/1.1 429 Slow\r\nRetry-After: 2\r\n" + EMPTY),
    says(b"HTTP/1.1 503 Later\r\nRetry-After: 2\r\n" + EMPTY),
    says(b"HTTP/1.1 500 No\r\n" + EMPTY),
    says(b"HTTP/1.1 404 None\r\n" + EMPTY),
    says(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
    says(b"HTTP/1.1 304 Not Modified\r\n\r\n"),
    moves(301, "/p/1"),
    moves(302, "/to/itself"),
    moves(307, "http://169.254.169.254/latest"),
    moves(302, "http://no.invalid/"),
    moves(302, "file:///etc/passwd"),
    moves(301, "https://127.0.0.1:1/"),
]


def fault_of(target: bytes) -> Fault | None:
    """How a URL fails; None for most."""
    if target == b"/to/itself":
        return moves(302, "/to/itself")
    number = zlib.crc32(target)
    return FAULTS[number // 1000 % len(FAULTS)] if number % 1000 < PER_MILLE else None


def answer(target: bytes) -> bytes:
    """A page, packed or not; rules that forbid next to nothing."""
    if target == b"/robots.txt":
        rules = b"User-agent: *\nDisallow: /private\n"
        return b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b" % (len(rules), rules)
    if zlib.crc32(target) % 2:
        return OK + b"Content-Length: %d\r\n\r\n%b" % (len(PAGE), PAGE)
    return OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(PACKED), PACKED)


async def serve(reader: Reader, writer: Writer) -> None:
    """One connection."""
    with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        if random.random() < 0.01:
            reset(writer)
            return
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            target = head.split(b" ", 2)[1]
            # One robots.txt in fifty fails too, another one each time.
            number = os.urandom(4) if target == b"/robots.txt" else b""
            fault = fault_of(target + number)
            if fault is not None:
                await fault(writer)
                break
            writer.write(answer(target))
            await writer.drain()
    writer.close()
    with suppress(OSError, ssl.SSLError):
        await writer.wait_closed()


async def main(certificate: str, key: str) -> None:
    """Serve until killed."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    clear = await asyncio.start_server(serve, "0.0.0.0", 0, backlog=1024)
    coded_ = await asyncio.start_server(serve, "0.0.0.0", 0, backlog=1024, ssl=tls)
    print(*(server.sockets[0].getsockname()[1] for server in (clear, coded_)), flush=True)
    await asyncio.gather(clear.serve_forever(), coded_.serve_forever())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
