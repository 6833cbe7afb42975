"""CrawlDatum: what the crawldb knows of one URL. A frozen value; a change is a new value (``dataclasses.replace``).

Times are aware UTC datetimes with microseconds; intervals are whole seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from nutchpy.core.status import Status


@dataclass(frozen=True, slots=True)
class CrawlDatum:
    """One crawldb row; field for column (docs/tables.md explains each)."""

    url: str
    host: str
    domain: str
    status: Status
    due_time: datetime
    fetch_interval: int
    first_seen: datetime
    fetch_time: datetime | None = None
    modified_time: datetime | None = None
    retries: int = 0
    score: float = 0.0
    signature: bytes | None = None
    depth: int = 0
    http_status: int | None = None
    protocol_status: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
