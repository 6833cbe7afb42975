"""Nutch's bad server responses, and web-platform-tests on Content-Length, through both transports."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conformance import corpora

from nutchpy.core.content import ProtocolOutput, header
from nutchpy.plugins.protocol.curl import CurlTransport
from nutchpy.plugins.protocol.requests import RequestsTransport
from nutchpy.testing.client import Client, PlainRequest
from nutchpy.testing.raw_server import RawServer, Send
from nutchpy.testing.transports import MakeTransport, transport_conf

TRANSPORTS: dict[str, MakeTransport] = {"curl": CurlTransport.from_conf, "requests": RequestsTransport.from_conf}

LIMIT = 65536
CHUNKS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1000\r\n" + bytes(4096) + b"\r\n"
GENERATED = {
    "8": b"HTTP/1.1 200 OK\r\n" + b"".join(b"X" * 10000 + b"%d: x\r\n" % number for number in range(80)) + b"\r\nbody",
    "9": CHUNKS + (b"1000\r\n" + bytes(4096) + b"\r\n") * 19 + b"0\r\n\r\n",
}


def fetch(name: str, answer: bytes, path: str = "/") -> tuple[ProtocolOutput, bytes]:
    with RawServer([Send(answer)]) as server, Client(TRANSPORTS[name](transport_conf())) as client:
        output = client.fetch(PlainRequest(server.url("") + path, content_limit=LIMIT))
        return output, server.requests[0]


def passes_bad_response(name: str) -> Callable[[corpora.Case], bool]:
    def passes(case: corpora.Case) -> bool:
        answer = GENERATED.get(case["id"]) or case["raw_response"].encode()
        query = "?171" if "?171" in case["name"] else ""
        output, request = fetch(name, answer, query)
        wanted = None if case["status"] == -1 else case["status"]
        line = b"GET /%s HTTP/1.1\r\n" % query.encode()
        cut = "limit 65536" not in case["name"] or (len(output.content), output.truncated) == (LIMIT, "length")
        return output.http_status == wanted and request.startswith(line) and cut and _headers_fit(case, output)

    return passes


def _headers_fit(case: corpora.Case, output: ProtocolOutput) -> bool:
    return all(
        value.removeprefix("contains ") in (header(output.headers, name) or "")
        for name, value in case["headers"].items()
    )


def passes_content_length(name: str) -> Callable[[corpora.Case], bool]:
    def passes(case: corpora.Case) -> bool:
        lines = "".join(f"Content-Length: {value}\r\n" for value in case["content_length_headers"])
        output, _ = fetch(name, b"HTTP/1.1 200 OK\r\n" + lines.encode() + b"\r\n" + b"x" * 42)
        if case["expected"] is None:
            return output.http_status is None
        length = 42 if case["expected"] == "ignore" else case["expected"]
        return (output.http_status, len(output.content), output.truncated) == (200, length, None)

    return passes


@pytest.mark.parametrize("name", TRANSPORTS)
def test_nutch_bad_responses(name: str) -> None:
    corpora.check("http_nutch_bad_responses", passes_bad_response(name), {})


@pytest.mark.parametrize("name", TRANSPORTS)
def test_web_platform_tests_content_length(name: str) -> None:
    corpora.check("http_wpt_content_length", passes_content_length(name), {})
