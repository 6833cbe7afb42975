"""A segment's rows about one URL as text, in the order and under the headings of Nutch's SegmentReader.

A record is what all tables say of one URL; tables that are not there yet just have nothing to say.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from nutchpy.engine.base import Engine, Files
from nutchpy.stages.readdb.format import plain, plain_json
from nutchpy.storage.schema import TABLES
from nutchpy.storage.segment import Segment

HEADINGS: Final[Mapping[str, str]] = {
    "crawl_generate": "CrawlDatum (generated)",
    "crawl_fetch": "CrawlDatum (fetched)",
    "content": "Content",
    "crawl_parse": "CrawlDatum (parsed)",
    "parse_data": "ParseData",
    "parse_text": "ParseText",
}

Row = Mapping[str, Any]
Record = tuple[str, Sequence[tuple[str, Row]]]
"""URL, then (table, row) pairs."""

_ORDERED: Final = "select * from rows order by url"
_OF_ONE: Final = "select * from rows where url = $url"


def all_records(engine: Engine, segment: Segment, tables: Sequence[str]) -> Iterator[Record]:
    """Every URL of the segment in order, with what the tables say of it."""
    streams = [_tagged(table, _rows(engine, segment, table)) for table in tables]
    merged = heapq.merge(*streams, key=lambda item: item[1]["url"])
    for url, items in groupby(merged, key=lambda item: str(item[1]["url"])):
        yield url, list(items)


def one_record(engine: Engine, segment: Segment, tables: Sequence[str], url: str) -> Record:
    """What the tables say of one URL."""
    found: list[tuple[str, Row]] = []
    for table in tables:
        rows = engine.table(_OF_ONE, {"rows": Files(TABLES[table], segment.files(table))}, {"url": url})
        found += [(table, row) for row in rows.to_pylist()]
    return url, found


def text(record: Record) -> Iterator[str]:
    """The lines of one record."""
    for table, row in record[1]:
        yield ""
        yield f"{HEADINGS[table]}::"
        yield from _TEXTS.get(table, _fields)(row)


def json_object(record: Record) -> dict[str, Any]:
    """A record as a JSON-ready object: table → rows."""
    tables: dict[str, Any] = {"url": record[0]}
    for table, row in record[1]:
        tables.setdefault(table, []).append({name: _json_cell(name, value) for name, value in row.items()})
    return tables


def _rows(engine: Engine, segment: Segment, table: str) -> Iterator[Row]:
    files = Files(TABLES[table], segment.files(table))
    for batch in engine.read(_ORDERED, {"rows": files}):
        yield from batch.to_pylist()


def _tagged(table: str, rows: Iterable[Row]) -> Iterator[tuple[str, Row]]:
    return ((table, row) for row in rows)


def _fields(row: Row) -> Iterator[str]:
    for name, value in row.items():
        if value is not None and name not in ("url", "metadata"):
            yield f"{name}: {plain(value)}"
    for key, value in row.get("metadata") or []:
        yield f" \t{key}={value}"


def _content(row: Row) -> Iterator[str]:
    yield f"url: {row['url']}"
    yield f"base: {row['base_url']}"
    yield f"contentType: {row['content_type']}"
    if row["truncated"]:
        yield f"truncated: {row['truncated']}"
    yield "metadata: " + " ".join(f"{pair['name']}={pair['value']}" for pair in row["headers"] or [])
    yield "Content:"
    yield row["content"].decode("utf-8", "replace")


def _parse_data(row: Row) -> Iterator[str]:
    yield f"Status: {row['parse_status']}" + (f" ({row['message']})" if row["message"] else "")
    yield f"Title: {row['title']}"
    yield f"Outlinks: {len(row['outlinks'] or [])}"
    for link in row["outlinks"] or []:
        yield f"  outlink: toUrl: {link['url']} anchor: {link['anchor']}"
    for title, name in (("Content Metadata:", "content_meta"), ("Parse Metadata:", "parse_meta")):
        yield title
        yield from (f"  {key} = {value}" for key, value in row[name] or [])


def _parse_text(row: Row) -> Iterator[str]:
    yield row["text"]


_TEXTS: Final = {"content": _content, "parse_data": _parse_data, "parse_text": _parse_text}


def _json_cell(name: str, value: Any) -> Any:
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return dict(value)
    if name == "content":
        return value.decode("utf-8", "replace")
    return plain_json(value)
