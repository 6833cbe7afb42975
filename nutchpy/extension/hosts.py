"""Settings of many hosts at once: what ``[host."…"]`` tables change, as Arrow columns beside a column of hosts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from nutchpy.conf.layers import Conf


class HostSettings:
    """Numbers that may differ from host to host. Costs nothing while no host has a table of its own."""

    def __init__(self, conf: Conf) -> None:
        self._conf = conf
        self._differ = any(layer.hosts for layer in conf.layers)
        self._known: dict[str, Conf] = {}

    def numbers(self, name: str, hosts: pa.Array) -> Any:
        """The setting ``name`` for each of ``hosts`` (float64); one scalar when it is the same for all."""
        if not self._differ:
            return pa.scalar(self._conf.number(name), pa.float64())
        encoded = hosts.dictionary_encode()
        values = pa.array([self._of(host).number(name) for host in encoded.dictionary.to_pylist()], pa.float64())
        return values.take(encoded.indices)

    def _of(self, host: str) -> Conf:
        if host not in self._known:
            self._known[host] = self._conf.for_host(host)
        return self._known[host]
