"""Fuzz targets: each takes bytes to one of the crawler's readers of strangers' data, and holds it to its promises.

A target raises on what must not be: an exception (none of these readers has a documented one), an answer of the wrong
shape, a normal form that is not its own normal form. Time and memory are the runner's to watch (run.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from nutchpy.core.content import Headers
from nutchpy.core.urls import Resolver, host_of
from nutchpy.testing import conformance

Target = Callable[[bytes], None]

BASE: Final = "http://example.org/a/b?c#d"
AGENTS: Final = ("mybot", "other")
CODINGS: Final = ("gzip", "deflate", "br", "zstd", "gzip, br", "x-gzip, deflate, identity")
LIMIT: Final = 1 << 20
ALL_NORMALIZERS: Final = ("basic", "regex", "querystring", "slash", "ajax", "pass")
LENIENT_FILTERS: Final = ("limits", "regex", "validator")


def text(data: bytes) -> str:
    """Any text, lone surrogates included."""
    return data.decode("utf-8", "surrogateescape")


def halves(data: bytes) -> tuple[bytes, bytes]:
    """What stands before and behind the first line end."""
    before, _, behind = data.partition(b"\n")
    return before, behind


def url(data: bytes) -> None:
    """Resolution, the quick way and the exact one; normal forms; filters."""
    base, reference = map(text, halves(data))
    for resolved in (conformance.resolve(BASE, text(data)), conformance.resolve(base, reference)):
        assert resolved is None or conformance.resolve(BASE, resolved) == resolved
    assert Resolver(BASE)(text(data)) == conformance.resolve(BASE, text(data))
    normal = conformance.normalize(text(data))
    if normal is not None:
        assert conformance.normalize(normal) == normal
        conformance.registered_domain(host_of(normal) or "")
    conformance.normalize(text(data), plugins=ALL_NORMALIZERS)
    accepted, reason = conformance.accept(text(data), plugins=LENIENT_FILTERS)
    assert accepted == (reason == "")


def robots(data: bytes) -> None:
    """robots.txt, for a URL of its own."""
    path, body = halves(data)
    verdict = conformance.robots(body, AGENTS, "http://example.org/" + text(path))
    assert (verdict.line is None) == (verdict.rule is None)
    assert verdict.allowed or verdict.rule is not None
    assert verdict.crawl_delay is None or 0 <= verdict.crawl_delay < float("inf")


def headers(data: bytes) -> None:
    """What headers say: type, charset, robots directives, redirects, dates."""
    value = data.decode("latin-1")
    sent: Headers = [("Content-Type", value), ("X-Robots-Tag", value), ("Location", value), ("Retry-After", value)]
    conformance.charset(sent, b"")
    assert "/" in conformance.mime(value, BASE, b"")
    assert all(directive == directive.lower() for directive in conformance.x_robots(sent, AGENTS))
    target = conformance.redirect(302, sent, BASE)
    assert target is None or target.startswith(("http:", "https:", "ftp:", "file:"))


def http_date(data: bytes) -> None:
    """HTTP dates."""
    seconds = conformance.http_date(text(data))
    assert seconds is None or abs(seconds) < 1 << 40


def meta_refresh(data: bytes) -> None:
    """The content of a meta refresh."""
    found = conformance.meta_refresh(text(data), BASE)
    assert found is None or (0 <= found[0] < float("inf") and ":" in found[1])


def charset(data: bytes) -> None:
    """Charset by a body's own word, and its type."""
    for mime in ("text/html", "application/xml", "text/plain"):
        name, reason = conformance.charset((), data, mime)
        assert name
        assert reason in ("bom", "header", "meta", "utf8", "detected", "default")
    assert "/" in conformance.mime(None, BASE, data)


def html(data: bytes) -> None:
    """A page, read whole."""
    page = conformance.html(data, BASE)
    assert isinstance(page.text, str)
    assert isinstance(page.title, str)
    for link in page.outlinks:
        assert conformance.resolve(BASE, link.url) == link.url


def sitemap(data: bytes) -> None:
    """Sitemaps, feeds, lists of URLs."""
    for strict in (True, False):
        found = conformance.sitemap(data, "http://example.org/sitemap.xml", strict=strict)
        assert found.type is not None or not (found.urls or found.sitemaps)
        assert all(0 <= entry.priority <= 1 for entry in (*found.urls, *found.sitemaps))


def decode(data: bytes) -> None:
    """Content codings, whole and within a limit; the limit cuts and changes nothing."""
    coding, body = CODINGS[data[0] % len(CODINGS)] if data else "gzip", data[1:]
    whole, _ = conformance.decode(body, coding, LIMIT)
    assert len(whole) <= LIMIT
    cut, _ = conformance.decode(body, coding, 100)
    assert len(cut) <= 100
    assert whole.startswith(cut)


def respond(data: bytes) -> None:
    """An answer as bytes on the wire, through both transports."""
    for transport in ("curl", "requests"):
        output = conformance.respond(data, transport)
        assert output.http_status is None or 100 <= output.http_status <= 999
        assert output.http_status is not None or not output.content
        assert output.protocol_status != "success" or output.http_status is not None


def address(data: bytes) -> None:
    """Addresses."""
    allowed, group = conformance.address_allowed(text(data))
    assert isinstance(allowed, bool)
    assert isinstance(group, str)


TARGETS: Final[dict[str, Target]] = {
    target.__name__: target
    for target in (url, robots, headers, http_date, meta_refresh, charset, html, sitemap, decode, respond, address)
}
