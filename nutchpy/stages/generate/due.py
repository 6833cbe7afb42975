"""The rows that are due: what the settings ask of a row, as one question to the crawldb; answers counted or ranked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.conf.layers import Conf
from nutchpy.conf.values import nearest
from nutchpy.core.counters import Counters
from nutchpy.core.errors import ConfigError
from nutchpy.core.status import DB_STATUSES
from nutchpy.engine.base import Engine, Files, Inputs, statement
from nutchpy.extension.chains import ScoringFilters
from nutchpy.stages.routed import Routed, routed
from nutchpy.storage.database import Generation
from nutchpy.storage.schema import TABLES, Column, Table

_LOOKED, _REASONS, _DUE, _DUE_ROWS, _LEAST, _RANKED, _PENDING = (
    statement(__package__, name) for name in ("looked", "reasons", "due", "due_rows", "least", "ranked", "pending")
)
_EXPRESSION: Final = "(true)"
_CRAWLDB: Final = TABLES["crawldb"]
_CHUNK: Final = 8_192
_VALUED: Final = Table(
    "due",
    "Rows due, with what a scoring filter ranks them by.",
    (*_CRAWLDB.columns[:3], Column("sort_value", pa.float32(), "What it is ranked by.")),
)
UNLIMITED: Final = 2**62
_NONE: Final = float("-inf")


@dataclass(frozen=True)
class Reasons:
    """Why rows are not listed."""

    counts: Mapping[str, int]
    """Reason → rows; ``due`` for those that nothing speaks against."""
    next_due: datetime | None
    """When the first row will be due that only waits for its time."""

    @property
    def rows(self) -> int:
        """All rows of the crawldb."""
        return sum(self.counts.values())

    def counters(self) -> Counters:
        """The same as counters."""
        counters = Counters({"rows": self.rows, "due": self.rows - self.counts.get("not_due", 0)})
        for reason, count in self.counts.items():
            if reason != "due":
                counters.add(reason if reason in ("not_due", "pending") else f"skipped:{reason}", count)
        return counters


@dataclass(frozen=True)
class Due:
    """Asks a crawldb for its rows due; ``params`` as looked.sql names them."""

    engine: Engine
    inputs: Inputs
    params: Mapping[str, Any]
    looked: str
    scoring: ScoringFilters

    @classmethod
    def of(
        cls, conf: Conf, engine: Engine, crawldb: Generation, pending: list[Path], now: datetime, add_days: float
    ) -> Due:
        """The question that the settings ask, at an instant."""
        until = now + timedelta(days=add_days)
        max_interval = conf.integer("db.fetch.interval.max")
        params = {
            "now": now,
            "until": until,
            "far": until + timedelta(seconds=max_interval),
            "max_interval": max_interval,
            "window": conf.integer("generate.due.window"),
            "status": _status(conf),
            "min_score": conf.number("generate.min.score"),
            "min_interval": conf.integer("generate.min.interval"),
        }
        inputs = {
            "crawldb": Files(_CRAWLDB, crawldb.parts),
            "pending": Files(TABLES["crawl_generate"], pending, with_path=True),
        }
        return cls(engine, inputs, params, _with_expression(conf.text("generate.expr"), engine), ScoringFilters(conf))

    def reasons(self) -> Reasons:
        """All rows by reason."""
        found = self.engine.table(*self._asked(self.looked + _REASONS, self.params)).to_pylist()
        counts = {row["reason"] or "due": row["n"] for row in found}
        return Reasons(counts, next((row["next_due"] for row in found if row["reason"] == "not_due"), None))

    def pending(self) -> Mapping[str, int]:
        """Path of a fetch list → how many rows due it holds back."""
        found = self.engine.table(*self._asked(self.looked + _PENDING, self.params)).to_pylist()
        return {row["path"]: row["n"] for row in found}

    def ranked(self, first: int, folder: Path, counters: Counters) -> Iterator[pa.RecordBatch]:
        """``url, host, domain, sort_value`` best first, ties by URL. ``first`` is how many will probably do."""
        if self._ranks_by_score():
            yield from _windows(self.engine, self.looked + _DUE, self.inputs, self.params, first)
            return
        with routed(folder, _VALUED, 1) as valued:
            self._value(valued, counters)
            yield from _windows(self.engine, "", {"due": valued.files()}, {}, first)

    def _ranks_by_score(self) -> bool:
        """Whether the scoring filters hand back the score column itself."""
        batch = next(self._rows(), None)
        if batch is None:
            return True
        value = self.scoring.sort_value(batch)
        return value.equals(batch.column("score")) and _address(value) == _address(batch.column("score"))

    def _value(self, valued: Routed, counters: Counters) -> None:
        """Rank every row due by what the scoring filters say."""
        for batch in self._rows():
            value = self.scoring.sort_value(batch).cast(pa.float32())
            rows = pa.table({name: batch.column(name) for name in _VALUED.schema.names[:3]} | {"sort_value": value})
            wanted = rows.filter(pc.greater_equal(value, self.params["min_score"]))
            counters.add("skipped:min_score", rows.num_rows - wanted.num_rows)
            valued.write(wanted)

    def _rows(self) -> Iterator[pa.RecordBatch]:
        """The rows due, whole, whatever their score."""
        params = {**self.params, "min_score": float("-inf")}
        for batch in self.engine.read(*self._asked(self.looked + _DUE_ROWS, params)):
            yield batch.select(_CRAWLDB.schema.names)

    def _asked(self, sql: str, params: Mapping[str, Any]) -> tuple[str, Inputs, Mapping[str, Any]]:
        return sql, self.inputs, _used(sql, params)


def _windows(
    engine: Engine, due: str, inputs: Inputs, params: Mapping[str, Any], first: int
) -> Iterator[pa.RecordBatch]:
    """Ranked rows, a window at a time: a limit is many times cheaper than to sort all for the sake of the first few.

    ``due`` are the statement's words that make the relation of that name, when it is none of the inputs.
    """
    asked = _used(due + _LEAST, {**params, "size": first})
    least = engine.table(due + _LEAST, inputs, asked)["least"][0].as_py()
    least = _NONE if least is None else least
    after: dict[str, Any] = {"resumed": False, "after_value": 0.0, "after_url": "", "least": least}
    size = first
    while True:
        count = 0
        asked = _used(due + _RANKED, {**params, **after, "size": size})
        for batch in engine.read(due + _RANKED, inputs, asked):
            count += batch.num_rows
            yield from (batch.slice(start, _CHUNK) for start in range(0, batch.num_rows, _CHUNK))
            last = batch.slice(batch.num_rows - 1).to_pylist()[0]
            after = {"resumed": True, "after_value": last["sort_value"], "after_url": last["url"], "least": _NONE}
        if count < size:
            return
        size *= 4


def _used(sql: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if f"${name}" in sql}


def _status(conf: Conf) -> str:
    status = conf.text("generate.restrict.status")
    if status and status not in DB_STATUSES:
        near = nearest(status, [known.value for known in DB_STATUSES])
        hint = f"; did you mean {near!r}?" if near else ""
        raise ConfigError(f"generate.restrict.status: there is no status {status!r}{hint}")
    return status


def _with_expression(text: str, engine: Engine) -> str:
    """The question with ``-expr`` in its place."""
    return _LOOKED.replace(_EXPRESSION, engine.expression(text, _CRAWLDB)) if text.strip() else _LOOKED


def _address(column: pa.Array) -> int:
    address: int = column.buffers()[1].address
    return address
