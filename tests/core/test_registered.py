"""registered_domain: the short way gives what the list's own matcher gives."""

from __future__ import annotations

import itertools

import pytest
from publicsuffixlist import PublicSuffixList

from nutchpy.core.registered import _ascii, _rules, public_suffix, registered_domain, registered_domains


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.org", "example.org"),
        ("a.b.c.example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),
        ("com", "com"),
        ("localhost", "localhost"),
        ("someone.github.io", "someone.github.io"),
        ("www.ck", "www.ck"),
        ("a.b.other.ck", "b.other.ck"),
        ("a.unknown-tld", "a.unknown-tld"),
        ("x.a.unknown-tld", "a.unknown-tld"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("www.example.test1", "example.test1"),
        ("", ""),
        ("a..example.org", "a..example.org"),
        ("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
    ],
)
def test_domains(host: str, domain: str) -> None:
    assert registered_domain(host) == domain
    assert registered_domains([host, host]) == [domain, domain]


def test_every_rule_of_the_list_and_what_lies_below_it() -> None:
    whole = PublicSuffixList()
    rules = [_ascii(rule).replace("*", "wild") for rule in _rules()]
    assert len(rules) > 5_000
    for rule, below in itertools.product(rules, ("", "a.", "b.a.", "c.b.a.")):
        host = below + rule
        assert registered_domain(host) == (whole.privatesuffix(host) or host), host


@pytest.mark.parametrize(
    ("host", "suffix"),
    [
        ("www.example.co.uk", "co.uk"),
        ("com", "com"),
        ("someone.github.io", "github.io"),
        ("a.unknown-tld", None),
        ("127.0.0.1", None),
        ("[::1]", None),
        ("", None),
    ],
)
def test_public_suffix(host: str, suffix: str | None) -> None:
    assert public_suffix(host) == suffix
