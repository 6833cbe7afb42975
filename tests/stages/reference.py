"""updatedb in a few lines of Python, one URL after the other, for the default schedule and OPIC: what tests compare."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

Row = dict[str, Any]
ANSWERED = {"fetch_success": "db_fetched", "fetch_notmodified": "db_notmodified"}
ANSWERED |= {f"fetch_redir_{kind}": f"db_redir_{kind}" for kind in ("temp", "perm")}
FAILED = {"fetch_gone": "db_gone", "fetch_retry": "db_gone", "parse_failed": "db_parse_failed"}
NEVER = datetime.min.replace(tzinfo=UTC)
NEW: Row = {"status": "db_unfetched", "fetch_time": None, "modified_time": None, "retries": 0}
NEW |= {"signature": None, "http_status": None, "protocol_status": None}


@dataclass(frozen=True)
class Setup:
    """Settings; ``interval`` and ``longest`` are db.fetch.interval.default and .max."""

    retry_max: int = 3
    max_inlinks: int = 10_000
    interval: int = 2_592_000
    longest: int = 7_776_000
    additions: bool = True
    purge_gone: bool = False


def update(db: dict[str, Row], attempts: list[Row], links: list[Row], now: datetime, setup: Setup) -> dict[str, Row]:
    """The database after some segments: ``attempts`` (with ``new_signature``) and ``links`` of all of them."""
    seen = {url: row["fetch_time"] or NEVER for url, row in db.items()}
    news = sorted((a for a in attempts if seen.get(a["url"], NEVER) < a["fetch_time"]), key=lambda a: a["fetch_time"])
    latest: dict[str, Row] = {}
    for a in news:
        before = latest.get(a["url"], {}).get("http_status")
        latest[a["url"]] = {**a, "http_status": before if a["http_status"] is None else a["http_status"]}
    incoming: dict[str, list[Row]] = {}
    for link in [*links, *({**a, "url": a["redirect_to"]} for a in news if a["redirect_to"])]:
        incoming.setdefault(link["url"], []).append(link)
    found = dict(db)
    for url in latest.keys() | incoming.keys():
        if url in db or setup.additions:
            found[url] = changed(url, db.get(url), latest.get(url), incoming.get(url, []), now, setup)
    return {url: row for url, row in found.items() if not (setup.purge_gone and row["status"] == "db_gone")}


def changed(url: str, old: Row | None, attempt: Row | None, links: list[Row], now: datetime, setup: Setup) -> Row:
    row = old or {**NEW, "url": url, "due_time": now, "first_seen": now, "fetch_interval": setup.interval}
    if not old:
        row["score"] = attempt["score"] if attempt and not links else 0.0
        row["first_seen"] = min(now, attempt["fetch_time"]) if attempt else now
        row["depth"] = (attempt or min(links, key=lambda link: link["depth"]))["depth"]
    row = {**row, **(after(attempt, setup) if attempt else {})}
    row["score"] += sum(sorted((link["score"] for link in links), reverse=True)[: setup.max_inlinks])
    row["depth"] = min([row["depth"], *(link["depth"] for link in links)])
    if row["fetch_time"] is None:
        row["fetch_interval"] = min(
            row["fetch_interval"], *(link.get("fetch_interval", 2**31) for link in links), 2**31
        )
    return row


def after(a: Row, setup: Setup) -> Row:
    fetched, before, old, new = a["fetch_time"], a["fetch_interval"], a["signature"], a["new_signature"]
    row = {name: a[name] for name in ("fetch_time", "protocol_status", "signature", "modified_time", "fetch_interval")}
    row |= {"retries": a["retries"] + 1 if a["status"] == "fetch_retry" else 0}
    row |= {} if a["http_status"] is None else {"http_status": a["http_status"]}
    if 0 < row["retries"] < setup.retry_max:
        return row | {"status": "db_unfetched", "due_time": fetched + timedelta(days=1)}
    if a["status"] in FAILED:
        grown = int((before * 1.5 if before * 1.5 < setup.longest else setup.longest * 0.9) + 0.5)
        due = fetched + timedelta(seconds=grown)
        return row | {"status": FAILED[a["status"]], "fetch_interval": grown, "due_time": due, "modified_time": None}
    row |= {"status": ANSWERED[a["status"]], "due_time": fetched + timedelta(seconds=before)}
    if a["status"] == "fetch_success":
        same = old == new and None not in (new, a["modified_time"])
        row |= {"signature": new, **({"status": "db_notmodified"} if same else {"modified_time": fetched})}
    elif a["status"] == "fetch_notmodified":
        modified = a["modified_time"] or fetched
        row["modified_time"] = None if row["due_time"] - modified > timedelta(seconds=setup.longest) else modified
    else:
        row |= {"signature": None, "modified_time": None}
    if before > setup.longest:
        row |= {**NEW, "http_status": a["http_status"], "protocol_status": a["protocol_status"], "fetch_time": fetched}
        row["fetch_interval"] = int(setup.longest * 0.9 + 0.5)
        row["due_time"] = min(row["due_time"], fetched + timedelta(seconds=row["fetch_interval"]))
    return row
