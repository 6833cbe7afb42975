from __future__ import annotations

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.plugins.urlfilter.validator import ValidatorURLFilter

CASES = [
    ("http://example.org/", None),
    ("http://example.org", None),
    ("http://example.org:8080/a?b=[c]", None),
    ("http://-foo.com/", None),
    ("http://192.0.2.255/", None),
    ("http://192.0.2.256/", "host"),
    ("http://localhost/", "host"),
    ("http://foo_bar.com/", "authority"),
    ("http://foo.com./", "host"),
    ("http://foo..com/", "host"),
    ("http://a.b.c.d.e.f.g/", "host"),
    ("http://a.1b/", "host"),
    ("http://[::1]/", "authority"),
    ("http://user@foo.com/", "authority"),
    ("http://foo.com:123456/", "authority"),
    ("http://foo.com:/", "authority"),
    ("file:/etc/passwd", "authority"),
    ("file:///etc/passwd", "host"),
    ("svn+ssh://foo.com/", "scheme"),
    ("//foo.com/", "scheme"),
    ("http://bücher.de/", "characters"),
    ("http://foo.com/a b", "characters"),
    ("", "characters"),
    ("http://foo.com/a\\b", "path"),
    ("http://foo.com/a[b]", "path"),
    ("http://foo.com/..a/b", "path"),
    ("http://foo.com/a/b/c/../d", None),
]


@pytest.mark.parametrize(("url", "reason"), CASES)
def test_addresses(url: str, reason: str | None) -> None:
    assert ValidatorURLFilter.from_conf(defaults()).reject(url) == reason
