"""Depth: pages near the seeds come first, and links are not followed beyond a depth (Nutch's scoring-depth).

The depth itself is a column of the crawldb, kept whether this filter is on or not: 0 for a seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.conf.layers import Conf
from nutchpy.core.errors import ConfigError


@dataclass(frozen=True)
class DepthScoring:
    """See extension/points.py, ScoringFilter. ``alone``: no other filter is on, so the score says nothing."""

    max_depth: int
    alone: bool

    inlink_aggregate = "none"

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """Built from ``scoring.depth.max``, in which a seed counts as 1."""
        levels = conf.integer("scoring.depth.max")
        if levels < 1:
            raise ConfigError("scoring.depth.max must be at least 1: the seeds")
        return cls(levels - 1, len(conf.words("scoring.filter.order")) == 1)

    def injected_score(self, score: float, metadata: Mapping[str, str]) -> float:
        """As injected."""
        return score

    def initial_score(self) -> float:
        """Nothing of its own."""
        return 0.0

    def sort_value(self, score: pa.Array, batch: pa.RecordBatch) -> pa.Array:
        """The score times how many levels are left, so that shallow pages come first."""
        left = pc.subtract(self.max_depth + 1, batch["depth"].cast(pa.int64()))
        levels = pc.max_element_wise(left, 1).cast(pa.float64())
        return levels if self.alone else pc.multiply(score.cast(pa.float64()), levels)

    def outlink_scores(self, score: float, internal: Sequence[bool], total: int) -> Sequence[float]:
        """Moves none; not asked, see ``inlink_aggregate``."""
        return [0.0] * len(internal)

    def update(self, score: pa.Array, inlink_score: pa.Array) -> pa.Array:
        """Moves none; not asked, see ``inlink_aggregate``."""
        return score
