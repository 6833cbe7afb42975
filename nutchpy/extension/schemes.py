"""Routed: one transport out of several, each for the schemes that it knows. The loop sees one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from selectors import BaseSelector, SelectorKey
from typing import Any, Self, cast

from nutchpy.conf.layers import Conf
from nutchpy.core.content import ProtocolOutput
from nutchpy.extension.points import Request, Transport


class _Lent:
    """The loop's selector, as one of the transports gets it: what it registers is noted as its own."""

    def __init__(self, selector: BaseSelector, routed: Routed, owner: Transport, owners: dict[int, Transport]) -> None:
        self._selector = selector
        self._routed = routed
        self._owner = owner
        self._owners = owners

    def register(self, fileobj: Any, events: int, _data: Any = None) -> SelectorKey:
        key = self._selector.register(fileobj, events, self._routed)
        self._owners[key.fd] = self._owner
        return key

    def modify(self, fileobj: Any, events: int, _data: Any = None) -> SelectorKey:
        return self._selector.modify(fileobj, events, self._routed)

    def unregister(self, fileobj: Any) -> SelectorKey:
        key = self._selector.unregister(fileobj)
        self._owners.pop(key.fd, None)
        return key

    def get_map(self) -> Mapping[Any, SelectorKey]:
        return self._selector.get_map()


class Routed:
    """``usual`` carries whatever the others, by scheme, do not."""

    def __init__(self, usual: Transport, others: Mapping[str, Transport]) -> None:
        self._usual = usual
        self._others = dict(others)
        self._all = [usual, *self._others.values()]
        self._owners: dict[int, Transport] = {}
        self._carriers: dict[int, Transport] = {}

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """Never a plugin of its own."""
        raise TypeError("Routed is put together from transports, by chains.transport")

    def attach(self, selector: BaseSelector, wake: Callable[[], None]) -> None:
        """Lend the selector to all."""
        for transport in self._all:
            transport.attach(cast("BaseSelector", _Lent(selector, self, transport, self._owners)), wake)

    def start(self, token: int, request: Request) -> None:
        """Hand a request to whom its scheme belongs."""
        carrier = self._others.get(request.url.partition(":")[0], self._usual)
        self._carriers[token] = carrier
        carrier.start(token, request)

    def step(self, ready: Sequence[tuple[SelectorKey, int]]) -> list[tuple[int, ProtocolOutput]]:
        """Let all work."""
        done: list[tuple[int, ProtocolOutput]] = []
        for transport in self._all:
            done += transport.step([event for event in ready if self._owners.get(event[0].fd) is transport])
        for token, _ in done:
            self._carriers.pop(token, None)
        return done

    def deadline(self) -> float | None:
        """The earliest of theirs."""
        instants = [transport.deadline() for transport in self._all]
        return min((instant for instant in instants if instant is not None), default=None)

    def cancel(self, token: int, reason: str) -> None:
        """Tell whoever has it."""
        carrier = self._carriers.get(token)
        if carrier is not None:
            carrier.cancel(token, reason)

    def close(self) -> None:
        """Close all."""
        for transport in self._all:
            transport.close()
