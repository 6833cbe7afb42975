"""redirect: where a redirect leads, in the crawl's own terms. Following it is the sink's business."""

from __future__ import annotations

from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.core.redirects import redirect
from nutchpy.fetcher.item import FetchItem
from nutchpy.fetcher.pipeline import PROCEED, Answer
from nutchpy.fetcher.redirects import RedirectJudge


class RedirectHandler:
    """Asks the judge about the Location of a redirect."""

    def __init__(self, judge: RedirectJudge) -> None:
        self._judge = judge

    def handle(self, item: FetchItem, now: float) -> Answer:
        """Always proceeds; ``item.redirect`` is set when the page has moved."""
        output = item.output
        if output is not None and output.protocol_status in (ProtocolStatus.MOVED, ProtocolStatus.TEMP_MOVED):
            target = redirect(output.http_status or 0, output.headers, item.url)
            temporary = output.protocol_status is ProtocolStatus.TEMP_MOVED
            item.redirect = self._judge.judge(item, target, temporary)
        return PROCEED
