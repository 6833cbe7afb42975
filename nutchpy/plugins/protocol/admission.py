"""Whether a request may go out at all, judged before any connection: its scheme, its host, its addresses by a proxy.

The address of a direct connection is judged when it is made, by the transport. Through a proxy it is the proxy that
connects, so what can be judged is judged here: literal addresses and localhost always, names by the addresses the
resolver pinned. The proxy looks these names up once more: only itself can keep to what it then finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from nutchpy.core import urls
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.extension.points import Request
from nutchpy.plugins.protocol.exchange import Failure, refusal
from nutchpy.plugins.protocol.hosts import HostOptions
from nutchpy.plugins.protocol.settings import TransportSettings

WEB_PORTS: Final = {"http:": 80, "https:": 443}


@dataclass(slots=True)
class Target:
    """Where a request goes."""

    url: str
    """The URL as the standard writes it, without credentials and fragment."""
    path: str
    """Its path and query: the target of the request line."""
    host: str
    port: int
    literal: bool
    """The host is an address, not a name."""
    proxied: bool
    options: HostOptions
    """What requests to this host carry besides."""

    @property
    def scheme(self) -> str:
        """``http`` or ``https``."""
        return self.url.partition(":")[0]

    @property
    def tunnelled(self) -> bool:
        """Whether the proxy only passes bytes on, to a server that speaks TLS."""
        return self.proxied and self.url.startswith("https:")


def admit(request: Request, settings: TransportSettings, ports: Mapping[str, int] = WEB_PORTS) -> Target | Failure:
    """The target, or why there is no going there; ``ports`` names the schemes with the port of each."""
    parsed = urls.parse(request.url)
    if parsed is None or parsed.protocol not in ports:
        return Failure(ProtocolStatus.PROTO_NOT_FOUND, f"not an {' or '.join(ports).replace(':', '')} URL")
    host = str(parsed.hostname)
    port = int(parsed.port) if parsed.port else ports[parsed.protocol]
    proxied = settings.proxy is not None and settings.proxy.serves(host)
    path = f"{parsed.pathname}{parsed.search}"
    url = f"{parsed.protocol}//{parsed.host}{path}"
    target = Target(url, path, host, port, _is_address(host), proxied, settings.hosts.of(host))
    return _refusal(target, request, settings) or target


def _refusal(target: Target, request: Request, settings: TransportSettings) -> Failure | None:
    if target.literal:
        addresses = [target.host.strip("[]")]
    elif target.proxied and _is_localhost(target.host):
        addresses = ["127.0.0.1"]
    elif target.proxied and settings.proxy is not None and not settings.proxy.remote_names:
        addresses = list(request.pinned_ips)
        if not addresses:
            return Failure(ProtocolStatus.DNS_FAILED, "the name was not resolved, and the proxy is not trusted with it")
    else:
        return None
    for ip in addresses:
        reason = settings.addresses.refuse(ip)
        if reason is not None:
            return refusal(ip, reason)
    return None


def _is_localhost(host: str) -> bool:
    """Of names: those that mean the machine that looks them up, here the proxy's (RFC 6761)."""
    name = host.removesuffix(".")
    return name == "localhost" or name.endswith(".localhost")


def _is_address(host: str) -> bool:
    """Of a host as the URL standard writes it: one that ends in a number is an IPv4 address."""
    return host[:1] == "[" or host.rpartition(".")[2].isdigit()
