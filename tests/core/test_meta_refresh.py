"""Meta refresh: resolution, which the conformance cases leave out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nutchpy.core.meta_refresh import meta_refresh, parse

PAGE = "http://example.org/dir/page"


def test_resolves_against_base_and_names_itself() -> None:
    assert meta_refresh("5; url=../x", PAGE) == (5.0, "http://example.org/x")
    assert meta_refresh("0;URL='//other.org/'", PAGE) == (0.0, "http://other.org/")
    assert meta_refresh("0;url=x", PAGE, "http://base.org/") == (0.0, "http://base.org/x")
    assert meta_refresh("5", PAGE, "http://base.org/") == (5.0, PAGE)
    assert meta_refresh("0;url=http://[bad/", PAGE) is None


def test_a_script_is_no_target() -> None:
    assert meta_refresh("0;url= JavaScript:go()", PAGE) is None
    assert meta_refresh("0;url=javascript.html", PAGE) == (0.0, "http://example.org/dir/javascript.html")


def test_absurd_times_stay_finite() -> None:
    assert parse("9" * 400 + ";url=x") == (999999999.0, "x")


@given(st.text(alphabet="0129.;, \t\n\furlURL='\"x", max_size=30))
def test_total(content: str) -> None:
    found = parse(content)
    assert found is None or found[0] >= 0
