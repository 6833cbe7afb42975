"""A touched row: what updatedb knows of a URL, and the state machine decides on; and which touched rows matter.

Of most URLs of an update it is only known that they are linked to, so what more there is of the others, their details,
goes a way of its own. Columns in, columns out. May know: the crawldb's columns and those of the statements beside
updatedb.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from nutchpy.engine.merge import Ordered, numbers
from nutchpy.storage.ordered import decoded, together
from nutchpy.storage.schema import METADATA, TABLES, Column, Table

_CRAWLDB: Final = TABLES["crawldb"].schema.remove_metadata()
_ATTEMPT: Final = (
    *("domain", "status", "fetch_time", "modified_time", "retries", "fetch_interval", "score", "signature", "depth"),
    *("http_status", "protocol_status", "etag", "last_modified", "metadata"),
)
_LAYERS: Final = pa.list_(pa.struct({"rank": pa.float64(), "metadata": METADATA}))
_ATTEMPTED: Final = tuple((f"attempt_{name}", _CRAWLDB.field(name).type) for name in _ATTEMPT)
TOUCHED: Final = pa.schema(
    [
        *((name, kind) for name, kind in zip(_CRAWLDB.names, _CRAWLDB.types, strict=True)),
        *_ATTEMPTED,
        ("known", pa.bool_()),
        ("new_signature", pa.binary()),
        ("parse_metadata", _LAYERS),
        ("inlink_score", pa.float64()),
        ("inlink_depth", pa.int32()),
        ("inlink_interval", pa.int32()),
        ("inlink_metadata", _LAYERS),
    ]
)
"""What an attempted row is: the crawldb's row (null unless ``known``), the attempt, parse and links."""
NEWS: Final = [name for name in TOUCHED.names if not name.startswith("attempt") and name != "new_signature"]
"""The columns that matter of a row that was not attempted."""
JUDGED: Final = ("fetch_time", "fetch_interval", "score", "depth")
"""The columns of a row by which news of it are judged, and that links change; its status too where some are purged."""
LINKED: Final = ("nth", "host", *JUDGED, "inlink_score", "inlink_depth", "inlink_interval")
"""The columns that matter of a row to which only links are new."""

DETAILS: Final = Table(
    "details",
    "Of some URLs of the segments' parts: the newest attempt, what parsing said of it, and metadata of links.",
    (
        Column("url", pa.string(), "The URL."),
        Column("host", pa.string(), "Its host."),
        Column("bucket_key", pa.uint32(), "Of the host."),
        Column("newly_fetched", pa.bool_(), "The attempt is in a part not consumed yet.", nullable=True),
        Column("newly_parsed", pa.bool_(), "The signature is.", nullable=True),
        *(Column(name, kind, "Of the attempt.", nullable=True) for name, kind in _ATTEMPTED),
        Column("new_signature", pa.binary(), "Of what was fetched.", nullable=True),
        Column("parse_metadata", _LAYERS, "What parsing found, by the age of its segment.", nullable=True),
        Column("inlink_metadata", _LAYERS, "What links bring, by their scores.", nullable=True),
    ),
    row_group_rows=8_192,
)
_DETAILS: Final = DETAILS.schema.remove_metadata()


class Details:
    """The details of a bucket's URLs, in its order, as its news go by."""

    def __init__(self, batches: Iterable[pa.RecordBatch] = ()) -> None:
        self._rows = Ordered(_coded(batch) for batch in batches)

    def of(self, news: pa.RecordBatch) -> pa.RecordBatch:
        """Those of the next news, a row for each that is ``detailed``."""
        last = _coded(news.slice(news.num_rows - 1).select(["url", "host"]))
        found = list(self._rows.up_to(last))
        rows = decoded(together(found)) if found else _DETAILS.empty_table()
        columns = [
            rows[name].combine_chunks().cast(kind) for name, kind in zip(_DETAILS.names, _DETAILS.types, strict=True)
        ]
        return pa.record_batch(columns, schema=_DETAILS)


def _coded(rows: pa.RecordBatch) -> pa.Table:
    place = rows.schema.get_field_index("host")
    return pa.table(rows).set_column(place, "host", rows["host"].dictionary_encode())


def judged(news: pa.RecordBatch, details: pa.RecordBatch, again: bool) -> pa.RecordBatch:
    """News with the number of their ``detail``, and whether it says that they were ``attempted`` or ``described``.

    Attempted: the attempt is news to the row; ``again`` takes its last one for news too. Described: it has metadata.
    """
    detailed = news["detailed"]
    before, fetched = news["fetch_time"].filter(detailed), details["attempt_fetch_time"]
    same = pc.equal(before, fetched)
    later = pc.or_kleene(pc.is_null(before), pc.less(before, fetched))
    fresh = pc.or_kleene(later, same) if again else later
    attempted = pc.or_kleene(
        pc.and_kleene(details["newly_fetched"], fresh), pc.and_kleene(details["newly_parsed"], same)
    )
    described = pc.or_(pc.is_valid(details["parse_metadata"]), pc.is_valid(details["inlink_metadata"]))
    none, neither = pa.nulls(news.num_rows, pa.int64()), pa.repeat(pa.scalar(False), news.num_rows)
    return (
        news.append_column("detail", pc.replace_with_mask(none, detailed, numbers(details.num_rows)))
        .append_column("attempted", pc.replace_with_mask(neither, detailed, pc.fill_null(attempted, False)))
        .append_column("described", pc.replace_with_mask(neither, detailed, described))
    )


def lightly(touched: pa.RecordBatch, purged: Collection[str]) -> pa.Array:
    """Which rows are known and have nothing new but links to them, without metadata: most of a broad crawl."""
    light = pc.and_(touched["known"], pc.invert(pc.or_(touched["attempted"], touched["described"])))
    return pc.and_(light, pc.invert(_in(touched["status"], purged))) if purged else light


def mattering(touched: pa.RecordBatch, additions: bool, purged: Collection[str]) -> pa.RecordBatch:
    """Without unknown URLs where nothing may be added, and known rows to which the news makes no difference."""
    attempted = touched["attempted"]
    new = pc.and_(additions, pc.or_(attempted, pc.greater(touched["links"], 0)))
    nearer = pc.less(touched["inlink_depth"], touched["depth"])
    sooner = pc.and_(pc.less(touched["inlink_interval"], touched["fetch_interval"]), pc.is_null(touched["fetch_time"]))
    changed = pc.or_(pc.fill_null(nearer, False), pc.fill_null(sooner, False))
    for news in (attempted, touched["described"], pc.is_valid(touched["inlink_score"])):
        changed = pc.or_(changed, news)
    if purged:
        changed = pc.or_(changed, _in(touched["status"], purged))
    matters = pc.if_else(touched["known"], changed, new)
    return touched if pc.all(matters).as_py() else touched.filter(matters)


def _in(column: pa.Array, names: Collection[str]) -> pa.Array:
    return pc.is_in(column, value_set=pa.array(sorted(names), pa.string()))
