"""Content-Type headers: what the conformance cases leave out."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from nutchpy.core.content_type import MimeType, extract, parse, split


def test_parse_keeps_first_parameter_and_order() -> None:
    assert parse("Text/HTML; b=1; A=2; b=3") == MimeType("text/html", {"b": "1", "a": "2"})


def test_split_leaves_commas_in_quotes() -> None:
    assert split(['a;x="1,2"', "b"]) == ['a;x="1,2"', "b"]
    assert split([]) == [""]


def test_extract_of_nothing() -> None:
    assert extract([]) is None
    assert extract(["", "*/*"]) is None


@given(st.text(alphabet='ab/;="\\, \t()', max_size=60))
def test_serialisation_reads_back(text: str) -> None:
    found = parse(text)
    if found is not None:
        assert parse(str(found)) == found


def test_long_headers_are_linear() -> None:
    start = time.process_time()
    for unit in ('"', ",", ';a="', "\\", 'a="\\', ";", "="):
        parse("a/b;" + unit * 100_000)
        extract([unit * 100_000])
    assert time.process_time() - start < 2
