"""The pass URL normalizer: changes nothing; for a scope that must have a chain and shall leave URLs alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf


class PassURLNormalizer:
    """Gives back what it is given."""

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """There is nothing to set."""
        return cls()

    def normalize(self, url: str, scope: str) -> str | None:
        """The URL."""
        return url
