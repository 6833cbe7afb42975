"""Addresses a crawler must not be lured to, in every spelling."""

from __future__ import annotations

from conformance import corpora

from nutchpy.core.addresses import address_allowed

EXPECTED_FAILURES: dict[str, str] = {}


def passes(case: corpora.Case) -> bool:
    return address_allowed(case["host_or_ip"])[0] is not case["default_blocked"]


def test_addresses() -> None:
    corpora.check("ssrf_addresses", passes, EXPECTED_FAILURES)
