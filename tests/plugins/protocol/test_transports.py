"""Both transports against the shared suite: the same answers, but for what lies in the libraries."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.plugins.protocol.curl import CurlTransport
from nutchpy.plugins.protocol.requests import RequestsTransport
from nutchpy.testing.transports import CASES, Case, MakeTransport, Outcome, outcome, run

TRANSPORTS: dict[str, MakeTransport] = {"curl": CurlTransport.from_conf, "requests": RequestsTransport.from_conf}

SILENT = (ProtocolStatus.SUCCESS, ProtocolStatus.MOVED, ProtocolStatus.TEMP_MOVED, ProtocolStatus.NOTMODIFIED)
"""Outcomes that need no message."""

_BAD = Outcome(ProtocolStatus.BAD_RESPONSE)
_BY_NAME = {case.name: case for case in CASES}

DIFFERENCES: dict[tuple[str, str], tuple[str, Outcome]] = {
    ("curl", "length beyond 64 bits"): (
        "libcurl takes such a length for no length",
        replace(_BY_NAME["length beyond 64 bits"].expected, truncated=None),
    ),
}
"""(transport, case) → (reason, what it makes of it instead)."""


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("name", TRANSPORTS)
def test_same_answers(name: str, case: Case) -> None:
    reason, expected = DIFFERENCES.get((name, case.name), ("", case.expected))
    output = run(case, TRANSPORTS[name])
    assert outcome(output) == expected, f"{output.message} {reason}"
    assert output.message or output.protocol_status in SILENT
    assert output.elapsed_ms < 3000


def test_differences_name_cases_of_the_suite_and_do_differ() -> None:
    assert all(expected != _BY_NAME[case].expected for (_, case), (_, expected) in DIFFERENCES.items())
