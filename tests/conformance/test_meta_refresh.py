"""web-platform-tests on the content of meta refresh."""

from __future__ import annotations

from conformance import corpora

from nutchpy.testing.conformance import meta_refresh

EXPECTED_FAILURES: dict[str, str] = {}
PAGE = "http://example.org/dir/page"


def passes(case: corpora.Case) -> bool:
    found = meta_refresh(case["content"], PAGE)
    expected = case["expected"]
    if expected is None:
        return found is None
    reference = expected["url"]
    target = PAGE if reference == "SELF" else f"http://example.org/dir/{reference.replace(' ', '%20')}"
    return found == (expected["delay"], target)


def test_web_platform_tests() -> None:
    corpora.check("redirect_wpt_meta_refresh", passes, EXPECTED_FAILURES)
