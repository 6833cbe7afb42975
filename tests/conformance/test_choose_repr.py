"""Which URL represents a page after redirects: Nutch's own cases."""

from __future__ import annotations

from conformance import corpora

from nutchpy.fetcher.redirects import choose_repr

EXPECTED_FAILURES: dict[str, str] = {}


def test_choose_repr() -> None:
    cases = [case for case in corpora.load("url_nutch_urlutil") if case["fn"] == "choose_repr"]
    assert cases
    failed = [c for c in cases if choose_repr(c["src"], c["dst"], c["temp_redirect"]) != c["expected"]]
    print(f"choose_repr: {len(cases) - len(failed)} of {len(cases)} pass")
    assert {case["id"] for case in failed} == set(EXPECTED_FAILURES), failed
