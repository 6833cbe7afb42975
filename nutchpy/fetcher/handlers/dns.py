"""dns: find the addresses of the item's host, which the transport is then pinned to.

With queues by address, an item waits in its host's queue until the address is known, then moves to the address's own.
"""

from __future__ import annotations

from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.fetcher.dns import Resolver, is_address
from nutchpy.fetcher.item import FetchItem
from nutchpy.fetcher.pipeline import PROCEED, Answer, Finish, Unrecorded


class DnsHandler:
    """Asks the Resolver; addresses in URLs need no asking, nor do URLs of other ``schemes``, which end later on."""

    def __init__(self, resolver: Resolver, by_ip: bool, schemes: frozenset[str]) -> None:
        self._resolver = resolver
        self._by_ip = by_ip
        self._schemes = schemes

    def handle(self, item: FetchItem, now: float) -> Answer:
        """Proceed with addresses, end as ``dns_failed``, or go back into the queue until there is an answer."""
        if not item.host or item.url.partition(":")[0] not in self._schemes:
            return PROCEED
        if is_address(item.host):
            return self._placed(item, item.host.strip("[]"))
        resolution = self._resolver.resolution(item.host, now)
        if resolution is None:
            self._resolver.ask(item.host, item.queue_id, now)
            return Finish(Unrecorded.UNRESOLVED)
        if not resolution.addresses:
            return Finish(ProtocolStatus.DNS_FAILED, resolution.error)
        if not self._by_ip:
            item.ips = resolution.addresses
            return PROCEED
        address = item.queue_id if item.queue_id in resolution.addresses else resolution.addresses[0]
        item.ips = (address,)
        return self._placed(item, address)

    def _placed(self, item: FetchItem, address: str) -> Answer:
        if not self._by_ip or item.queue_id == address:
            return PROCEED
        item.queue_id = address
        return Finish(Unrecorded.MOVED)
