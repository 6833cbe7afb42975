"""The case files of $NUTCHPY_CORPORA: public test data of other projects, read here and never copied.

A test module loads a file once, runs every case, and compares the ids that failed with its ``EXPECTED_FAILURES``: an
unexpected failure fails the test, and so does an unexpected pass.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "NUTCHPY_CORPORA"

Case = dict[str, Any]


def folder() -> Path:
    """The folder of case files; skips the test when the variable is unset or names nothing."""
    place = os.environ.get(VARIABLE, "")
    if not place or not Path(place).is_dir():
        pytest.skip(f"{VARIABLE} does not name a folder of conformance cases")
    return Path(place)


def load(name: str) -> list[Case]:
    """The cases of ``<name>.json``, each with an ``id`` (its index unless it has one), base64 decoded to bytes."""
    cases = json.loads((folder() / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    return [{"id": str(number), **_decoded(case)} for number, case in enumerate(cases)]


def check(name: str, passes: Callable[[Case], bool], expected_failures: Mapping[str, str]) -> None:
    """Run all cases, print how many pass, and hold the failures against the expected ones."""
    cases = load(name)
    failed = {case["id"]: case for case in cases if not passes(case)}
    print(f"{name}: {len(cases) - len(failed)} of {len(cases)} pass")
    unexpected = [case for number, case in failed.items() if number not in expected_failures]
    assert not unexpected, f"{len(unexpected)} of {len(cases)} fail, first: {unexpected[0]!r:.2000}"
    mended = sorted(set(expected_failures) - set(failed))
    assert not mended, f"expected to fail but passed: {mended}"


def _decoded(value: Any) -> Any:
    """``{"x_b64": …}`` becomes ``{"x": bytes}``, and ``{"$b64": …}`` bytes."""
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"$b64"}:
        return base64.b64decode(value["$b64"])
    return dict(_decoded_item(key, item) for key, item in value.items())


def _decoded_item(key: str, value: Any) -> tuple[str, Any]:
    if key.endswith("_b64") and isinstance(value, str):
        return key.removesuffix("_b64"), base64.b64decode(value)
    return key, _decoded(value)
