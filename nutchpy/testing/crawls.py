"""Crawls for tests, said in a few words: rows as dicts with only what matters, the rest filled in by the schema.

    db = make_crawldb(tmp_path / "crawldb", ["http://a.test/", {"url": "http://b.test/", "status": "db_fetched"}])
    segment = make_segment(tmp_path / "segments", ["http://a.test/"], db)
    add_fetch(segment, [{"url": "http://a.test/", "status": "fetch_success"}], content={"http://a.test/": b"hi"})
    add_parse(segment, links={"http://a.test/": ["http://c.test/"]}, signatures={"http://a.test/": b"0123456789abcdef"})
    rows = read_db(db)["http://a.test/"]["status"]

A row may be a URL alone. ``host``, ``domain`` and ``bucket_key`` come from the URL; times that may not be null are
``NOW`` (or an hour later for a fetch); other columns that may not be null get a plain default. Keys that are no
columns are refused, so that a typing error cannot make a test pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from nutchpy.core.urls import bucket_key, bucket_of, host_of, registered_domain
from nutchpy.storage import fs
from nutchpy.storage.database import Database, Generation
from nutchpy.storage.parts import PartName, write_part
from nutchpy.storage.schema import TABLES
from nutchpy.storage.segment import Segment, creating, next_name

NOW: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
"""The instant at which the rows of tests enter the crawldb."""
LATER: Final = NOW + timedelta(hours=1)
"""The instant at which the fetches of tests happen."""

Row: TypeAlias = Mapping[str, Any] | str

_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "crawldb": {"status": "db_unfetched", "due_time": NOW, "first_seen": NOW},
    "crawl_generate": {"status": "db_unfetched", "due_time": NOW, "first_seen": NOW},
    "crawl_fetch": {"status": "fetch_success", "fetch_time": LATER},
    "content": {"content_type": "text/html", "headers": [], "content": b"", "fetch_time": LATER},
    "parse_data": {"parse_status": "success", "outlinks": []},
    "crawl_parse": {"kind": "linked", "depth": 1},
    "linkdb": {"inlinks": []},
}
_OUTCOMES: Final = {
    "fetch_success": ("success", 200),
    "fetch_retry": ("timeout", None),
    "fetch_redir_temp": ("temp_moved", 302),
    "fetch_redir_perm": ("moved", 301),
    "fetch_gone": ("notfound", 404),
    "fetch_notmodified": ("notmodified", 304),
    "parse_failed": ("success", 200),
}
INTERVAL: Final = 30 * 86_400
"""Seconds between fetches where a row does not say otherwise (``db.fetch.interval.default``)."""


def rows_of(table: str, rows: Iterable[Row]) -> pa.Table:
    """Rows of one of the tables, as an Arrow table of its schema."""
    declared = TABLES[table]
    full = [_filled(table, {"url": row} if isinstance(row, str) else dict(row)) for row in rows]
    return pa.Table.from_pylist(full, schema=declared.schema.remove_metadata())


def make_crawldb(path: Path, rows: Iterable[Row] = (), buckets: int = 1, now: datetime = NOW) -> Database:
    """A crawldb of these rows, in as many buckets as asked for."""
    return _make_database(Database(path, "crawldb"), rows, buckets, now)


def make_linkdb(path: Path, rows: Iterable[Row] = (), buckets: int = 1, now: datetime = NOW) -> Database:
    """A linkdb of these rows; ``inlinks`` is a list of ``{"from_url": …, "anchor": …}``."""
    return _make_database(Database(path, "linkdb"), rows, buckets, now)


def make_segment(
    folder: Path,
    generated: Iterable[Row] | Sequence[Iterable[Row]] = (),
    crawldb: Database | None = None,
    now: datetime = NOW,
) -> Segment:
    """A segment under ``folder`` with these rows in its one fetch list, or, given lists of rows, in several."""
    lists = [[row] if isinstance(row, (str, Mapping)) else list(row) for row in generated]
    if all(isinstance(row, (str, Mapping)) for row in generated):
        lists = [[row for rows in lists for row in rows]]
    uuid = crawldb.current().meta.uuid if crawldb else None
    with creating(folder, next_name(folder, now), uuid, now) as draft:
        draft.lists = len(lists)
        for number, rows in enumerate(lists):
            listed = [{**_as_dict(row), "list": number} for row in rows]
            write_part(draft.part_path(number), TABLES["crawl_generate"], rows_of("crawl_generate", listed))
    return Segment(draft.final)


def add_fetch(
    segment: Segment,
    rows: Iterable[Row],
    content: Mapping[str, bytes | Mapping[str, Any]] | None = None,
    flush: int = 0,
    number: int = 0,
    state: str = "done",
) -> None:
    """A crawl_fetch part (with its content part, when there are bodies) and the state that fetching is in."""
    name = PartName(number, flush, flush)
    bodies = [
        {"url": url, **(body if isinstance(body, Mapping) else {"content": body})}
        for url, body in (content or {}).items()
    ]
    if bodies:
        add_part(segment, "content", name, bodies)
    add_part(segment, "crawl_fetch", name, rows)
    segment.record("fetch", state=state)


def add_parse(
    segment: Segment,
    signatures: Mapping[str, bytes] | None = None,
    links: Mapping[str, Sequence[Row]] | None = None,
    metadata: Mapping[str, Mapping[str, str]] | None = None,
    flush: int = 0,
    number: int = 0,
    pages: Iterable[Row] | None = None,
    text: Mapping[str, str] | None = None,
) -> None:
    """The parse parts for one flush: crawl_parse, and parse_data and parse_text to go with it.

    ``links`` maps a page to its outlinks: URLs, or rows such as ``{"url": …, "score": 0.5, "anchor": "here"}``.
    ``pages`` are parse_data rows when the defaults made from ``links`` and ``signatures`` will not do.
    """
    name = PartName(number, flush, flush)
    signatures, links = signatures or {}, links or {}
    outlinks = {page: [_as_dict(link) for link in found] for page, found in links.items()}
    if pages is None:
        pages = [_parsed(page, outlinks.get(page, [])) for page in dict.fromkeys([*signatures, *outlinks])]
    add_part(segment, "parse_text", name, [{"url": url, "text": words} for url, words in (text or {}).items()])
    add_part(segment, "parse_data", name, pages)
    feed = [{"url": url, "kind": "signature", "signature": value, "depth": 0} for url, value in signatures.items()]
    feed += [{"url": url, "kind": "metadata", "metadata": pairs, "depth": 0} for url, pairs in (metadata or {}).items()]
    feed += [
        {k: v for k, v in link.items() if k not in ("anchor", "rel")} for page in outlinks.values() for link in page
    ]
    add_part(segment, "crawl_parse", name, feed)


def add_part(segment: Segment, table: str, name: PartName, rows: Iterable[Row]) -> Path:
    """One part of a segment's table, under a name of your choice."""
    found = rows_of(table, rows)
    if "bucket_key" in found.column_names:
        found = found.sort_by([("bucket_key", "ascending"), ("url", "ascending")])
    return write_part(segment.path / table / str(name), TABLES[table], found)


def sign(database: Database) -> None:
    """Let a database take its files, some of which a test has changed, for what was written."""
    sums = {part.name: fs.sha256(part) for part in database.current().parts}
    with database.locked():
        database.amend(lambda meta: replace(meta, sums=sums))


def read_db(database: Database | Generation) -> dict[str, dict[str, Any]]:
    """URL → row of a database's present generation; a URL that stands there twice fails."""
    generation = database.current() if isinstance(database, Database) else database
    rows = [row for part in generation.parts for row in _rows(part)]
    found = {row["url"]: row for row in rows}
    assert len(found) == len(rows), "a URL has two rows"
    return found


def read_table(segment: Segment, table: str) -> list[dict[str, Any]]:
    """All rows of a segment's table, in the order of its parts."""
    return [row for path in segment.files(table) for row in _rows(path)]


def without_times(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Rows of ``read_db`` fit to compare two crawls that ran at different times."""
    times = {"due_time", "fetch_time", "modified_time", "first_seen"}
    return {url: {k: v for k, v in row.items() if k not in times} for url, row in rows.items()}


# -- private, in calling order


def _filled(table: str, row: dict[str, Any]) -> dict[str, Any]:
    declared = TABLES[table]
    unknown = sorted(set(row) - set(declared.schema.names))
    if unknown:
        raise KeyError(f"{table} has no column {', '.join(unknown)}")
    defaults = {**_from_url(row["url"]), **_DEFAULTS.get(table, {}), **_from_status(table, row)}
    filled = {}
    for column in declared.columns:
        fallback = None if column.nullable else defaults.get(column.name, _zero(column.type))
        filled[column.name] = row[column.name] if column.name in row else defaults.get(column.name, fallback)
    return filled


def _from_url(url: str) -> dict[str, Any]:
    host = host_of(url) or ""
    return {
        "host": host,
        "domain": registered_domain(host),
        "bucket_key": bucket_key(host),
        "queue_id": host,
        "base_url": url,
        "fetch_interval": INTERVAL,
    }


def _from_status(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    if table != "crawl_fetch":
        return {}
    protocol_status, http_status = _OUTCOMES[str(row.get("status", "fetch_success"))]
    return {"protocol_status": protocol_status, "http_status": http_status}


def _zero(kind: pa.DataType) -> Any:
    if pa.types.is_string(kind):
        return ""
    return 0 if pa.types.is_integer(kind) or pa.types.is_floating(kind) else None


def _make_database(database: Database, rows: Iterable[Row], buckets: int, now: datetime) -> Database:
    found = rows_of(database.table.name, rows).sort_by([("host", "ascending"), ("url", "ascending")])
    numbers = [bucket_of(bucket_key(host), buckets) for host in found["host"].to_pylist()]
    with database.locked(), database.replacing("test", now, grace=3600) as draft:
        draft.meta = replace(draft.meta, buckets=buckets)
        for bucket in sorted(set(numbers)):
            mine = found.filter(pa.array([number == bucket for number in numbers]))
            write_part(draft.part_path(bucket), database.table, mine)
    return database


def _as_dict(row: Row) -> dict[str, Any]:
    return {"url": row} if isinstance(row, str) else dict(row)


def _parsed(page: str, links: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    outlinks = [{"url": link["url"], "anchor": link.get("anchor", ""), "rel": link.get("rel")} for link in links]
    return {"url": page, "outlinks": outlinks}


def _rows(path: Path) -> list[dict[str, Any]]:
    """Rows with maps as dicts."""
    table = pq.ParquetFile(path).read()
    maps = [name for name in table.column_names if pa.types.is_map(table.schema.field(name).type)]
    rows: list[dict[str, Any]] = table.to_pylist()
    for row in rows:
        for name in maps:
            row[name] = dict(row[name]) if row[name] is not None else None
    return rows
