"""Fetch lists: which queue each host belongs to, and which list each queue goes to; lists are alike in size.

A queue (host, domain or address) never spans two lists. Resolves hosts when queues are addresses.
"""

from __future__ import annotations

import heapq
import socket
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pyarrow as pa

from nutchpy.core.urls import registered_domain

Resolve = Callable[[str], str | None]
_RESOLVERS: Final = 32
_SCHEMA: Final = pa.schema(
    [("segment", pa.int32()), ("host", pa.string()), ("queue_id", pa.string()), ("list", pa.int32())]
)


def address_of(host: str) -> str | None:
    """An address of the host, the same one each time it has the same ones; None when it has none."""
    if not host:
        return None
    try:
        found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    return min((str(address[0]) for *_, address in found), default=None)


def queue_ids(hosts: Iterable[str], mode: str, resolve: Resolve = address_of) -> tuple[dict[str, str], int]:
    """Host → queue, and how many hosts have no address; those queue by their name."""
    distinct = list(dict.fromkeys(hosts))
    if mode == "byDomain":
        return {host: registered_domain(host) for host in distinct}, 0
    if mode == "byHost":
        return {host: host for host in distinct}, 0
    with ThreadPoolExecutor(_RESOLVERS, thread_name_prefix="resolve") as pool:
        found = dict(zip(distinct, pool.map(resolve, distinct), strict=True))
    return {host: address or host for host, address in found.items()}, sum(a is None for a in found.values())


def assign(counts: Mapping[tuple[int, str], int], queues: Mapping[str, str], fetchers: int) -> pa.Table:
    """``segment, host, queue_id, list`` for URLs counted by segment and host."""
    sizes: dict[int, Counter[str]] = defaultdict(Counter)
    for (segment, host), count in counts.items():
        sizes[segment][queues[host]] += count
    lists = {segment: balanced(own, fetchers) for segment, own in sizes.items()}
    segments, hosts = [segment for segment, _ in counts], [host for _, host in counts]
    mine = [queues[host] for host in hosts]
    numbers = [lists[segment][queue] for segment, queue in zip(segments, mine, strict=True)]
    return pa.table([segments, hosts, mine, numbers], schema=_SCHEMA)


def balanced(sizes: Mapping[str, int], lists: int) -> dict[str, int]:
    """Queue → list: the biggest queue first, always into the smallest list so far."""
    if lists == 1:
        return dict.fromkeys(sizes, 0)
    loads = [(0, number) for number in range(min(lists, len(sizes)))]
    placed: dict[str, int] = {}
    for queue, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        load, number = heapq.heappop(loads)
        placed[queue] = number
        heapq.heappush(loads, (load + size, number))
    return placed
