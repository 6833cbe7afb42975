"""Inputs made to blow up: one token over and over, at every entry point; time grows with the length, not its square.

CPU time is compared with that of a quarter of the input, where it is not too short to matter. A quadratic reader takes
sixteen times as long for four times as much.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import pytest

from nutchpy.testing import conformance

from .targets import AGENTS, BASE

LENGTH: Final = 1 << 16
NEGLIGIBLE: Final = 0.1
"""Seconds of CPU."""
MOST: Final = 10.0
SITE: Final = "http://example.org/"

_SIGNS: Final = """
    < > & % * $ .. / /../ // /. ; , " ' \\ ? # = @ : [ ] ^ | { ` \\" a=" && a=b& é 。 xn-- a 1 1. :: %2e %zz sid= x(
    &amp; &lt &#x41; <!-- --> <![CDATA[ ]]> <? <!DOCTYPE </b> <a> <b> <p> <li> <div> <table> <svg> <optgroup> <select>
    <rt> gzip, <i><b> <a><p> charset= url= 0;url= noindex, <url> <item> <url><loc>http://a/</loc>
"""
TOKENS: Final = (
    *_SIGNS.split(),
    *(
        " ",
        "\t",
        "\n",
        "\r\n",
        "\0",
        "\ud800",
        "<a ",
        "<meta charset=",
        "<meta ",
        "<link ",
        "<a b='>' ",
        "<a href=x rel=",
    ),
    *("User-agent: *\n", "Disallow: /*a\n", "Sitemap: x\n", "Mon, ", "01 ", "mybot: ", "a 1x, ", "<a href=x rel="),
)
Entry = Callable[[str], object]


def octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def page(before: bytes, text: str, behind: bytes = b"") -> object:
    parsed = conformance.html(before + octets(text) + behind, BASE)
    return len(parsed.outlinks)


ALL_RULES: Final = {"urlfilter.limits.max.url.length": -1, "urlfilter.fast.rules": "Domain .\n DenyPath /x.*y.*z"}
ENTRIES: Final[dict[str, Entry]] = {
    "resolve": lambda text: conformance.resolve(BASE, text),
    "resolve host": lambda text: conformance.resolve(BASE, f"http://{text}/"),
    "normalize": lambda text: conformance.normalize(f"{SITE}{text}"),
    "normalize query": lambda text: conformance.normalize(f"{SITE}?{text}", plugins=["basic", "querystring", "ajax"]),
    "normalize host": lambda text: conformance.normalize(f"http://{text}/"),
    "accept": lambda text: conformance.accept(f"{SITE}{text}", plugins=["limits", "regex", "fast"], settings=ALL_RULES),
    "validator": lambda text: conformance.accept(f"{SITE}{text}", plugins=["validator", "depth"]),
    "robots": lambda text: conformance.robots(octets(text), AGENTS, SITE),
    "robots rule": lambda text: conformance.robots(
        b"User-agent: *\nDisallow: /" + octets(text), AGENTS, f"{SITE}{text}"
    ),
    "x_robots": lambda text: conformance.x_robots([("X-Robots-Tag", text)], AGENTS),
    "charset header": lambda text: conformance.charset([("Content-Type", f"text/html; {text}")], b""),
    "charset body": lambda text: conformance.charset((), octets(text)),
    "charset xml": lambda text: conformance.charset((), b"<?xml " + octets(text), "text/xml"),
    "html": lambda text: page(b"", text),
    "html title": lambda text: page(b"<title>", text),
    "html script": lambda text: page(b"<script>", text),
    "html comment": lambda text: page(b"<!--", text),
    "html href": lambda text: page(b'<a href="', text, b'">x</a>'),
    "html rel": lambda text: page(b"<a href=x rel='", text, b"'>x</a>"),
    "html srcset": lambda text: page(b"<img srcset='", text, b"'>"),
    "html base": lambda text: page(b"<base href='", text, b"'><a href=x>y</a>"),
    "html robots": lambda text: page(b"<meta name=robots content='", text, b"'>"),
    "html refresh": lambda text: page(b"<meta http-equiv=refresh content='0;url=", text, b"'>"),
    "meta_refresh": lambda text: conformance.meta_refresh(text, BASE),
    "coding names": lambda text: conformance.decode(b"abc", text, -1),
    "decode": lambda text: [conformance.decode(octets(text), name, -1) for name in ("gzip", "deflate", "br", "zstd")],
    "mime": lambda text: conformance.mime(None, f"{SITE}{text}", octets(text)),
    "mime header": lambda text: conformance.mime(f"text/html;{text}", SITE, b""),
    "sitemap": lambda text: conformance.sitemap(octets(text), SITE),
    "sitemap loc": lambda text: conformance.sitemap(b"<urlset><url><loc>" + octets(text), SITE),
    "sitemap doctype": lambda text: conformance.sitemap(b"<!DOCTYPE x [" + octets(text) + b"]><urlset>", SITE),
    "feed": lambda text: conformance.sitemap(b"<rss><channel><item><pubDate>" + octets(text), SITE),
    "http_date": lambda text: conformance.http_date(f"Mon, 01 Jan {text}"),
    "address": conformance.address_allowed,
    "domain": lambda text: conformance.registered_domain(f"{text}.co.uk"),
    "redirect": lambda text: conformance.redirect(301, [("Location", text)], BASE),
}


def seconds(entry: Entry, text: str) -> float:
    start = time.process_time()
    entry(text)
    return time.process_time() - start


def grows_too_fast(entry: Entry, token: str) -> bool:
    text = token * (LENGTH // len(token))
    if seconds(entry, text) < NEGLIGIBLE:
        return False
    least = min(seconds(entry, text) for _ in range(2))  # the first time may have been disturbed
    return least > NEGLIGIBLE and least > MOST * min(seconds(entry, text[: len(text) // 4]) for _ in range(3))


@pytest.mark.parametrize("name", ENTRIES)
def test_time_grows_with_the_length(name: str) -> None:
    assert [token for token in TOKENS if grows_too_fast(ENTRIES[name], token)] == []
