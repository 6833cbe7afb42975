from __future__ import annotations

import pytest

from nutchpy.fetcher.redirects import choose_repr


@pytest.mark.parametrize(
    ("source", "target", "temporary", "chosen"),
    [
        ("http://a.test/", "http://b.test/", True, "http://b.test/"),
        ("http://a.test/", "http://b.test/", False, "http://b.test/"),
        ("http://a.test/", "http://a.test/x", False, "http://a.test/"),
        ("http://a.test/x", "http://a.test/y/z", False, "http://a.test/y/z"),
        ("http://a.test/x", "http://a.test/", True, "http://a.test/"),
        ("http://a.test/x/y", "http://a.test/z", True, "http://a.test/z"),
        ("http://a.test/xx", "http://a.test/yy", True, "http://a.test/xx"),
        ("http://a.test/x", "http://www.a.test/y", True, "http://a.test/x"),
        ("http://www.a.test/x", "http://a.test/y", True, "http://a.test/y"),
        ("http://www.a.test/", "http://a.test/", True, "http://a.test/"),
    ],
)
def test_which_url_stands_for_the_page(source: str, target: str, temporary: bool, chosen: str) -> None:
    assert choose_repr(source, target, temporary) == chosen
