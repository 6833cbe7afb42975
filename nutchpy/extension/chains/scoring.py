"""ScoringFilters: how score arises, moves along links and ranks rows. Numbers and Arrow columns in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nutchpy.conf.layers import Conf
from nutchpy.core.errors import ConfigError
from nutchpy.extension.chains.guard import Chain, build
from nutchpy.extension.points import ScoringFilter

if TYPE_CHECKING:
    import pyarrow as pa


class ScoringFilters(Chain):
    """The filters of ``scoring.filter.order``, each handed what the one before made of the score.

    One of them at most moves score along links (its ``inlink_aggregate`` is not ``none``): there is one score column.
    """

    def __init__(self, conf: Conf) -> None:
        super().__init__(conf)
        self._filters: list[tuple[str, ScoringFilter]] = build("scoring", conf.words("scoring.filter.order"), conf)
        movers = [(name, plugin) for name, plugin in self._filters if plugin.inlink_aggregate != "none"]
        if len(movers) > 1:
            raise ConfigError(f"scoring.filter.order: {' and '.join(name for name, _ in movers)} both move score")
        self._mover = movers[0] if movers else None

    @property
    def inlink_aggregate(self) -> str:
        """What updatedb computes of the scores of a row's new inlinks: ``sum``, ``max``, ``min`` or ``none``."""
        return self._mover[1].inlink_aggregate if self._mover else "none"

    @property
    def max_depth(self) -> int | None:
        """Links of pages at this distance from a seed are not followed; None for no such limit."""
        limits = [getattr(plugin, "max_depth", None) for _, plugin in self._filters]
        return min((limit for limit in limits if limit is not None), default=None)

    def injected_score(self, score: float, metadata: Mapping[str, str]) -> float:
        """Score of a new seed."""
        for name, plugin in self._filters:
            try:
                score = plugin.injected_score(score, metadata)
            except Exception as error:  # noqa: BLE001  a plugin's fault leaves this record's score
                self.failed(name, "a seed", error)
        return score

    def initial_score(self) -> float:
        """Score of a URL seen for the first time as a link."""
        total = 0.0
        for name, plugin in self._filters:
            try:
                total += plugin.initial_score()
            except Exception as error:  # noqa: BLE001  a plugin's fault adds nothing
                self.failed(name, "a new link", error)
        return total

    def sort_value(self, batch: pa.RecordBatch) -> pa.Array:
        """What generate ranks crawldb rows by."""
        value = batch.column("score")
        for name, plugin in self._filters:
            try:
                value = plugin.sort_value(value, batch)
            except Exception as error:  # noqa: BLE001  a plugin's fault leaves these rows' rank
                self.failed(name, "a batch of rows", error, batch.num_rows)
        return value

    def outlink_scores(self, score: float, internal: Sequence[bool], total: int) -> Sequence[float]:
        """The share of a page's score that each kept outlink gets; 0 when nobody moves score, or the plugin raises."""
        if self._mover is None:
            return [0.0] * len(internal)
        try:
            shares = self._mover[1].outlink_scores(score, internal, total)
            if len(shares) != len(internal):
                raise ValueError(f"{len(shares)} shares for {len(internal)} links")
            return shares
        except Exception as error:  # noqa: BLE001  a plugin's fault costs this page's shares
            self.failed(self._mover[0], "a page's outlinks", error)
            return [0.0] * len(internal)

    def update(self, score: pa.Array, inlink_score: pa.Array) -> pa.Array:
        """New scores from present ones and the aggregate over new inlinks (null where there are none)."""
        if self._mover is None:
            return score
        try:
            return self._mover[1].update(score, inlink_score)
        except Exception as error:  # noqa: BLE001  a plugin's fault leaves these rows' scores
            self.failed(self._mover[0], "a batch of rows", error, len(score))
            return score
