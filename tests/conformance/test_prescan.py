"""html5lib-tests on the encoding of undeclared, declared and oddly declared pages."""

from __future__ import annotations

from conformance import corpora

from nutchpy.plugins.parse import charset, labels

EXPECTED_FAILURES: dict[str, str] = {}


def passes(case: corpora.Case) -> bool:
    html = case["html"]
    body = html if isinstance(html, bytes) else html.encode()
    name, _ = charset.charset(None, body)
    return name == labels.whatwg_name(case["expected_encoding"])


def test_html5lib_tests() -> None:
    corpora.check("encoding_html5lib_prescan", passes, EXPECTED_FAILURES)
