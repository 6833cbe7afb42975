"""What both transports read from the settings: request headers, limits, the address filter, the proxy."""

from __future__ import annotations

import resource
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from nutchpy.conf.layers import Conf
from nutchpy.core.addresses import AddressFilter
from nutchpy.core.content import Headers
from nutchpy.core.errors import ConfigError
from nutchpy.extension.decoder import ACCEPT_ENCODING
from nutchpy.plugins.protocol.hosts import HostOptions, Hosts, secret

_KEPT_CONNECTIONS: Final = 24
"""Connections kept open, per request in flight: a host that is asked every few seconds finds its own again."""
_LINE_BREAKS = str.maketrans("", "", "\r\n\0")


@dataclass(frozen=True, slots=True)
class Proxy:
    """The proxy all requests go through, but for those to excepted hosts."""

    host: str
    port: int
    username: str
    password: str = field(repr=False)
    socks: bool
    remote_names: bool
    """Names are resolved by the proxy, which is then trusted with them."""
    exceptions: tuple[str, ...]

    @property
    def url(self) -> str:
        """Scheme, host and port; no credentials."""
        scheme = ("socks5h" if self.remote_names else "socks5") if self.socks else "http"
        return f"{scheme}://{self.host}:{self.port}"

    def serves(self, host: str) -> bool:
        """Whether requests to ``host`` go through the proxy."""
        return not any(_matches(host.lower(), pattern) for pattern in self.exceptions)


@dataclass(frozen=True)
class TransportSettings:
    """Settings of one transport, read once."""

    headers: tuple[tuple[str, str], ...]
    """Sent with every request, unless it, or its host, brings one of the same name."""
    hosts: Hosts
    addresses: AddressFilter
    header_limit: int
    ratio_limit: int
    keep_partial: bool
    """Keep what came of a body before a deadline."""
    verify: bool
    http2: bool
    proxy: Proxy | None
    threads: int
    bodies_memory: int = -1
    """Bytes of bodies in flight, together; negative: any."""
    keep_request: bool = False
    """Keep the heads of requests."""
    keep_response: bool = False
    """Keep the heads of answers as they come."""

    def lines(self, options: HostOptions, own: Headers) -> list[tuple[str, str]]:
        """The headers of one request: everyone's, replaced by its host's, replaced by its own."""
        if not (own or options.headers or self.hosts.rotates):
            return self._usual
        agent = self.hosts.agent()
        named = request_headers(self.headers, [("User-Agent", agent)]) if agent is not None else self.headers
        return request_headers(request_headers(named, options.headers), own)

    def kept_connections(self, descriptors: int = 1) -> int:
        """How many are kept open: as many as are of use, but not so many that other files could not be opened."""
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _KEPT_CONNECTIONS * self.threads
        return wanted if files == resource.RLIM_INFINITY else max(self.threads, min(wanted, files // (2 * descriptors)))

    @cached_property
    def _usual(self) -> list[tuple[str, str]]:
        return request_headers(self.headers, ())

    @classmethod
    def from_conf(cls, conf: Conf) -> TransportSettings:
        """Read them all; ConfigError when one makes no sense."""
        return cls(
            headers=tuple(default_headers(conf)),
            hosts=Hosts.from_conf(conf),
            addresses=AddressFilter.of(
                conf.words("http.filter.ipaddress.exclude"), conf.words("http.filter.ipaddress.include")
            ),
            header_limit=conf.integer("http.header.limit"),
            ratio_limit=conf.integer("http.content.ratio"),
            keep_partial=conf.flag("http.partial.truncated"),
            verify=conf.flag("http.tls.certificates.check"),
            http2=conf.flag("http.useHttp2"),
            proxy=_proxy(conf),
            threads=max(1, conf.integer("fetcher.threads.fetch")),
            bodies_memory=conf.integer("fetcher.bodies.memory"),
            keep_request=conf.flag("store.http.request"),
            keep_response=conf.flag("store.http.headers"),
        )


def default_headers(conf: Conf) -> Headers:
    """The headers every request carries; a setting that is empty leaves its header out."""
    named = [
        ("User-Agent", user_agent(conf)),
        ("Accept", conf.text("http.accept")),
        ("Accept-Language", conf.text("http.accept.language")),
        ("Accept-Charset", conf.text("http.accept.charset")),
        ("Accept-Encoding", ACCEPT_ENCODING),
    ]
    return [(name, value) for name, value in named if value]


def user_agent(conf: Conf) -> str:
    """``name/version (description; url; email)``, as Nutch writes it."""
    name, version = conf.text("http.agent.name").strip(), conf.text("http.agent.version").strip()
    about = [conf.text(f"http.agent.{part}").strip() for part in ("description", "url", "email")]
    comment = "; ".join(part for part in about if part)
    product = f"{name}/{version}" if name and version else name or version
    return f"{product} ({comment})" if comment else product


def request_headers(defaults: Headers, own: Headers) -> list[tuple[str, str]]:
    """The headers of one request: the defaults, replaced by name by its own. No value can smuggle a line in."""
    replaced = {name.lower() for name, _ in own}
    merged = [(name, value) for name, value in defaults if name.lower() not in replaced] + list(own)
    return [(name, value.translate(_LINE_BREAKS).strip()) for name, value in merged]


def _proxy(conf: Conf) -> Proxy | None:
    host = conf.text("http.proxy.host").strip()
    socks = _choice(conf, "http.proxy.type", ("HTTP", "SOCKS")) == "SOCKS"
    remote_names = _choice(conf, "http.proxy.resolve", ("local", "remote")) == "remote"
    if not host:
        return None
    return Proxy(
        host=host,
        port=conf.integer("http.proxy.port"),
        username=conf.text("http.proxy.username"),
        password=secret(conf.text("http.proxy.password"), "http.proxy.password"),
        socks=socks,
        remote_names=remote_names,
        exceptions=tuple(pattern.strip().lower() for pattern in conf.words("http.proxy.exception.list")),
    )


def _choice(conf: Conf, name: str, choices: Sequence[str]) -> str:
    value = conf.text(name).strip()
    for choice in choices:
        if choice.lower() == value.lower():
            return choice
    raise ConfigError(f"{name}: {value!r} is not one of {', '.join(choices)}")


def _matches(host: str, pattern: str) -> bool:
    """A name, or with ``*`` at either end a suffix, prefix or part of one."""
    middle = pattern.strip("*")
    if not middle:
        return bool(pattern)
    head, tail = pattern.startswith("*"), pattern.endswith("*")
    if head and tail:
        return middle in host
    return host.endswith(middle) if head else host.startswith(middle) if tail else host == middle
