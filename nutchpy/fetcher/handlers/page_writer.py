"""page_writer: make the content row of a page worth keeping, and find its MIME type."""

from __future__ import annotations

from typing import Final

from nutchpy.core.content import ProtocolOutput, header
from nutchpy.core.mime import mime
from nutchpy.fetcher.item import FetchItem, Row
from nutchpy.fetcher.pipeline import PROCEED, Answer

_PARSED: Final = frozenset({"content-type", "content-language", "x-robots-tag"})


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
            item.content = content_row(item.url, output, item.content_type, item.fetch_time, headers=self._headers)
        return PROCEED


def content_row(url: str, output: ProtocolOutput, content_type: str, fetch_time: int, *, headers: bool = True) -> Row:
    """The content row of an answer. Without ``headers``, only those that parsing reads."""
    kept = output.headers if headers else [pair for pair in output.headers if pair[0].lower() in _PARSED]
    return {
        "url": url,
        "base_url": url,
        "content_type": content_type,
        "headers": kept,
        "content": output.content,
        "truncated": output.truncated,
        "fetch_time": fetch_time,
        "request_head": output.request_head,
        "response_head": output.response_head if headers else None,
    }
