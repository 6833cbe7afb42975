"""For plugin authors: a fetch schedule written for one row at a time instead of for a batch.

Costs some 5 µs a fetched row, which is little beside a fetch; the batch form (points.FetchSchedule) costs a tenth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import pyarrow as pa

_COLUMNS: Final = ("host", "fetch_time", "fetch_interval", "modified_time", "state", "metadata")


@dataclass(frozen=True, slots=True)
class FetchedRow:
    """What is known when a page was fetched. ``state``: ``modified``, ``notmodified`` or ``unknown``."""

    host: str
    fetch_time: datetime
    fetch_interval: int
    modified_time: datetime | None
    state: str
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Verdict:
    """When the page is due again. ``modified_time``: when it was last seen changed."""

    fetch_interval: int
    due_time: datetime
    modified_time: datetime | None


class RowFetchSchedule:
    """Base of such a schedule: give it ``from_conf`` and ``row``."""

    def row(self, fetched: FetchedRow) -> Verdict:
        """The schedule of one fetched row."""
        raise TypeError(f"{type(self).__name__} does not say what to do with a row")

    def schedule(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """See points.FetchSchedule."""
        columns = [batch[name].to_pylist() for name in _COLUMNS]
        verdicts = [
            self.row(FetchedRow(host, fetched, interval, modified, state, dict(metadata or ())))
            for host, fetched, interval, modified, state, metadata in zip(*columns, strict=True)
        ]
        time = batch["fetch_time"].type
        return pa.record_batch(
            {
                "fetch_interval": pa.array([verdict.fetch_interval for verdict in verdicts], pa.int32()),
                "due_time": pa.array([verdict.due_time for verdict in verdicts], time),
                "modified_time": pa.array([verdict.modified_time for verdict in verdicts], time),
            }
        )
