"""Scrapy's cases of compressed bodies."""

from __future__ import annotations

from conformance import corpora

from nutchpy.extension.decoder import BodyDecoder

EXPECTED_FAILURES: dict[str, str] = {}


def passes(case: corpora.Case) -> bool:
    headers = {name.lower(): values for name, values in case["headers"].items()}
    decoder = BodyDecoder([value.decode() for value in headers.get("content-encoding", [])], case["max_size"])
    body = decoder.feed(case["body"])
    rest, reason = decoder.finish()
    if "error" in case:
        return reason == "length"
    return _same(body + rest, case["result"]["body"]) and (case["body"] == b"" or _left(case, decoder))


def _same(body: bytes, expected: bytes | dict[str, int]) -> bool:
    return len(body) == expected["$len"] if isinstance(expected, dict) else body == expected


def _left(case: corpora.Case, decoder: BodyDecoder) -> bool:
    left = [name.decode() for name in case["result"]["content_encoding_left"]]
    return decoder.remaining == [name for name in left if name != "identity"]


def test_scrapy() -> None:
    corpora.check("http_scrapy_decompress", passes, EXPECTED_FAILURES)
