"""protocol: request the page, and free the queue's slot the moment the answer is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from typing import Final

from nutchpy.core.content import ProtocolOutput
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.core.status import Status
from nutchpy.fetcher.item import FetchItem, Request, Row, Timeouts
from nutchpy.fetcher.pipeline import PAUSE, PROCEED, Answer, Finish
from nutchpy.fetcher.traffic import Traffic

_WITH_BODY: Final = frozenset({ProtocolStatus.SUCCESS, ProtocolStatus.MOVED, ProtocolStatus.TEMP_MOVED})
_REDIRECTED: Final = frozenset({Status.DB_REDIR_PERM.value, Status.DB_REDIR_TEMP.value})


@dataclass(frozen=True, slots=True)
class PageSettings:
    """How the pages of one host are requested."""

    timeouts: Timeouts
    content_limit: int
    conditional: bool
    """Send If-None-Match and If-Modified-Since."""
    cookies: bool
    """Send the ``Cookie`` of the row's metadata."""
    decode: bool = True
    """Undo content codings; False keeps bodies as sent."""


class ProtocolHandler:
    """Sends requests by the traffic; ``ended`` hears of each answer before the item goes on."""

    def __init__(
        self,
        traffic: Traffic,
        settings: Callable[[str], PageSettings],
        resume: Callable[[FetchItem], None],
        ended: Callable[[FetchItem, float], None],
    ) -> None:
        self._traffic = traffic
        self._settings = settings
        self._resume = resume
        self._ended = ended

    def handle(self, item: FetchItem, now: float) -> Answer:
        """Proceed with an answer that has a body of interest; others end here."""
        output = item.output
        if output is None:
            self._send(item)
            return PAUSE
        item.token = None
        self._ended(item, now)
        status = output.protocol_status
        if status is ProtocolStatus.NOTMODIFIED and not item.conditional:
            return Finish(ProtocolStatus.BAD_RESPONSE, "304 to a request without conditions")
        return PROCEED if status in _WITH_BODY else Finish(status, output.message)

    def _send(self, item: FetchItem) -> None:
        settings = self._settings(item.host)
        headers = conditions(item.row) if settings.conditional else []
        item.conditional = bool(headers)
        if settings.cookies and item.row.get("metadata"):
            headers += [("Cookie", value) for key, value in item.row["metadata"] if key == "Cookie"]
        request = Request(item.url, headers, settings.timeouts, settings.content_limit, item.ips, settings.decode)
        item.requested = True
        item.token = self._traffic.start(request, lambda output: self._arrived(item, output))

    def _arrived(self, item: FetchItem, output: ProtocolOutput) -> None:
        item.output = output
        self._resume(item)


def conditions(row: Row) -> list[tuple[str, str]]:
    """The headers that ask for a page only if it has changed since its content was last seen."""
    modified = row.get("modified_time")
    if modified is None or row.get("status") in _REDIRECTED:
        return []
    since = row.get("last_modified") or formatdate(modified // 1_000_000, usegmt=True)
    headers = [("If-Modified-Since", since)]
    if row.get("etag"):
        headers.append(("If-None-Match", row["etag"]))
    return headers
