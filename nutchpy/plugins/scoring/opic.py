"""OPIC: a page hands its score to its links in equal shares, and keeps it (Nutch's scoring-opic)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from nutchpy.conf.layers import Conf

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class OpicScoring:
    """See extension/points.py, ScoringFilter. ``count_filtered``: refused links take a share with them."""

    internal: float
    external: float
    count_filtered: bool

    inlink_aggregate = "sum"

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """Built from ``db.score.link.internal``, ``.external`` and ``db.score.count.filtered``."""
        return cls(
            conf.number("db.score.link.internal"),
            conf.number("db.score.link.external"),
            conf.flag("db.score.count.filtered"),
        )

    def injected_score(self, score: float, metadata: Mapping[str, str]) -> float:
        """As injected."""
        return score

    def initial_score(self) -> float:
        """Nothing but what its links bring."""
        return 0.0

    def sort_value(self, score: pa.Array, batch: pa.RecordBatch) -> pa.Array:
        """The score itself."""
        return score

    def outlink_scores(self, score: float, internal: Sequence[bool], total: int) -> Sequence[float]:
        """Equal shares, times the factor for links within the host or to others."""
        sharers = max(total, len(internal)) if self.count_filtered else len(internal)
        share = score / sharers if sharers else 0.0
        return [share * (self.internal if inside else self.external) for inside in internal]

    def update(self, score: pa.Array, inlink_score: pa.Array) -> pa.Array:
        """What the row had plus what its new links bring."""
        import pyarrow as pa
        import pyarrow.compute as pc  # 50 ms, and a parsing process, which asks for shares alone, has no use for it

        return pc.add(score.cast(pa.float64()), pc.fill_null(inlink_score, 0.0))
