"""web-platform-tests on Content-Type: one header, and several headers combined."""

from __future__ import annotations

from conformance import corpora

from nutchpy.core import content_type
from nutchpy.plugins.parse import labels

EXPECTED_FAILURES: dict[str, str] = {}


def passes(case: corpora.Case) -> bool:
    header = case["input"]
    found = content_type.parse(header) if case["kind"] == "parse_one" else content_type.extract(header)
    label = found.charset if found else None
    name = labels.whatwg_name(label) if label is not None else None
    return (str(found) if found else None, name) == (case["mime"], case["charset"])


def test_web_platform_tests() -> None:
    corpora.check("http_wpt_content_type", passes, EXPECTED_FAILURES)
