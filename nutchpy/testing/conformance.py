"""A facade for outside test suites: the rules of the crawler as plain functions, so that a corpus runs in one process.

    from nutchpy.testing import conformance

    conformance.resolve("http://example.org/a/b", "../c")            # "http://example.org/c"
    conformance.normalize("HTTP://Example.org:80/", plugins=["basic"])
    conformance.accept(url, plugins=["prefix"], settings={"urlfilter.prefix.rules": "http://example.org/"})

Nothing is decided here: every function calls the code that a crawl runs. The names and signatures are stable.

*Plugins* are named as in Nutch, without their prefix (``basic``, ``regex``, ``querystring``); the order given is the
order in which they run, and without ``plugins`` those of the settings run. *Settings* go by Nutch's names, over the
shipped defaults; the text of a rule file is the setting ``urlfilter.<plugin>.rules``, ``urlnormalizer.<plugin>.rules``
(also in Nutch's plural, ``urlnormalizer.hosts.rules``), and an empty one is a file without rules.
Settings that cannot be used, and rules that cannot be read, are a ConfigError; no other input raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from nutchpy.conf.layers import Conf, Value, defaults
from nutchpy.core import (
    addresses,
    redirects,
    registered,
    robots_directives,
    urls,
)
from nutchpy.core import http_date as dates
from nutchpy.core import (
    meta_refresh as refreshes,
)
from nutchpy.core import (
    mime as types,
)
from nutchpy.core import robots as rules
from nutchpy.core import sitemap as sitemaps
from nutchpy.core.content import Content, Headers, ProtocolOutput, combined, header
from nutchpy.core.parse import Outlink, Parse
from nutchpy.core.robots import RobotsVerdict
from nutchpy.core.sitemap import Sitemap, SitemapEntry
from nutchpy.extension import chains, decoder
from nutchpy.extension.chains.urlnormalizers import SCOPES
from nutchpy.plugins.parse import charset as charsets
from nutchpy.plugins.parse.html import HtmlParser
from nutchpy.testing.client import Client, PlainRequest
from nutchpy.testing.raw_server import RawServer, Send
from nutchpy.testing.transports import transport_conf

__all__ = [
    "Outlink",
    "Page",
    "ProtocolOutput",
    "RobotsVerdict",
    "Sitemap",
    "SitemapEntry",
    "accept",
    "address_allowed",
    "charset",
    "decode",
    "html",
    "http_date",
    "meta_refresh",
    "mime",
    "normalize",
    "redirect",
    "registered_domain",
    "resolve",
    "respond",
    "robots",
    "robots_policy",
    "sitemap",
    "x_robots",
]

Page = Parse
"""What ``html`` answers: ``title text base canonical robots refresh outlinks`` and more (see Parse)."""

Settings = Mapping[str, Value]
NO_SETTINGS: Final[Settings] = MappingProxyType({})

_NO_RULES: Final = "# no rules"
_RULES: Final = {
    "urlnormalizer.host.rules": "urlnormalizer.hosts.rules",
    "urlnormalizer.protocol.rules": "urlnormalizer.protocols.rules",
    "urlnormalizer.slash.rules": "urlnormalizer.slashes.rules",
}
"""Settings that may be named after their plugin too."""

_XHTML: Final = "application/xhtml+xml"


def resolve(base: str, reference: str) -> str | None:
    """``reference`` against ``base`` by the URL standard; None when that fails."""
    return urls.resolve(base, reference)


def normalize(
    url: str, *, plugins: Sequence[str] | None = None, scope: str = "default", settings: Settings = NO_SETTINGS
) -> str | None:
    """The URL as the chain of normalizers leaves it; None when it is malformed.

    A scope that the crawler does not have is served by the normalizers of ``default``, as in Nutch.
    """
    chain = _normalizers(_names(plugins, "urlnormalizer-"), _frozen(settings))
    return chain.normalize(url, scope if scope in SCOPES else "default")


def accept(url: str, *, plugins: Sequence[str] | None = None, settings: Settings = NO_SETTINGS) -> tuple[bool, str]:
    """Whether the chain of filters lets a URL in; the filter and rule that refuse it, else ``""``."""
    reason = _filters(_names(plugins, "urlfilter-"), _frozen(settings)).reject(url)
    return reason is None, reason or ""


def robots(body: bytes, agents: Sequence[str], url: str) -> RobotsVerdict:
    """What a robots.txt says of a URL to a crawler that goes by ``agents``, most preferred first."""
    return rules.parse(body).verdict(url, agents)


def robots_policy(http_status: int | None) -> str:
    """What the final answer to a request for robots.txt means: ``parse allow_all deny_all defer``; None: no answer."""
    return rules.robots_policy(http_status)


def x_robots(headers: Sequence[tuple[str, str]], agents: Sequence[str]) -> set[str]:
    """The directives of ``X-Robots-Tag`` headers in force for ``agents``; ``none`` as what it stands for."""
    return set(robots_directives.x_robots(headers, agents))


def charset(headers: Headers, body: bytes, mime: str = "text/html") -> tuple[str, str]:
    """The WHATWG name of a body's encoding, and why: ``bom header meta utf8 detected default``."""
    return charsets.charset(combined(headers, "content-type"), body, mime)


def html(body: bytes, url: str, headers: Headers = ()) -> Page:
    """A page as the HTML parser reads it; XHTML when the headers say so."""
    sent = header(headers, "content-type") or ""
    kind = _XHTML if sent.lower().startswith(_XHTML) else "text/html"
    return _html_parser().parse(Content(url, url, kind, headers, body, datetime.now(UTC)))


def meta_refresh(content: str, base: str) -> tuple[float, str] | None:
    """Seconds and absolute target of a ``<meta http-equiv=refresh>``; None when it is none."""
    return refreshes.meta_refresh(content, base)


def decode(body: bytes, content_encoding: str, limit: int) -> tuple[bytes, str | None]:
    """A body without its content codings, at most ``limit`` bytes of it (-1: all), and why it is not whole."""
    return decoder.decode(body, content_encoding, limit)


def mime(content_type: str | None, url: str, body: bytes) -> str:
    """The MIME type by header, URL and first bytes."""
    return types.mime(content_type, url, body)


def sitemap(body: bytes, url: str, *, strict: bool = True) -> Sitemap:
    """A sitemap's type, URLs and sitemaps; ``strict`` drops URLs outside of its directory. Type None: it is none."""
    return sitemaps.sitemap(body, url, strict)


def http_date(text: str) -> int | None:
    """Seconds since 1970 of an HTTP date; None when it is none."""
    return dates.http_date(text)


def address_allowed(ip: str) -> tuple[bool, str]:
    """Whether a crawler may connect to an address by default, and the group that it belongs to."""
    return addresses.address_allowed(ip)


def registered_domain(host: str) -> str | None:
    """The domain of a host right under its public suffix; None for addresses and for suffixes themselves."""
    return registered.private_domain(host)


def redirect(status: int, headers: Headers, url: str) -> str | None:
    """Where an answer of ``url`` redirects to; None when nowhere that a crawler can go."""
    return redirects.redirect(status, headers, url)


def respond(raw: bytes, transport: str) -> ProtocolOutput:
    """What ``transport`` (``curl``, ``requests``) makes of these bytes, served on a loopback socket and then closed."""
    conf = transport_conf({"protocol.http": transport})
    with RawServer([Send(raw)]) as server, Client(chains.transport(conf)) as client:
        return client.fetch(PlainRequest(server.url("/")))


_Frozen = tuple[tuple[str, bool | int | float | str | tuple[str, ...]], ...]


@lru_cache(maxsize=256)
def _normalizers(plugins: tuple[str, ...] | None, settings: _Frozen) -> chains.URLNormalizers:
    return chains.URLNormalizers.from_conf(_conf("urlnormalizer.order", plugins, settings))


@lru_cache(maxsize=256)
def _filters(plugins: tuple[str, ...] | None, settings: _Frozen) -> chains.URLFilters:
    return chains.URLFilters.from_conf(_conf("urlfilter.order", plugins, settings))


@lru_cache(maxsize=1)
def _html_parser() -> HtmlParser:
    return HtmlParser.from_conf(defaults())


def _conf(order: str, plugins: tuple[str, ...] | None, settings: _Frozen) -> Conf:
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in settings}
    return defaults().with_values(values if plugins is None else {**values, order: list(plugins)})


def _names(plugins: Sequence[str] | None, prefix: str) -> tuple[str, ...] | None:
    return None if plugins is None else tuple(name.removeprefix(prefix) for name in plugins)


def _frozen(settings: Settings) -> _Frozen:
    """The settings as a key, by their own names, empty rule texts as rule files without a rule."""
    pairs: list[tuple[str, bool | int | float | str | tuple[str, ...]]] = []
    for name, value in settings.items():
        known = _RULES.get(name, name)
        if known.endswith(".rules") and isinstance(value, str) and not value.strip():
            value = _NO_RULES
        pairs.append((known, tuple(value) if isinstance(value, list) else value))
    return tuple(sorted(pairs, key=lambda pair: pair[0]))
