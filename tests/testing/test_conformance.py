"""Every function of the facade: its answer's shape, and that it is the crawler's own."""

from __future__ import annotations

import gzip
import inspect

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nutchpy.core.errors import ConfigError
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.testing import conformance

RULES = "-\\.gif$\n+^http://example\\.org/\n"
NORMAL = "<regex-normalize><regex><pattern>(?i)jsessionid=\\w+</pattern><substitution/></regex></regex-normalize>"
TEXTS = st.text(max_size=60) | st.sampled_from(["http://[::1", "//", "http://ex\ud800.org/", "a" * 3000])
QUICK = settings(max_examples=60)


def test_urls() -> None:
    assert conformance.resolve("http://example.org/a/b", "../c") == "http://example.org/c"
    assert conformance.resolve("nothing", "c") is None


def test_normalizers_run_in_the_order_given() -> None:
    url = "HTTP://Example.org:80/a/../b;JSESSIONID=12#x"
    rules = {"urlnormalizer.regex.rules": NORMAL}
    assert conformance.normalize(url, plugins=["basic"]) == "http://example.org/b;JSESSIONID=12"
    assert conformance.normalize(url, plugins=["basic", "regex"], settings=rules) == "http://example.org/b;"
    assert conformance.normalize(url, plugins=[]) == url
    assert conformance.normalize("http:///", plugins=["urlnormalizer-basic"]) is None


@pytest.mark.parametrize(
    ("plugin", "name", "rules", "expected"),
    [
        ("host", "host", "www.example.org example.org", "http://example.org/a"),
        ("host", "hosts", "www.example.org example.org", "http://example.org/a"),
        ("protocol", "protocol", "www.example.org https", "https://www.example.org/a"),
        ("slash", "slashes", "www.example.org +", "http://www.example.org/a/"),
        ("slash", "slash", "", "http://www.example.org/a"),
    ],
)
def test_rules_of_normalizers(plugin: str, name: str, rules: str, expected: str) -> None:
    given_rules = {f"urlnormalizer.{name}.rules": rules}
    found = conformance.normalize("http://www.example.org/a", plugins=[plugin], settings=given_rules)
    assert found == expected


def test_scopes() -> None:
    only_inject = {"urlnormalizer.order.inject": ["querystring"]}
    url = "http://example.org/?b=1&a=2"
    assert conformance.normalize(url, scope="inject", settings=only_inject) == "http://example.org/?a=2&b=1"
    assert conformance.normalize(url, scope="outlink", settings=only_inject) == url
    assert conformance.normalize(url, scope="scope1", plugins=["querystring"]) == "http://example.org/?a=2&b=1"


@pytest.mark.parametrize(
    ("plugin", "rules", "accepted"),
    [
        ("regex", RULES, True),
        ("regex", "", False),
        ("automaton", "+http://example\\.org/@", True),
        ("prefix", "http://example.org/", True),
        ("suffix", "+\n.html", False),
        ("domain", "example.org", True),
        ("domain", "example.com", False),
        ("domaindenylist", "example.org", False),
        ("fast", "Domain example.org\n  DenyPath /page", False),
    ],
)
def test_rules_of_filters(plugin: str, rules: str, accepted: bool) -> None:
    given_rules = {f"urlfilter.{plugin}.rules": rules}
    verdict, reason = conformance.accept("http://example.org/page.html", plugins=[plugin], settings=given_rules)
    assert verdict is accepted
    assert reason.startswith(f"{plugin}.") if not accepted else reason == ""


def test_filters_by_default_and_settings_in_nutchs_words() -> None:
    assert conformance.accept("http://example.org/page.html") == (True, "")
    assert conformance.accept("http://example.org/a.gif")[0] is False
    longer = {"urlfilter.limits.max.url.length": "10"}
    assert conformance.accept("http://example.org/page.html", settings=longer)[0] is False


def test_rules_and_settings_that_cannot_be_used() -> None:
    with pytest.raises(ConfigError):
        conformance.accept("http://example.org/", plugins=["regex"], settings={"urlfilter.regex.rules": "+(\n"})
    with pytest.raises(ConfigError):
        conformance.normalize("http://example.org/", settings={"urlnormalizer.oder": "basic"})


def test_robots() -> None:
    body = b"User-agent: *\nDisallow: /\n\nUser-agent: mybot\nCrawl-delay: 2.5\nDisallow: /x\nSitemap: http://a.org/s"
    verdict = conformance.robots(body, ["mybot"], "http://a.org/x/y")
    assert (verdict.allowed, verdict.group, verdict.line, verdict.rule) == (False, "mybot", 6, "Disallow: /x")
    assert (verdict.crawl_delay, verdict.sitemaps) == (2.5, ("http://a.org/s",))
    statuses = [200, 404, 429, 503, None]
    policies = [conformance.robots_policy(status) for status in statuses]
    assert policies == ["parse", "allow_all", "defer", "defer", "defer"]
    headers = [("X-Robots-Tag", "none"), ("x-robots-tag", "otherbot: noarchive")]
    assert conformance.x_robots(headers, ["mybot"]) == {"noindex", "nofollow"}


def test_bodies() -> None:
    assert conformance.charset([("Content-Type", "text/html; charset=latin1")], b"x") == ("windows-1252", "header")
    two = [("Content-Type", "text/html; charset=gbk"), ("Content-Type", "text/html")]
    assert conformance.charset(two, b"x") == ("GBK", "header")
    assert conformance.charset([], b'<?xml version="1.0" encoding="koi8-r"?>', "text/xml") == ("KOI8-R", "meta")
    assert conformance.decode(gzip.compress(b"text"), "gzip", -1) == (b"text", None)
    assert conformance.decode(gzip.compress(b"text"), "gzip", 2) == (b"te", "length")
    assert conformance.mime(None, "http://example.org/a", b"%PDF-1.7") == "application/pdf"


def test_html() -> None:
    body = b"""<base href=/d/><title>T</title><meta name=robots content=noarchive><link rel=canonical href=/c>
        <meta http-equiv=refresh content="3; url=r"><p>one<p>two <a rel="UGC" href=x>link</a>"""
    page = conformance.html(body, "http://example.org/", [("X-Robots-Tag", "noindex")])
    assert (page.title, page.text.split(), page.base) == ("T", ["T", "one", "two", "link"], "http://example.org/d/")
    assert page.canonical == "http://example.org/c"
    assert page.robots == {"noarchive", "noindex"}
    assert page.refresh == (3.0, "http://example.org/d/r")
    link = page.outlinks[-1]
    assert (link.url, link.anchor, link.rel, link.tag) == ("http://example.org/d/x", "link", "ugc", "a")


def test_sitemap() -> None:
    body = (
        b"<urlset><url><loc>http://e.org/s/a</loc><priority>1</priority></url><url><loc>http://e.org/b</loc></urlset>"
    )
    found = conformance.sitemap(body, "http://e.org/s/map.xml")
    assert (found.type, found.sitemaps) == ("XML", ())
    assert [(entry.loc, entry.lastmod, entry.changefreq, entry.priority) for entry in found.urls] == [
        ("http://e.org/s/a", None, None, 1.0)
    ]
    assert len(conformance.sitemap(body, "http://e.org/s/map.xml", strict=False).urls) == 2


def test_headers_and_hosts() -> None:
    assert conformance.meta_refresh("5; url=x", "http://example.org/a/") == (5.0, "http://example.org/a/x")
    assert conformance.http_date("Thu, 01 Jan 1970 00:00:10 GMT") == 10
    assert conformance.http_date("soon") is None
    assert conformance.address_allowed("127.0.0.1") == (False, "loopback")
    assert conformance.address_allowed("8.8.8.8")[0] is True
    assert conformance.redirect(301, [("location", "/b")], "http://example.org/a") == "http://example.org/b"
    assert conformance.redirect(200, [("location", "/b")], "http://example.org/a") is None


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("WWW.Example.co.uk", "example.co.uk"),
        ("example.com.", "example.com"),
        ("com", None),
        (".com", None),
        ("a..com", None),
        ("127.0.0.1", None),
        ("[::1]", None),
        ("", None),
        ("www.xn--85x722f.com.cn", "xn--85x722f.com.cn"),
    ],
)
def test_registered_domain(host: str, domain: str | None) -> None:
    assert conformance.registered_domain(host) == domain


@pytest.mark.parametrize("transport", ["curl", "requests"])
def test_respond(transport: str) -> None:
    pytest.importorskip("pycurl" if transport == "curl" else "requests")
    output = conformance.respond(b"HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 9\r\n\r\nbody", transport)
    assert (output.http_status, output.protocol_status) == (200, ProtocolStatus.SUCCESS)
    assert (list(output.headers), output.content) == ([("A", "b"), ("Content-Length", "9")], b"body")
    assert output.truncated == "disconnect"
    assert conformance.respond(b"HTTP/nothing\r\n", transport).http_status is None
    assert conformance.respond(b"words alone\r\n", transport).content == b"words alone\r\n"


@QUICK
@given(TEXTS, TEXTS, st.binary(max_size=200))
def test_no_input_raises(one: str, other: str, body: bytes) -> None:
    """Texts that are no URL, no host and no header; bytes that are no page."""
    conformance.resolve(one, other)
    conformance.normalize(one)
    conformance.accept(one)
    conformance.registered_domain(one)
    conformance.http_date(one)
    conformance.address_allowed(one)
    conformance.meta_refresh(one, other)
    conformance.redirect(302, [("Location", one)], other)
    conformance.x_robots([("X-Robots-Tag", one)], [other])
    conformance.robots(body, [one], other)
    conformance.charset([("Content-Type", one)], body)
    conformance.decode(body, one, 100)
    conformance.mime(one, other, body)
    conformance.sitemap(body, other)
    len(conformance.html(body, other).outlinks)


def test_every_name_is_documented() -> None:
    for name in conformance.__all__:
        assert inspect.getdoc(getattr(conformance, name)), name
