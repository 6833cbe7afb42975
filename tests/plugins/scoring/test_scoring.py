"""OPIC and depth."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import ConfigError
from nutchpy.plugins.scoring.depth import DepthScoring
from nutchpy.plugins.scoring.opic import OpicScoring


def opic(**values: Any) -> OpicScoring:
    return OpicScoring.from_conf(
        defaults().with_values({f"db.score.{k.replace('_', '.')}": v for k, v in values.items()})
    )


def test_shares_are_equal_and_add_up() -> None:
    assert opic().outlink_scores(1.0, [True, False, True, True], 9) == [0.25] * 4


def test_factors_for_links_inside_and_outside() -> None:
    # the running Nutch's answer to the same four links with these factors
    assert opic(link_internal=0.5, link_external=2.0).outlink_scores(1.0, [True, True, False, True], 4) == [
        0.125,
        0.125,
        0.5,
        0.125,
    ]


@pytest.mark.parametrize(("total", "share"), [(6, 1 / 6), (4, 0.25), (0, 0.25)])
def test_refused_links_may_take_a_share(total: int, share: float) -> None:
    assert opic(count_filtered=True).outlink_scores(1.0, [True] * 4, total) == [share] * 4


def test_no_links_no_shares() -> None:
    assert opic().outlink_scores(1.0, [], 5) == []
    assert opic(count_filtered=True).outlink_scores(1.0, [], 0) == []


def test_a_page_keeps_its_score_and_gains_from_links() -> None:
    score = opic().update(pa.array([1.0, 0.0, 2.0], pa.float32()), pa.array([0.375, 0.125, None], pa.float64()))
    assert score.to_pylist() == [1.375, 0.125, 2.0]


def test_seeds_and_new_links() -> None:
    assert opic().injected_score(3.0, {}) == 3.0
    assert opic().initial_score() == 0.0
    score = pa.array([1.0], pa.float32())
    assert opic().sort_value(score, pa.record_batch({"score": score})) is score


def depth(order: list[str], levels: int = 4) -> DepthScoring:
    return DepthScoring.from_conf(defaults().with_values({"scoring.filter.order": order, "scoring.depth.max": levels}))


def test_shallow_pages_come_first() -> None:
    score = pa.array([1.0, 1.0, 2.0, 1.0], pa.float32())
    batch = pa.record_batch({"score": score, "depth": pa.array([0, 1, 3, 9], pa.int32())})
    assert depth(["opic", "depth"]).sort_value(score, batch).to_pylist() == [4.0, 3.0, 2.0, 1.0]
    assert depth(["depth"]).sort_value(score, batch).to_pylist() == [4.0, 3.0, 1.0, 1.0]


def test_a_seed_counts_as_depth_one() -> None:
    assert depth(["depth"], 1).max_depth == 0
    assert depth(["depth"], 3).max_depth == 2
    with pytest.raises(ConfigError, match=r"scoring\.depth\.max"):
        depth(["depth"], 0)
