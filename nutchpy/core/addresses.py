"""Which IP addresses a crawler may connect to: groups of special addresses, and a filter made of lists.

An IPv6 address that carries an IPv4 address (mapped, translated, NAT64, 6to4, Teredo) is judged by both. Judge the
address really connected to, on every hop: names and spellings are the attacker's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
    summarize_address_range,
)
from typing import Final

from nutchpy.core import urls
from nutchpy.core.errors import ConfigError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_GROUP_TEXT: Final[dict[str, str]] = {
    "metadata": "169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254 fd20:ce::254",
    "loopback": "127.0.0.0/8 ::1",
    "private": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10",
    "linklocal": "169.254.0.0/16 fe80::/10",
    "cgnat": "100.64.0.0/10",
    "multicast": "224.0.0.0/4 ff00::/8",
    "unspecified": "0.0.0.0/8 ::",
    "reserved": "192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4"
    " 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001:db8::/32 3fff::/20 5f00::/16",
}
_SYNONYMS: Final = {"localhost": "loopback", "sitelocal": "private", "link-local": "linklocal", "broadcast": "reserved"}
_IPV4_COMPATIBLE: Final = tuple(summarize_address_range(IPv6Address("::2"), IPv6Address("::ffff:ffff")))
_GROUPS: Final[dict[str, tuple[Network, ...]]] = {
    name: tuple(ip_network(text) for text in networks.split()) + (_IPV4_COMPATIBLE if name == "reserved" else ())
    for name, networks in _GROUP_TEXT.items()
}
_MOST_KNOWN: Final = 1 << 16
_UNKNOWN: Final = "?"
GROUP_NAMES: Final = tuple(_GROUPS)

_MAPPED: Final = (IPv6Network("::ffff:0:0/96"), IPv6Network("::ffff:0:0:0/96"), IPv6Network("64:ff9b::/96"))
_SIX_TO_FOUR: Final = IPv6Network("2002::/16")
_TEREDO: Final = IPv6Network("2001::/32")


def address_allowed(ip: str) -> tuple[bool, str]:
    """Whether an address is public, and the group it belongs to when it is not.

    Takes any spelling a URL may hold (``127.1``, ``[::1]``, ``0x7f000001``). A name is refused: resolve it first.
    """
    reason = PUBLIC_ONLY.refuse(ip)
    return reason is None, reason or "public"


@dataclass(frozen=True, slots=True)
class _Rules:
    """One list, taken apart."""

    groups: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    @classmethod
    def read(cls, words: Sequence[str], setting: str) -> _Rules:
        groups = {_group(word) for word in words} - {None}
        networks = [_network(word, setting) for word in words if _group(word) is None]
        return cls(frozenset(name for name in groups if name), tuple(networks))

    def __bool__(self) -> bool:
        return bool(self.groups or self.networks)

    def group_of(self, forms: Sequence[Address]) -> str | None:
        return next((name for form in forms for name in groups_of(form) if name in self.groups), None)

    def network_of(self, forms: Sequence[Address]) -> str | None:
        return next((str(network) for network in self.networks for form in forms if form in network), None)


@dataclass(frozen=True, slots=True)
class AddressFilter:
    """Lists of group names, addresses and CIDR blocks.

    An empty ``exclude`` refuses nothing. A non-empty ``include`` is the only set allowed; it lifts the groups that
    ``exclude`` names, while addresses and blocks standing in ``exclude`` are still refused.
    """

    exclude: _Rules
    include: _Rules
    _known: dict[str, str | None] = field(default_factory=dict, repr=False, compare=False)
    """Answers given: the same addresses are asked about again and again."""

    @classmethod
    def of(cls, exclude: Sequence[str], include: Sequence[str] = ()) -> AddressFilter:
        """Build the filter; an entry that is neither a group nor an address is a ConfigError."""
        return cls(
            _Rules.read(exclude, "http.filter.ipaddress.exclude"), _Rules.read(include, "http.filter.ipaddress.include")
        )

    def refuse(self, ip: str) -> str | None:
        """None to allow, else the reason: the group or block, or ``not included``, ``not an address``."""
        reason = self._known.get(ip, _UNKNOWN)
        if reason is _UNKNOWN:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            reason = self._known[ip] = self._judge(ip)
        return reason

    def _judge(self, ip: str) -> str | None:
        address = _read(ip)
        if address is None:
            return "not an address"
        forms = (address, *embedded(address))
        if not self.include:
            return self.exclude.group_of(forms) or self.exclude.network_of(forms)
        if self.include.group_of(forms) is None and self.include.network_of(forms) is None:
            return "not included"
        return self.exclude.network_of(forms)


@lru_cache(maxsize=1 << 14)
def groups_of(address: Address) -> tuple[str, ...]:
    """The groups an address belongs to, the most telling first; empty for a public one."""
    return tuple(name for name, networks in _GROUPS.items() if any(address in network for network in networks))


def embedded(address: Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses an IPv6 address carries."""
    if isinstance(address, IPv4Address):
        return
    value = int(address)
    if any(address in network for network in _MAPPED):
        yield IPv4Address(value & 0xFFFFFFFF)
    elif address in _SIX_TO_FOUR:
        yield IPv4Address(value >> 80 & 0xFFFFFFFF)
    elif address in _TEREDO:
        yield IPv4Address(~value & 0xFFFFFFFF)
        yield IPv4Address(value >> 64 & 0xFFFFFFFF)


def _read(ip: str) -> Address | None:
    """An address in any spelling; the zone of a link-local one is left out."""
    text = ip.strip().strip("[]").partition("%")[0]
    try:
        return ip_address(text)
    except ValueError:
        host = urls.host_of(f"http://{text}/") or ""
    try:
        return ip_address(host)
    except ValueError:
        return None


def _group(word: str) -> str | None:
    name = word.strip().lower()
    name = _SYNONYMS.get(name, name)
    return name if name in _GROUPS else None


def _network(word: str, setting: str) -> Network:
    try:
        return ip_network(word.strip().strip("[]"), strict=False)
    except ValueError:
        near = get_close_matches(word.strip().lower(), GROUP_NAMES, 1)
        hint = f"; did you mean {near[0]}?" if near else f" (groups: {', '.join(GROUP_NAMES)})"
        raise ConfigError(f"{setting}: {word!r} is neither an address, a CIDR block nor a group{hint}") from None


PUBLIC_ONLY: Final = AddressFilter.of(GROUP_NAMES)
