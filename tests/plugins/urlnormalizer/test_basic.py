from __future__ import annotations

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import ConfigError
from nutchpy.plugins.urlnormalizer.basic import BasicURLNormalizer

CASES = [
    ("HTTP://Example.ORG", "http://example.org/"),
    ("https://example.org:443/a", "https://example.org/a"),
    ("http://example.org:443/a", "http://example.org:443/a"),
    (" http://example.org/\n", "http://example.org/"),
    ("http://exam\tple.org/a\r\nb", "http://example.org/ab"),
    ("http://example.org/a/./b/../c", "http://example.org/a/c"),
    ("http://example.org/a/%2E%2e/b", "http://example.org/b"),
    ("http://example.org/../../a", "http://example.org/a"),
    ("http://example.org//a///b?x=//y", "http://example.org/a/b?x=//y"),
    ("http://example.org/a#b?c", "http://example.org/a"),
    ("http://user:pass@example.org/a@b", "http://example.org/a@b"),
    ("ftp://user:pass@example.org:21/a", "ftp://user:pass@example.org/a"),
    ("ftp://user@example.org/a", "ftp://user@example.org/a"),
    ("http://example.org/%7euser/%41%2f%c3%a9", "http://example.org/~user/A%2F%C3%A9"),
    ("http://example.org/é?é", "http://example.org/%C3%A9?%C3%A9"),
    ("http://example.org/100%", "http://example.org/100%25"),
    ("http://example.org/%%32e", "http://example.org/%252e"),
    ("http://example.org/a[b]|^{}`", "http://example.org/a%5Bb%5D%7C%5E%7B%7D%60"),
    ("http://example.org/?a[b]|^{}`'", "http://example.org/?a%5Bb%5D%7C%5E%7B%7D%60%27"),
    ("http://example.org?", "http://example.org/?"),
    ("http://example.org\\a\\b", "http://example.org/a/b"),
    ("http:example.org/a", "http://example.org/a"),
    ("http://0x7f.1/", "http://127.0.0.1/"),
    ("http://[2001:DB8::1]:80/", "http://[2001:db8::1]/"),
    ("http://bücher.de/", "http://xn--bcher-kva.de/"),
    ("http://b%C3%BCcher.de/", "http://xn--bcher-kva.de/"),
    ("http://faß.de/", "http://xn--fa-hia.de/"),
    ("http://example.org./", "http://example.org./"),
    ("file:/a//b/../c#d", "file:/a/c"),
    ("file:///a?b", "file:///a?b"),
    ("FILE://Host/a", "file://host/a"),
    ("file:a", "file:/a"),
]
MALFORMED = [
    "",
    "http:",
    "http://",
    "ftp:/",
    "//example.org/",
    "example.org",
    "/a",
    "mailto:a@b.c",
    "data:,x",
    "javascript:1",
]
MALFORMED += ["http://a b/", "http://a%00/", "http://[::1/", "http://1.2.3.256/", "http://a:65536/", "http://a:b/"]
MALFORMED += ["http://\ud800/", "http://\udfff/", "gopher://a/", "news:x", "http://exa%2Xmple/"]


@pytest.mark.parametrize(("url", "expected"), CASES)
def test_normal_form(url: str, expected: str) -> None:
    normalizer = BasicURLNormalizer.from_conf(defaults())
    assert normalizer.normalize(url, "default") == expected
    assert normalizer.normalize(expected, "default") == expected


@pytest.mark.parametrize("url", MALFORMED)
def test_malformed(url: str) -> None:
    assert BasicURLNormalizer.from_conf(defaults()).normalize(url, "default") is None


def test_a_column_has_the_forms_of_its_urls() -> None:
    urls = [url for url, _ in CASES] + MALFORMED
    expected = [expected for _, expected in CASES] + [None] * len(MALFORMED)
    assert BasicURLNormalizer.from_conf(defaults()).normalize_all(urls, "inject") == expected


FORMS = [
    ("none", "true", "http://BÜCHER.de/", "http://bücher.de/"),
    ("none", "true", "http://xn--bcher-kva.de/", "http://xn--bcher-kva.de/"),
    ("none", "true", "http://b%c3%bccher.de:80/a", "http://bücher.de/a"),
    ("", "true", "http://user@bücher.de/", "http://bücher.de/"),
    ("toUnicode", "true", "http://xn--fa-hia.de/", "http://faß.de/"),
    ("toUnicode", "false", "http://xn--fa-hia.de/", "http://xn--fa-hia.de/"),
    ("toUnicode", "false", "http://xn--BCHER-kva.de/", "http://bücher.de/"),
    ("toUnicode", "false", "http://faß.de/", "http://faß.de/"),
    ("toAscii", "false", "http://faß.de/", "http://fass.de/"),
    ("toascii", "false", "http://foo。faß.de/", "http://foo.fass.de/"),
    ("toAscii", "false", "http://example.org/", "http://example.org/"),
    ("toAscii", "true", "http://xn--a.de/", "http://xn--a.de/"),
    ("toUnicode", "true", "http://127.1/", "http://127.0.0.1/"),
]


@pytest.mark.parametrize(("idn", "idna2008", "url", "expected"), FORMS)
def test_forms_of_hosts(idn: str, idna2008: str, url: str, expected: str | None) -> None:
    values = {"urlnormalizer.basic.host.idn": idn, "urlnormalizer.basic.host.idna2008": idna2008}
    normalizer = BasicURLNormalizer.from_conf(defaults().with_values(values))
    assert normalizer.normalize(url, "default") == expected
    assert expected is None or normalizer.normalize(expected, "default") == expected


def test_the_dot_at_the_end_of_a_host_is_trimmed_on_request() -> None:
    trimming = BasicURLNormalizer(trim_dot=True)
    assert trimming.normalize("http://example.org./a./", "default") == "http://example.org/a./"
    assert trimming.normalize("http://example.org.:81", "default") == "http://example.org:81/"
    assert trimming.normalize("http://example.org/a./", "default") == "http://example.org/a./"


def test_an_unknown_form_stops() -> None:
    conf = defaults().with_values({"urlnormalizer.basic.host.idn": "toKlingon"})
    with pytest.raises(ConfigError, match="toAscii, toUnicode or none"):
        BasicURLNormalizer.from_conf(conf)
