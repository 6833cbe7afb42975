"""The registered domain of a host, by the public suffix list shipped in its wheel; no network.

Most hosts end in a plain top-level domain, and then their last two labels are the answer. Only where a longer rule may
apply is the list's own matcher asked, which takes several times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import resources

import can_ada
from publicsuffixlist import PublicSuffixList


@lru_cache(maxsize=1 << 16)
def registered_domain(host: str) -> str:
    """The domain under a public suffix that contains ``host``; addresses and bare suffixes are their own domain."""
    return _registered(host)


def registered_domains(hosts: Iterable[str]) -> list[str]:
    """``registered_domain`` over a column of distinct hosts: to remember them all would cost more than it saves."""
    return [_registered(host) for host in hosts]


def _registered(host: str) -> str:
    if not host or host[0] == "[" or (host[-1].isdigit() and host.rpartition(".")[2].isdigit()):
        return host
    top = host.rfind(".")
    two = host[host.rfind(".", 0, top) + 1 :]
    long_rules, wild = _long_rules()
    if top < 1 or two in long_rules or host[top + 1 :] in wild or ".." in host or host[0] == "." or host[-1] == ".":
        return _by_list(host)
    return two


@lru_cache(maxsize=1 << 16)
def _by_list(host: str) -> str:
    return str(_list().privatesuffix(host) or host)


def private_domain(host: str) -> str | None:
    """The registered domain in lower case; None for what stands under no suffix: addresses, suffixes, no host."""
    name = host.lower().removesuffix(".")
    if not all(name.split(".")) or ":" in name or name.rpartition(".")[2].isdigit():
        return None
    found = _list().privatesuffix(name)
    return None if found is None else str(found)


def public_suffix(host: str) -> str | None:
    """The public suffix a host stands under, or is; None for addresses and unlisted top-level domains."""
    if not host or host[0] == "[" or host[-1].isdigit():
        return None
    suffix = _list().publicsuffix(host, accept_unknown=False)
    return None if suffix is None else str(suffix)


@lru_cache(maxsize=1)
def _list() -> PublicSuffixList:
    return PublicSuffixList()


@lru_cache(maxsize=1)
def _long_rules() -> tuple[frozenset[str], frozenset[str]]:
    """The last two labels of every rule of two labels or more, and the top-level domains with a wildcard below."""
    rules = [_ascii(rule) for rule in _rules()]
    long_rules = {".".join(labels[-2:]) for rule in rules if len(labels := rule.lstrip("*.").split(".")) > 1}
    wild = {rule[2:] for rule in rules if rule.startswith("*.") and rule.count(".") == 1}
    return frozenset(long_rules), frozenset(wild)


def _rules() -> Iterator[str]:
    """The rules of the list, exceptions without their mark."""
    text = resources.files("publicsuffixlist").joinpath("public_suffix_list.dat").read_text(encoding="utf-8")
    for line in text.splitlines():
        words = line.split()
        if words and not words[0].startswith("//"):
            yield words[0].lower().removeprefix("!")


def _ascii(rule: str) -> str:
    """The rule as hosts are written in the tables: punycode."""
    if rule.isascii():
        return rule
    star = "*." if rule.startswith("*.") else ""
    return star + str(can_ada.parse(f"http://{rule.removeprefix(star)}/").hostname)
