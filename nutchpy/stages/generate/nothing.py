"""What to say when there is nothing to list: how many rows there are, and what each of them waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nutchpy.core.counters import Counters
from nutchpy.stages.generate.due import Reasons
from nutchpy.stages.generate.pending import Pending


def explain(
    crawldb: Path,
    reasons: Reasons,
    filtered: Counters,
    held_back: Mapping[str, int],
    pending: Sequence[Pending],
    expr: str,
) -> str:
    """One line that accounts for every row."""
    if not reasons.rows:
        return f"nothing to list: {crawldb} has no rows; inject some URLs"
    parts = []
    if late := reasons.counts.get("not_due"):
        when = f" (the next at {reasons.next_due:%Y-%m-%d %H:%M:%S} UTC)" if reasons.next_due else ""
        parts.append(f"{late} not yet due{when}")
    parts += [_held(one, held_back) for one in pending if _count(one, held_back)]
    if out := filtered.family("filtered"):
        rules = ", ".join(
            f"{name.partition(':')[2]} {n}" for name, n in filtered.items() if name.startswith("filtered")
        )
        parts.append(f"{out} filtered ({rules})")
    names = {"expr": " ".join(expr.split()), "status": "generate.restrict.status"}
    for reason in ("expr", "status", "min_score", "min_interval"):
        count = reasons.counts.get(reason, 0) + filtered[f"skipped:{reason}"]
        if count:
            parts.append(f"{count} left out by {names.get(reason, 'generate.' + reason.replace('_', '.'))}")
    return f"nothing to list: of {reasons.rows} rows in {crawldb}, {', '.join(parts)}"


def _held(pending: Pending, held_back: Mapping[str, int]) -> str:
    return f"{_count(pending, held_back)} pending in {pending.segment.path} ({pending.state})"


def _count(pending: Pending, held_back: Mapping[str, int]) -> int:
    return sum(held_back.get(str(path), 0) for path in pending.segment.files("crawl_generate"))
