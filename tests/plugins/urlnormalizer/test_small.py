"""The small normalizers: querystring, host, protocol, slash, ajax, pass."""

from __future__ import annotations

import logging

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import ConfigError
from nutchpy.extension.points import URLNormalizer
from nutchpy.plugins.urlnormalizer.ajax import AjaxURLNormalizer
from nutchpy.plugins.urlnormalizer.host import HostURLNormalizer
from nutchpy.plugins.urlnormalizer.passthrough import PassURLNormalizer
from nutchpy.plugins.urlnormalizer.protocol import ProtocolURLNormalizer
from nutchpy.plugins.urlnormalizer.querystring import QuerystringURLNormalizer
from nutchpy.plugins.urlnormalizer.slash import SlashURLNormalizer

HOSTS = HostURLNormalizer.from_text(
    "example.org www.example.org\n*.example.com example.com\na.net b.net\nb.net\tc.net\nx.net y.net\ny.net x.net",
    "hosts",
)
PROTOCOLS = ProtocolURLNormalizer.from_text(
    "example.org https\n*.example.com\thttps\n*.old.example.com http", "protocols"
)
SLASHES = SlashURLNormalizer.from_text("plus.org +\nminus.org\t-", "slashes")
QUERY, AJAX, PASS = QuerystringURLNormalizer(), AjaxURLNormalizer(), PassURLNormalizer()

CASES: list[tuple[URLNormalizer, str, str]] = [
    (QUERY, "http://a/?b=2&a=1&b=1#f", "http://a/?a=1&b=1&b=2#f"),
    (QUERY, "http://u:p@a:81/p?b&a", "http://u:p@a:81/p?a&b"),
    (QUERY, "http://a/?b&&a&&", "http://a/?&a&b"),
    (QUERY, "http://a/?", "http://a/?"),
    (QUERY, "http://a/b", "http://a/b"),
    (HOSTS, "http://example.org/example.org", "http://www.example.org/example.org"),
    (HOSTS, "http://example.org@example.org:81/", "http://example.org@www.example.org:81/"),
    (HOSTS, "http://a.b.example.com/", "http://example.com/"),
    (HOSTS, "http://example.com/", "http://example.com/"),
    (HOSTS, "http://a.net/", "http://c.net/"),
    (HOSTS, "http://y.net/", "http://x.net/"),
    (HOSTS, "http://x.net/", "http://x.net/"),
    (HOSTS, "file:/a", "file:/a"),
    (PROTOCOLS, "http://example.org/a?b#c", "https://example.org/a?b#c"),
    (PROTOCOLS, "http://EXAMPLE.org/", "https://EXAMPLE.org/"),
    (PROTOCOLS, "http://www.example.org/", "http://www.example.org/"),
    (PROTOCOLS, "http://example.com/", "https://example.com/"),
    (PROTOCOLS, "http://a.b.example.com/", "https://a.b.example.com/"),
    (PROTOCOLS, "https://a.old.example.com/", "http://a.old.example.com/"),
    (PROTOCOLS, "http://example.org:80/", "http://example.org:80/"),
    (SLASHES, "http://plus.org:81/page?a#b", "http://plus.org:81/page/?a#b"),
    (SLASHES, "http://plus.org/page.html", "http://plus.org/page.html"),
    (SLASHES, "http://plus.org/v1.extension", "http://plus.org/v1.extension/"),
    (SLASHES, "http://plus.org", "http://plus.org"),
    (SLASHES, "http://minus.org/a/b//", "http://minus.org/a/b"),
    (SLASHES, "http://minus.org//", "http://minus.org/"),
    (SLASHES, "http://other.org/a/", "http://other.org/a/"),
    (AJAX, "http://a/#!k=v&x y%+#é", "http://a/?_escaped_fragment_=k=v%26x%20y%25%2B%23%C3%A9"),
    (AJAX, "http://a/?b#!c", "http://a/?b&_escaped_fragment_=c"),
    (AJAX, "http://a/#b#!c", "http://a/#b#!c"),
    (PASS, "anything", "anything"),
]


@pytest.mark.parametrize(("normalizer", "url", "expected"), CASES)
def test_normal_form(normalizer: URLNormalizer, url: str, expected: str) -> None:
    assert normalizer.normalize(url, "default") == expected
    assert normalizer.normalize(expected, "default") == expected


@pytest.mark.parametrize("normalizer", [QUERY, HOSTS, PROTOCOLS, SLASHES])
@pytest.mark.parametrize("url", ["", "no scheme", "//a/", "http://a:b:c/", "http://[::1/"])
def test_what_has_no_scheme_or_authority_is_malformed(normalizer: URLNormalizer, url: str) -> None:
    assert normalizer.normalize(url, "default") is None


def test_ajax_turns_back_in_the_indexer_scope() -> None:
    assert AJAX.normalize("http://a/?b&_escaped_fragment_=c%26d+e", "indexer") == "http://a/?b#!c&d e"
    assert AJAX.normalize("http://a/?_escaped_fragment_=1&_escaped_fragment_=2#x", "indexer") == "http://a/#!2"
    assert AJAX.normalize("http://a/#!b", "indexer") == "http://a/#!b"
    assert AJAX.normalize("http://a/?x_escaped_fragment_=1", "indexer") == "http://a/?x_escaped_fragment_=1"


@pytest.mark.parametrize("line", ["lonely", "a b c", "a b/c", "a b:80"])
def test_a_bad_host_line_stops(line: str) -> None:
    with pytest.raises(ConfigError, match="hosts:2: a line is a host and its replacement"):
        HostURLNormalizer.from_text(f"# names\n{line}", "hosts")


def test_a_bad_slash_line_stops() -> None:
    with pytest.raises(ConfigError, match=r"slashes:1: a line is a host and \+ or -"):
        SlashURLNormalizer.from_text("a *", "slashes")


def test_a_bad_protocol_line_is_passed_over_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        given = ProtocolURLNormalizer.from_text("a @mail\nb\nc https", "protocols")
    assert [record.getMessage() for record in caplog.records] == [
        "protocols:1: not a host and a scheme, passed over: a @mail",
        "protocols:2: not a host and a scheme, passed over: b",
    ]
    assert given.normalize("http://c/", "default") == "https://c/"


def test_the_shipped_files_change_nothing() -> None:
    for plugin in (HostURLNormalizer, ProtocolURLNormalizer, SlashURLNormalizer):
        assert plugin.from_conf(defaults()).normalize("http://a/b", "default") == "http://a/b"


def test_hosts_of_files_may_be_international() -> None:
    given = HostURLNormalizer.from_text("BÜCHER.de www.bücher.de", "hosts")
    assert given.normalize("http://xn--bcher-kva.de/", "default") == "http://www.xn--bcher-kva.de/"
