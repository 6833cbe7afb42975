"""The states of a URL: database, fetch and feed statuses, by Nutch's names and numbers.

Tables hold the names; the numbers appear only where Nutch prints them (``readdb -stats``).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Status(StrEnum):
    """A CrawlDatum status. ``db_*`` stand in the crawldb, ``fetch_*`` in crawl_fetch, the rest in crawl_parse."""

    DB_UNFETCHED = "db_unfetched"
    DB_FETCHED = "db_fetched"
    DB_GONE = "db_gone"
    DB_REDIR_TEMP = "db_redir_temp"
    DB_REDIR_PERM = "db_redir_perm"
    DB_NOTMODIFIED = "db_notmodified"
    DB_DUPLICATE = "db_duplicate"
    DB_ORPHAN = "db_orphan"
    DB_PARSE_FAILED = "db_parse_failed"
    FETCH_SUCCESS = "fetch_success"
    FETCH_RETRY = "fetch_retry"
    FETCH_REDIR_TEMP = "fetch_redir_temp"
    FETCH_REDIR_PERM = "fetch_redir_perm"
    FETCH_GONE = "fetch_gone"
    FETCH_NOTMODIFIED = "fetch_notmodified"
    SIGNATURE = "signature"
    INJECTED = "injected"
    LINKED = "linked"
    PARSE_METADATA = "parse_metadata"
    PARSE_FAILED = "parse_failed"

    @property
    def code(self) -> int:
        """Nutch's number for this status (CrawlDatum.java)."""
        return _CODES[self]


_CODES: Final[dict[Status, int]] = {
    Status.DB_UNFETCHED: 1,
    Status.DB_FETCHED: 2,
    Status.DB_GONE: 3,
    Status.DB_REDIR_TEMP: 4,
    Status.DB_REDIR_PERM: 5,
    Status.DB_NOTMODIFIED: 6,
    Status.DB_DUPLICATE: 7,
    Status.DB_ORPHAN: 8,
    Status.DB_PARSE_FAILED: 9,
    Status.FETCH_SUCCESS: 33,
    Status.FETCH_RETRY: 34,
    Status.FETCH_REDIR_TEMP: 35,
    Status.FETCH_REDIR_PERM: 36,
    Status.FETCH_GONE: 37,
    Status.FETCH_NOTMODIFIED: 38,
    Status.SIGNATURE: 65,
    Status.INJECTED: 66,
    Status.LINKED: 67,
    Status.PARSE_METADATA: 68,
    Status.PARSE_FAILED: 69,
}

DB_STATUSES: Final[tuple[Status, ...]] = tuple(s for s in Status if s.value.startswith("db_"))
FETCH_STATUSES: Final[tuple[Status, ...]] = (
    *(s for s in Status if s.value.startswith("fetch_")),
    Status.PARSE_FAILED,
)
