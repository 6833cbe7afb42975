"""fetch, given URLs in place of a segment: what would be stored of them, in words or as JSON."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from nutchpy.core.counters import Counters
from nutchpy.fetcher.item import Row
from nutchpy.fetcher.urls import Fetched, fetch_urls
from nutchpy.stages.context import Context, Outcome

_TIMES = ("fetch_time", "modified_time", "retry_after")
_INNER = ("bucket_key", "domain", "host", "score", "depth", "retries", "fetch_interval", "signature", "metadata")
"""Columns that tell of the crawldb row, which there is none of."""


def run(urls: Sequence[str], ctx: Context, *, head: bool, body: bool) -> Outcome:
    """Fetch them; exit code 0 however they end, since that is what is shown."""
    conf = ctx.conf.with_values({"fetcher.parse": False, "store.http.headers": True, "store.http.request": True})
    fetched, counters = fetch_urls(conf, urls, ctx.stop)
    shown = [_shown(one.fetch) for one in fetched]
    data = [{**row, "content": _content(one.content)} for row, one in zip(shown, fetched, strict=True)]
    return Outcome(
        counters,
        lines=_lines(fetched, shown, head=head, body=body),
        data=iter(data),
        summary=_not_attempted(urls, fetched, counters),
        exit_code=0 if ctx.stop.reason is None else 5,
    )


def _not_attempted(urls: Sequence[str], fetched: Sequence[Fetched], counters: Counters) -> list[str]:
    reasons = [name.partition(":")[2] for name in counters if name.startswith("dropped:")]
    return [f"{len(set(urls))} URLs given, {len(fetched)} attempted; left: {', '.join(reasons)}"] if reasons else []


def _lines(fetched: Sequence[Fetched], shown: Sequence[Row], *, head: bool, body: bool) -> Iterator[str]:
    for one, row in zip(fetched, shown, strict=True):
        content = one.content
        if head and content is not None:
            yield from _text(content["request_head"] or b"").splitlines()
            yield from _text(content["response_head"] or b"").splitlines()
        if body and content is not None:
            yield _text(content["content"])
        if not (head or body):
            yield from _in_words(row, content)
        elif content is None:
            yield _visible(f"{row['url']}: {row['protocol_status']} {row['message'] or ''}".rstrip())


def _in_words(row: Row, content: Row | None) -> Iterator[str]:
    yield from (_visible(f"{name}: {value}") for name, value in row.items() if value is not None)
    if content is not None:
        yield from (_visible(f"  {_whole(name)}: {_whole(value)}") for name, value in content["headers"])
        yield f"content: {len(content['content'])} bytes (--head and --body print what they are)"
    yield ""


def _shown(row: Row) -> Row:
    """A crawl_fetch row for people."""
    kept = {"url": row["url"], **{name: value for name, value in row.items() if name not in _INNER}}
    for name in _TIMES:
        if kept.get(name) is not None:
            kept[name] = datetime.fromtimestamp(kept[name] / 1e6, UTC).isoformat()
    return {name: str(value) if name in ("status", "protocol_status") else value for name, value in kept.items()}


def _content(content: Row | None) -> dict[str, Any] | None:
    """A content row as JSON can hold it: bodies as text when they are UTF-8, else in base64."""
    if content is None:
        return None
    body: bytes = content["content"]
    try:
        stored = {"text": body.decode("utf-8")}
    except UnicodeDecodeError:
        stored = {"base64": base64.b64encode(body).decode()}
    heads = {name: _readable(content[name] or b"") for name in ("request_head", "response_head")}
    return {
        "content_type": content["content_type"],
        "headers": [[_whole(name), _whole(value)] for name, value in content["headers"]],
        "truncated": content["truncated"],
        **heads,
        **stored,
    }


def _text(data: bytes) -> str:
    """Bytes that stdout turns back into the same."""
    return data.decode("utf-8", "surrogateescape")


def _readable(data: bytes) -> str:
    """Bytes of a head as the text they most likely are."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _whole(text: str) -> str:
    """A text that was made of bytes which are no UTF-8, as what they most likely are."""
    return text if text.isascii() else _readable(text.encode("utf-8", "surrogateescape"))


def _visible(text: str) -> str:
    """A server's control characters do nothing to a terminal."""
    return (
        text
        if text.isprintable()
        else "".join(c if c >= " " and not "\x7f" <= c <= "\x9f" else _escaped(c) for c in text)
    )


def _escaped(control: str) -> str:
    return "\t" if control == "\t" else f"\\x{ord(control):02x}"
