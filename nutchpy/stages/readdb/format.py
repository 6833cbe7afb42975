"""A crawldb row as people and scripts read it: Nutch's text block, JSON object and CSV line.

Nutch's labels come first and mean what they mean there (its "Fetch time" is our ``due_time``); our own
columns follow.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from nutchpy.core.status import Status

_DAY: Final = 86_400
_NUTCH_JSON: Final = {
    "url": "url",
    "statusCode": None,
    "statusName": "status",
    "fetchTime": "due_time",
    "modifiedTime": "modified_time",
    "retriesSinceFetch": "retries",
    "retryIntervalSeconds": "fetch_interval",
    "retryIntervalDays": None,
    "score": "score",
    "signature": "signature",
    "metadata": "metadata",
}
_OURS: Final = (
    "host", "domain", "depth", "http_status", "protocol_status", "etag", "last_modified", "first_seen",
)  # fmt: skip
_CSV_HEADER: Final = (
    "Url", "Status code", "Status name", "Fetch Time", "Modified Time", "Retries since fetch", "Retry interval seconds",
    "Retry interval days", "Score", "Signature", "Metadata",
)  # fmt: skip

Row = Mapping[str, Any]


def text(row: Row) -> str:
    """The block that ``readdb -url`` prints."""
    days = row["fetch_interval"] // _DAY
    lines = [
        f"URL: {row['url']}",
        f"Status: {Status(row['status']).code} ({row['status']})",
        f"Fetch time: {plain(row['due_time'])}",
        f"Modified time: {plain(row['modified_time'])}",
        f"Retries since fetch: {row['retries']}",
        f"Retry interval: {row['fetch_interval']} seconds ({days} days)",
        f"Score: {plain(row['score'])}",
        f"Signature: {plain(row['signature'])}",
        f"Last fetched: {plain(row['fetch_time'])}",
        *(f"{name.replace('_', ' ').capitalize()}: {plain(row[name])}" for name in _OURS if row[name] is not None),
        "Metadata:",
        *(f" \t{key}={value}" for key, value in _pairs(row["metadata"]).items()),
    ]
    return "\n".join(lines) + "\n"


def json_object(row: Row) -> dict[str, Any]:
    """A JSON-ready object with Nutch's keys and then ours."""
    known = {key: plain_json(row[column]) for key, column in _NUTCH_JSON.items() if column}
    known["statusCode"] = Status(row["status"]).code
    known["retryIntervalDays"] = row["fetch_interval"] // _DAY
    known["metadata"] = _pairs(row["metadata"])
    ordered = {key: known[key] for key in _NUTCH_JSON}
    return {**ordered, "lastFetchTime": plain_json(row["fetch_time"]), **{n: plain_json(row[n]) for n in _OURS}}


def json_line(row: Row) -> str:
    """``json_object`` on one line."""
    return json.dumps(json_object(row), ensure_ascii=False)


def csv_header() -> str:
    """The first line of a CSV dump."""
    return _csv([*_CSV_HEADER, "Last fetch time", *_OURS])


def csv_line(row: Row) -> str:
    """One row of a CSV dump; metadata as ``key=value`` pairs joined by ``|||`` (as Nutch joins them)."""
    fields = json_object(row)
    fields["metadata"] = "|||".join(f"{key}={value}" for key, value in fields["metadata"].items())
    return _csv(["" if value is None else value for value in fields.values()])


def plain(value: Any) -> str:
    """A cell as text."""
    found = plain_json(value)
    return "null" if found is None else str(found)


def plain_json(value: Any) -> Any:
    """A cell as JSON has it: times in ISO 8601, bytes in hex."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, bytes):
        return value.hex()
    return value


def _pairs(metadata: Any) -> dict[str, str]:
    return dict(metadata or [])


def _csv(fields: Sequence[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()
