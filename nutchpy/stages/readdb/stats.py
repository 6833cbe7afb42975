"""readdb -stats: the crawldb in numbers, under the labels Nutch prints, which scripts grep for (CrawlDbReader.java)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from nutchpy.core.status import Status
from nutchpy.engine.base import Engine, Input, statement


def collect(engine: Engine, crawldb: Input, quantiles: Sequence[float], by_host: bool) -> dict[str, Any]:
    """The numbers as plain values: ``total``, intervals (s), due times, score figures, counts by retry and status."""
    inputs = {"crawldb": crawldb}
    figures = engine.table(statement(__package__, "stats"), inputs, {"quantiles": list(quantiles)}).to_pylist()[0]
    counts = engine.table(statement(__package__, "counts"), inputs, {"by_host": by_host}).to_pylist()
    average_due = figures.pop("average_due")
    values = figures.pop("quantiles") or []
    return {
        **figures,
        "average_due": None if average_due is None else datetime.fromtimestamp(average_due, UTC),
        "quantiles": dict(zip([f"{q:g}" for q in quantiles], values, strict=False)),
        "retries": {int(row["key"]): row["n"] for row in counts if row["kind"] == "retry"},
        "statuses": _by_status(counts),
        "hosts": _by_host(counts) if by_host else {},
    }


def lines(name: str, found: Mapping[str, Any]) -> Iterator[str]:
    """The report as text."""
    yield "CrawlDb statistics start: " + name
    yield "Statistics for CrawlDb: " + name
    yield f"TOTAL urls:\t{found['total']}"
    if found["total"]:
        yield from _figures(found)
    for retries, n in sorted(found["retries"].items()):
        yield f"retry {retries}:\t{n}"
    if found["total"]:
        yield from _scores(found)
    yield from _statuses(found)
    yield "CrawlDb statistics: done"


def _figures(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"shortest fetch interval:\t{_duration(found['shortest_interval'])}"
    yield f"avg fetch interval:\t{_duration(found['average_interval'])}"
    yield f"longest fetch interval:\t{_duration(found['longest_interval'])}"
    yield f"earliest fetch time:\t{_minute(found['earliest_due'])}"
    yield f"avg of fetch times:\t{_minute(found['average_due'])}"
    yield f"latest fetch time:\t{_minute(found['latest_due'])}"


def _scores(found: Mapping[str, Any]) -> Iterator[str]:
    for quantile, value in found["quantiles"].items():
        yield f"score quantile {quantile}:\t{value}"
    yield f"min score:\t{found['min_score']}"
    yield f"avg score:\t{found['average_score']}"
    yield f"max score:\t{found['max_score']}"
    if found["nan_scores"]:
        yield f"scores that are NaN:\t{found['nan_scores']}"


def _statuses(found: Mapping[str, Any]) -> Iterator[str]:
    for status, n in found["statuses"].items():
        yield f"status {Status(status).code} ({status}):\t{n}"
        for host, host_n in found["hosts"].get(status, {}).items():
            yield f"   {host} :\t{host_n}"


def _by_status(counts: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for row in counts:
        if row["kind"] == "status":
            totals[row["key"]] = totals.get(row["key"], 0) + row["n"]
    return dict(sorted(totals.items(), key=lambda item: Status(item[0]).code))


def _by_host(counts: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    hosts: dict[str, dict[str, int]] = {}
    for row in counts:
        if row["kind"] == "status":
            hosts.setdefault(row["key"], {})[row["host"]] = row["n"]
    return hosts


def _duration(seconds: float) -> str:
    """Nutch's form: ``30 days, 00:01:34``, days left out when there are none."""
    whole = timedelta(seconds=int(seconds))
    hours, rest = divmod(whole.seconds, 3600)
    clock = f"{hours:02d}:{rest // 60:02d}:{rest % 60:02d}"
    return f"{whole.days} days, {clock}" if whole.days else clock


def _minute(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:00.000+0000")
