"""What a glance tells of a URL: it must be what the parser and the normalizer would say."""

from __future__ import annotations

import ada_url
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nutchpy.core import urls
from nutchpy.plugins.urlnormalizer.basic import BasicURLNormalizer

_HOSTS = (
    "example.org",
    "EXAMPLE.org",
    "127.0.0.1",
    "127.1",
    "0x7f.1",
    "[::1]",
    "a_b",
    "xn--bcher-kva.example",
    "a..b",
    "",
)
_ENDS = (
    "",
    ":80",
    ":8080",
    ":080",
    "/",
    "//",
    "/.",
    "/./a",
    "/a/..",
    "/a.b",
    "/.b",
    "/a%41",
    "/a^b",
    "/a'b",
    "/ä",
    "/a b",
)


@given(
    scheme=st.sampled_from(["http://", "https://", "HTTP://", "http:/", "ftp://"]),
    host=st.sampled_from(_HOSTS),
    end=st.lists(st.sampled_from((*_ENDS, "?", "?a=b", "?a='", "?a//b", "#c", "@", ":", "\\", "\t")), max_size=4).map(
        "".join
    ),
)
def test_what_is_settled_at_a_glance_stays_as_it_is(scheme: str, host: str, end: str) -> None:
    url = scheme + host + end
    settled = urls.settled_host(url)
    if settled is not None:
        exact = ada_url.URL(url)
        assert (exact.href, exact.hostname) == (url, settled)
        assert BasicURLNormalizer().normalize(url, "default") == url
        assert BasicURLNormalizer(trim_dot=True).normalize(url, "default") == url


@pytest.mark.parametrize("url", ["http://a/", "https://a.b:8443/c/d.html?e=f&g", "http://127.0.0.1:8080/docs/1"])
def test_plain_urls_are_settled_at_a_glance(url: str) -> None:
    assert urls.settled_host(url) == ada_url.URL(url).hostname
