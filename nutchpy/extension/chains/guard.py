"""What all chains share: building plugins from settings, counting those that raise, pickling as settings."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, Self

from nutchpy.conf.layers import Conf
from nutchpy.core.counters import Counters
from nutchpy.extension import registry

_log = logging.getLogger(__name__)


def build(point: str, names: Iterable[str], conf: Conf) -> list[tuple[str, Any]]:
    """The plugins called ``names``, each with its own name, built from the settings."""
    return [(registry.plugin_name(point, name), registry.load(point, name).from_conf(conf)) for name in names]


class Chain:
    """Base of the chains. ``errors`` accumulates ``plugin_errors:<name>`` until the caller takes it."""

    def __init__(self, conf: Conf) -> None:
        self.conf = conf
        self.errors = Counters()

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """The chain of the enabled plugins; errors in their settings or rule files are raised here, at the start."""
        return cls(conf)

    def __reduce__(self) -> tuple[Callable[[Conf], Chain], tuple[Conf]]:
        return type(self), (self.conf,)

    def take_errors(self) -> Counters:
        """What was counted since the last call."""
        taken, self.errors = self.errors, Counters()
        return taken

    def failed(self, name: str, record: object, error: Exception, records: int = 1) -> None:
        """Count a plugin's exception; the first of each plugin is also logged with its trace."""
        counter = f"plugin_errors:{name}"
        if self.errors[counter]:
            _log.debug("plugin %s raised on %s: %r", name, record, error)
        else:
            _log.warning("plugin %s raised on %s: %r", name, record, error, exc_info=error)
        self.errors.add(counter, records)
