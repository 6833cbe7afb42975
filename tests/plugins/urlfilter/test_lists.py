"""The filters that are lists: prefix, suffix, domain and domaindenylist."""

from __future__ import annotations

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import ConfigError
from nutchpy.plugins.urlfilter.domain import DomainDenylistURLFilter, DomainURLFilter
from nutchpy.plugins.urlfilter.prefix import PrefixURLFilter
from nutchpy.plugins.urlfilter.suffix import SuffixURLFilter


def test_prefixes_are_taken_as_they_stand() -> None:
    given = PrefixURLFilter.from_text("# web\nhttp://a\n\nhttp://b.c/\n", "list")
    assert given.reject("http://abc/") is None
    assert given.reject("http://b.c/x") is None
    assert given.reject("http://b.cx/") == "unlisted"


def test_the_shipped_prefixes_are_the_schemes() -> None:
    given = PrefixURLFilter.from_conf(defaults())
    assert [given.reject(f"{scheme}://a/") for scheme in ("http", "https", "ftp", "file", "gopher")] == [
        None,
        None,
        None,
        None,
        "unlisted",
    ]


def test_a_list_that_would_refuse_everything_stops() -> None:
    with pytest.raises(ConfigError, match="every URL would be refused"):
        PrefixURLFilter.from_text("# nothing\n", "list")
    with pytest.raises(ConfigError, match="every URL would be refused"):
        SuffixURLFilter.from_text("-\n# nothing\n", "list")


def test_suffixes_are_refused_or_accepted_by_mode() -> None:
    refused = SuffixURLFilter.from_text("+\n.gif", "list")
    assert refused.reject("http://a/b.gif") == "suffix"
    assert refused.reject("http://a/b") is None
    accepted = SuffixURLFilter.from_text(".html\n-", "list")
    assert accepted.reject("http://a/b.html") is None
    assert accepted.reject("http://a/b") == "unlisted"


def test_the_shipped_suffixes_look_at_the_path_in_any_case() -> None:
    given = SuffixURLFilter.from_conf(defaults())
    assert given.reject("http://a/b.GIF?x") == "suffix"
    assert given.reject("http://a/setup.com") == "suffix"
    assert given.reject("http://example.com") is None
    assert given.reject("http://example.com?x.gif") is None
    assert given.reject("http://example.com#a.gif") is None
    assert given.reject("a.gif") == "suffix"


DOMAINS = "# which\nNET\nco.uk\napache.org\nwww.example.com\nbücher.de\n192.0.2.1\n"
LISTED = [
    ("http://a.b.net/", True),
    ("http://shop.co.uk/", True),
    ("http://shop.org.uk/", False),
    ("http://lucene.apache.org/", True),
    ("http://www.example.com:8080/", True),
    ("http://example.com/", False),
    ("http://sub.www.example.com/", False),
    ("http://www.bücher.de/", True),
    ("http://192.0.2.1/", True),
    ("http://apache.org./", True),
]


@pytest.mark.parametrize(("url", "listed"), LISTED)
def test_domains_are_suffixes_registered_domains_or_hosts(url: str, listed: bool) -> None:
    assert DomainURLFilter.from_text(DOMAINS, "list").reject(url) == (None if listed else "unlisted")
    assert DomainDenylistURLFilter.from_text(DOMAINS, "list").reject(url) == ("listed" if listed else None)


def test_what_does_not_parse_is_malformed() -> None:
    assert DomainURLFilter.from_text(DOMAINS, "list").reject("http://") == "malformed"
    assert DomainDenylistURLFilter.from_text(DOMAINS, "list").reject("nonsense") == "malformed"


def test_empty_lists_let_everything_pass() -> None:
    assert DomainURLFilter.from_conf(defaults()).reject("http://a/") is None
    assert DomainDenylistURLFilter.from_conf(defaults()).reject("http://a/") is None
