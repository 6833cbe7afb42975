"""The quick parser and the exact one are one: what either would say alone does not show."""

from __future__ import annotations

import ada_url
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nutchpy.core import urls
from nutchpy.plugins.urlnormalizer.basic import BasicURLNormalizer

BITS = ["a", ".", "..", "/", "/.", "^", "xn--", "XN--", "\xad", "。", "é", "?", "#", "%2e", " ", "\t", ":", "@", "1"]


@pytest.mark.parametrize(
    ("url", "href"),
    [
        ("http://xn--zz-ab-/", "http://xn--zz-ab-/"),
        ("http://a.XN--/x", "http://a.xn--/x"),
        ("http://h/a^b?c^d#e^f", "http://h/a%5Eb?c^d#e^f"),
        ("http://h/a/.b/..", "http://h/a/"),
        ("foo:/a/..", "foo:/"),
        ("http://h/\ud800", "http://h/%EF%BF%BD"),
        ("http://h\ud800/", None),
        ("http://", None),
    ],
)
def test_the_standards_form(url: str, href: str | None) -> None:
    assert urls.href(url) == href
    assert urls.resolve("", url) == href == urls.Resolver("")(url)
    parsed = urls.parse(url)
    assert (str(parsed.href) if parsed else None) == href
    assert urls.resolve("http://base/", url) == href


@given(st.lists(st.sampled_from(BITS), max_size=8).map("".join))
@example("xn--\xad-/")
def test_equals_the_exact_one(rest: str) -> None:
    for url in (f"http://{rest}", f"http://h/{rest}", f"foo:{rest}"):
        try:
            expected = str(ada_url.URL(url).href)
        except ValueError:
            expected = None
        assert urls.href(url) == expected


def test_a_host_that_is_no_punycode_keeps_its_place() -> None:
    url = "http://xn--zz-ab-/a"
    assert urls.host_of(url) == "xn--zz-ab-"
    assert urls.origin_of(url) == "http://xn--zz-ab-"
    assert BasicURLNormalizer().normalize(url, "default") == url
