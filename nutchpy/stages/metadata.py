"""A row's metadata when news come: old pairs, overlaid by the attempt's, then by what parsing found.

Links fill in what is still missing, the best link first, so that it does not matter in which order they are applied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from nutchpy.storage.schema import METADATA

Pairs: TypeAlias = "Sequence[tuple[str, str]] | None"
Layers: TypeAlias = "Sequence[Mapping[str, Any]] | None"
"""Maps with a ``rank``."""


def merged(old: pa.Array, attempt: pa.Array | None, parse: pa.Array, links: pa.Array) -> pa.Array:
    """The new column. Costs nothing while there are no news."""
    if all(column is None or column.null_count == len(column) for column in (attempt, parse, links)):
        return old
    columns = [[None] * len(old) if column is None else column.to_pylist() for column in (old, attempt, parse, links)]
    return pa.array([merged_pairs(*row) for row in zip(*columns, strict=True)], METADATA)


def merged_pairs(old: Pairs, attempt: Pairs, parse: Layers, links: Layers) -> Pairs:
    """One row's pairs. A parse layer of higher rank wins, a link of lower (rank is its score, negated)."""
    if not (attempt or parse or links):
        return old
    found: dict[str, str] = {}
    for layer in sorted(links or (), key=_by_rank, reverse=True):
        found.update(layer["metadata"])
    found.update(old or ())
    found.update(attempt or ())
    for layer in sorted(parse or (), key=_by_rank):
        found.update(layer["metadata"])
    return sorted(found.items())


def _by_rank(layer: Mapping[str, Any]) -> tuple[float, list[tuple[str, str]]]:
    """Layers of one rank go by what they say, so that nothing depends on how threads ran."""
    return layer["rank"], sorted(layer["metadata"])
