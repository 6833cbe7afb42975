"""page_writer: make the content row of a page worth keeping, and find its MIME type."""

from __future__ import annotations

from nutchpy.core.content import header
from nutchpy.core.mime import mime
from nutchpy.fetcher.item import FetchItem
from nutchpy.fetcher.pipeline import PROCEED, Answer


class PageWriter:
    """``store``: keep bodies; ``headers``: keep response headers; ``magic``: look into bodies for their type."""

    def __init__(self, store: bool, headers: bool, magic: bool) -> None:
        self._store = store
        self._headers = headers
        self._magic = magic

    def handle(self, item: FetchItem, now: float) -> Answer:
        """Always proceeds."""
        output = item.output
        if output is None:
            return PROCEED
        item.content_type = mime(header(output.headers, "content-type"), item.url, output.content, magic=self._magic)
        if self._store:
            item.content = {
                "url": item.url,
                "base_url": item.url,
                "content_type": item.content_type,
                "headers": [{"name": n, "value": v} for n, v in output.headers] if self._headers else [],
                "content": output.content,
                "truncated": output.truncated,
                "fetch_time": item.fetch_time,
            }
        return PROCEED
