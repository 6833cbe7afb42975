"""Google's robots.txt cases."""

from __future__ import annotations

import json

from conformance import corpora

from nutchpy.core.robots_path import path_of
from nutchpy.testing.conformance import robots

_NORMALISED = "RFC 9309 §2.2.2 compares percent-encoding normalised; Google's matcher leaves it to its caller"

EXPECTED_FAILURES: dict[str, str] = {"63": _NORMALISED, "65": _NORMALISED, "66": _NORMALISED}


def passes(case: corpora.Case) -> bool:
    return robots(case["robots"].encode(), [case["agent"]], case["url"]).allowed is case["allowed"]


def test_google() -> None:
    corpora.check("robots_google", passes, EXPECTED_FAILURES)


def test_google_path_of_url() -> None:
    document = json.loads((corpora.folder() / "robots_google.json").read_text(encoding="utf-8"))
    helpers = [case for case in document["helpers"] if case["kind"] == "path_params_query"]
    assert len(helpers) > 10
    assert [case for case in helpers if path_of(case["input"]) != case["expected"]] == []
