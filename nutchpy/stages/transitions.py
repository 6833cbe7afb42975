"""The crawldb's state machine: what becomes of a row that was fetched, parsed or linked to. Pure, over Arrow batches.

    attempt                         new status       due after      retries  signature  modified_time
    fetch_success, same signature   db_notmodified   the schedule   0        same       kept
    fetch_success, else             db_fetched       the schedule   0        new        fetch time
    fetch_notmodified               db_notmodified   the schedule   0        kept       kept
    fetch_redir_perm, _temp         db_redir_*       the schedule   0        none       none
    fetch_retry                     db_unfetched     one day        + 1      kept       kept
    fetch_retry, retries used up    db_gone          longer         + 1      kept       none
    fetch_gone                      db_gone          longer         0        kept       none
    parse_failed                    db_parse_failed  longer         0        kept       none

    linked, unknown                 db_unfetched     now            0
    linked, known                   as it was; score, depth and metadata may change

*Longer*: the interval grows by half, up to nine tenths of ``db.fetch.interval.max``. A page whose interval outgrows
that maximum becomes db_unfetched without signature. Where modified_time is none, the next request is unconditional and
its answer counts as changed: the index may have dropped the page meanwhile, so it has to see it again.

The interval, retries, modified time, signature and ETag that an attempt starts from are those it was generated with, so
that several segments, applied together or one by one, in their order, lead to the same row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.conf.layers import Conf
from nutchpy.core.status import Status
from nutchpy.core.urls import registered_domain
from nutchpy.extension.chains import ScoringFilters
from nutchpy.extension.chains.fetch_schedule import Schedule
from nutchpy.extension.columns import after, interval_or_default, whole
from nutchpy.extension.hosts import HostSettings
from nutchpy.stages.metadata import merged
from nutchpy.storage.schema import TABLES, TIME

Column: TypeAlias = Any
"""An Arrow array or scalar; pyarrow's functions take both."""

_CRAWLDB: Final = TABLES["crawldb"].schema.remove_metadata()
_RETRY_SECONDS: Final = 86_400
_GROWTH: Final = 1.5
_SHARE_OF_MAX: Final = 0.9
_GREATEST: Final = 3.4e38
"""Scores are float32; what sums make of them stays finite."""

_ANSWERED: Final = (
    Status.FETCH_SUCCESS,
    Status.FETCH_NOTMODIFIED,
    Status.FETCH_REDIR_PERM,
    Status.FETCH_REDIR_TEMP,
)
_PLAINLY: Final = {
    Status.FETCH_REDIR_PERM: Status.DB_REDIR_PERM,
    Status.FETCH_REDIR_TEMP: Status.DB_REDIR_TEMP,
    Status.FETCH_NOTMODIFIED: Status.DB_NOTMODIFIED,
    Status.FETCH_GONE: Status.DB_GONE,
    Status.PARSE_FAILED: Status.DB_PARSE_FAILED,
    Status.FETCH_RETRY: Status.DB_UNFETCHED,
    Status.FETCH_SUCCESS: Status.DB_FETCHED,
}


@dataclass(frozen=True)
class Rules:
    """The policies and settings that transitions follow."""

    schedule: Schedule
    scoring: ScoringFilters
    settings: HostSettings
    now: datetime
    initial_score: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "initial_score", self.scoring.initial_score())

    @classmethod
    def of(cls, conf: Conf, now: datetime) -> Rules:
        """The rules that the settings describe."""
        return cls(Schedule(conf), ScoringFilters.from_conf(conf), HostSettings(conf), now)


# -- rows that were fetched


def after_attempt(rows: pa.RecordBatch, rules: Rules) -> pa.Table:
    """The crawldb rows that rows lead to which were attempted (columns: ``touched.TOUCHED``), in their order."""
    outcome = _Outcome.of(rows, rules)
    timing = _timing(rows, outcome, rules)
    forced = timing.forced
    status = pc.if_else(forced, Status.DB_UNFETCHED.value, _status(rows, outcome))
    columns = {
        **_identity(rows, rows["attempt_domain"], rules),
        "first_seen": pc.coalesce(rows["first_seen"], _no_later(rows["attempt_fetch_time"], rules.now)),
        "status": status,
        "due_time": timing.due,
        "fetch_time": rows["attempt_fetch_time"],
        "modified_time": pc.if_else(forced, None, timing.modified),
        "retries": _retries(rows, outcome),
        "fetch_interval": timing.interval,
        "score": _score(rows, pc.coalesce(rows["score"], _first_score(rows)), rules),
        "signature": pc.if_else(forced, None, _signature(rows, outcome)),
        "depth": _depth(rows, pc.coalesce(rows["depth"], rows["attempt_depth"])),
        "http_status": pc.coalesce(rows["attempt_http_status"], rows["http_status"]),
        "protocol_status": rows["attempt_protocol_status"],
        **{name: pc.if_else(forced, None, _validator(rows, outcome, name)) for name in ("etag", "last_modified")},
        "metadata": _metadata(rows, rows["attempt_metadata"]),
    }
    return _table(columns)


@dataclass(frozen=True)
class _Outcome:
    """Which rows met which fate; boolean columns."""

    success: Column
    notmodified: Column
    redirected: Column
    answered: Column
    retried: Column
    exhausted: Column
    """Retried once too often."""
    compared: Column
    """Success whose signature can be compared with the one before."""
    same: Column
    """Compared, and found equal."""

    @classmethod
    def of(cls, rows: pa.RecordBatch, rules: Rules) -> _Outcome:
        status = rows["attempt_status"]
        success, retried = pc.equal(status, Status.FETCH_SUCCESS.value), pc.equal(status, Status.FETCH_RETRY.value)
        limit = rules.settings.numbers("db.fetch.retry.max", rows["host"])
        before, new = rows["attempt_signature"], rows["new_signature"]
        seen = pc.and_(pc.and_(pc.is_valid(before), pc.is_valid(new)), pc.is_valid(rows["attempt_modified_time"]))
        compared = pc.and_(success, seen)
        return cls(
            success=success,
            notmodified=pc.equal(status, Status.FETCH_NOTMODIFIED.value),
            redirected=_one_of(status, (Status.FETCH_REDIR_PERM, Status.FETCH_REDIR_TEMP)),
            answered=_one_of(status, _ANSWERED),
            retried=retried,
            exhausted=pc.and_(retried, pc.greater_equal(pc.add(rows["attempt_retries"], 1), limit)),
            compared=compared,
            same=pc.and_(compared, pc.fill_null(pc.equal(before, new), False)),
        )

    @property
    def contentless(self) -> Column:
        """No content stands behind the row any more."""
        return pc.or_(self.redirected, pc.or_(self.exhausted, pc.invert(pc.or_(self.answered, self.retried))))


@dataclass(frozen=True)
class _Timing:
    interval: Column
    due: Column
    modified: Column
    forced: Column
    """Fetched anew, as if never seen."""


def _timing(rows: pa.RecordBatch, outcome: _Outcome, rules: Rules) -> _Timing:
    fetched, host = rows["attempt_fetch_time"], rows["host"]
    longest = rules.settings.numbers("db.fetch.interval.max", host)
    scheduled = _scheduled(rows, outcome, rules)
    before = whole(interval_or_default(rows["attempt_fetch_interval"], host, rules.settings))
    grown = _grown(before, longest)
    again = pc.and_(outcome.retried, pc.invert(outcome.exhausted))
    interval = pc.if_else(outcome.answered, scheduled["fetch_interval"], grown)
    interval = pc.if_else(again, before, interval)
    due = pc.if_else(outcome.answered, scheduled["due_time"], after(fetched, grown))
    due = pc.if_else(again, after(fetched, pa.scalar(_RETRY_SECONDS)), due)
    forced = pc.and_(outcome.answered, pc.greater(interval.cast(pa.float64()), longest))
    at_most = whole(pc.multiply(longest, _SHARE_OF_MAX))
    interval = pc.if_else(forced, at_most, interval)
    latest = after(fetched, at_most)
    due = pc.if_else(pc.and_(forced, pc.greater(due, latest)), latest, due)
    return _Timing(interval, due, _modified(rows, outcome, scheduled["modified_time"], due, longest), forced)


def _scheduled(rows: pa.RecordBatch, outcome: _Outcome, rules: Rules) -> pa.Table:
    """What the schedule says of the rows that were answered; null for the others."""
    states = pc.case_when(
        pc.make_struct(pc.or_(outcome.notmodified, outcome.same), outcome.compared),
        "notmodified",
        "modified",
        "unknown",
    )
    first_seen = pc.and_(outcome.success, pc.invert(outcome.compared))
    question = pa.record_batch(
        {
            "host": rows["host"],
            "fetch_time": rows["attempt_fetch_time"],
            "fetch_interval": rows["attempt_fetch_interval"],
            "modified_time": pc.if_else(first_seen, None, rows["attempt_modified_time"]),
            "state": _full(states, rows),
            "metadata": rows["attempt_metadata"],
        }
    )
    answer = rules.schedule.schedule(question.filter(outcome.answered))
    places = pc.if_else(outcome.answered, pc.subtract(pc.cumulative_sum(outcome.answered.cast(pa.int64())), 1), None)
    return pa.table(answer).take(places)


def _modified(rows: pa.RecordBatch, outcome: _Outcome, scheduled: Column, due: Column, longest: Column) -> Column:
    """When the content was last seen changed. None makes the next request unconditional: also when it would otherwise
    happen that a body is not sent for longer than ``db.fetch.interval.max`` (old segments get deleted)."""
    modified = pc.if_else(outcome.answered, scheduled, rows["attempt_modified_time"])
    age = pc.subtract(due.cast(pa.int64()), modified.cast(pa.int64()))
    stale = pc.and_(outcome.notmodified, pc.greater(age.cast(pa.float64()), pc.multiply(longest, 1e6)))
    return pc.if_else(pc.or_(outcome.contentless, pc.fill_null(stale, False)), None, modified)


def _status(rows: pa.RecordBatch, outcome: _Outcome) -> Column:
    names = pa.array([status.value for status in _PLAINLY])
    values = pa.array([status.value for status in _PLAINLY.values()])
    plainly = values.take(pc.index_in(rows["attempt_status"], names))
    plainly = pc.if_else(outcome.exhausted, Status.DB_GONE.value, plainly)
    return pc.if_else(outcome.same, Status.DB_NOTMODIFIED.value, plainly)


def _retries(rows: pa.RecordBatch, outcome: _Outcome) -> Column:
    return pc.if_else(outcome.retried, pc.add(rows["attempt_retries"], 1), 0)


def _signature(rows: pa.RecordBatch, outcome: _Outcome) -> Column:
    seen = pc.if_else(outcome.success, rows["new_signature"], rows["attempt_signature"])
    return pc.if_else(outcome.redirected, None, seen)


def _validator(rows: pa.RecordBatch, outcome: _Outcome, name: str) -> Column:
    """ETag or Last-Modified of the content that the row stands for: of a failed attempt, what it was generated with."""
    return pc.if_else(outcome.contentless, None, rows[f"attempt_{name}"])


# -- rows that were not


def after_news(rows: pa.RecordBatch, rules: Rules) -> pa.Table:
    """The crawldb rows that other touched rows lead to (columns: ``touched.NEWS``), in their order."""
    known = rows["known"]
    domains = pc.if_else(known, None, _domains(rows["host"]))
    columns = {
        **{name: rows[name] for name in _CRAWLDB.names},
        **_identity(rows, domains, rules),
        "status": pc.coalesce(rows["status"], Status.DB_UNFETCHED.value),
        "due_time": pc.coalesce(rows["due_time"], _instant(rules.now)),
        "retries": pc.coalesce(rows["retries"], 0),
        **_after_links(rows, rules),
        "metadata": _metadata(rows, None),
    }
    return _table(columns)


def relinked(rows: pa.RecordBatch, rules: Rules) -> dict[str, Column]:
    """Of known rows of which nothing is new but links to them: the columns that change, as ``after_news`` has them."""
    return {name: column.cast(_CRAWLDB.field(name).type) for name, column in _after_links(rows, rules).items()}


def _after_links(rows: pa.RecordBatch, rules: Rules) -> dict[str, Column]:
    default = whole(rules.settings.numbers("db.fetch.interval.default", rows["host"]))
    interval = pc.coalesce(rows["fetch_interval"], default)
    brought = pc.if_else(pc.is_null(rows["fetch_time"]), rows["inlink_interval"], None)
    return {
        "fetch_interval": pc.min_element_wise(interval, brought),
        "score": _score(rows, pc.coalesce(rows["score"], rules.initial_score), rules),
        "depth": _depth(rows, rows["depth"]),
    }


def _domains(hosts: pa.Array) -> pa.Array:
    encoded = hosts.dictionary_encode()
    domains = pa.array([registered_domain(host) for host in encoded.dictionary.to_pylist()], pa.string())
    return domains.take(encoded.indices)


# -- columns of both


def _identity(rows: pa.RecordBatch, domains: Column, rules: Rules) -> dict[str, Column]:
    return {
        "url": rows["url"],
        "host": rows["host"],
        "domain": pc.coalesce(rows["domain"], domains),
        "first_seen": pc.coalesce(rows["first_seen"], _instant(rules.now)),
    }


def _score(rows: pa.RecordBatch, present: Column, rules: Rules) -> Column:
    present = present.cast(pa.float32())
    new = rules.scoring.update(present, rows["inlink_score"]).cast(pa.float64())
    bounded = pc.max_element_wise(pc.min_element_wise(new, _GREATEST), -_GREATEST)
    return pc.if_else(pc.fill_null(pc.is_nan(new), True), present, bounded.cast(pa.float32()))


def _first_score(rows: pa.RecordBatch) -> Column:
    """Of a URL fetched before the crawldb knew it; the target of a redirect is fed the score it was lent."""
    return pc.if_else(pc.is_valid(rows["inlink_score"]), 0.0, rows["attempt_score"])


def _depth(rows: pa.RecordBatch, present: Column) -> Column:
    return pc.min_element_wise(present, rows["inlink_depth"])


def _metadata(rows: pa.RecordBatch, attempt: Column | None) -> pa.Array:
    return merged(rows["metadata"], attempt, rows["parse_metadata"], rows["inlink_metadata"])


# -- arithmetic


def _one_of(column: pa.Array, statuses: Iterable[Status]) -> Column:
    return pc.is_in(column, value_set=pa.array([status.value for status in statuses]))


def _grown(interval: Column, longest: Column) -> Column:
    grown = pc.multiply(interval.cast(pa.float64()), _GROWTH)
    return whole(pc.if_else(pc.less(grown, longest), grown, pc.multiply(longest, _SHARE_OF_MAX)))


def _instant(now: datetime) -> pa.Scalar:
    return pa.scalar(now, TIME)


def _no_later(times: Column, now: datetime) -> Column:
    return pc.if_else(pc.less(times, _instant(now)), times, _instant(now))


def _full(column: Column, rows: pa.RecordBatch) -> pa.Array:
    """An array where constant folding made a scalar of it."""
    return pa.repeat(column, rows.num_rows) if isinstance(column, pa.Scalar) else column


def _table(columns: Mapping[str, Column]) -> pa.Table:
    length = len(columns["url"])
    arrays = [pa.repeat(c, length) if isinstance(c := columns[name], pa.Scalar) else c for name in _CRAWLDB.names]
    return pa.table([array.cast(kind) for array, kind in zip(arrays, _CRAWLDB.types, strict=True)], schema=_CRAWLDB)
