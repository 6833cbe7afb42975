"""A touched row: what updatedb knows of a URL, and the state machine decides on; and which touched rows matter.

Columns in, columns out. May know: the crawldb's columns and those of the statements beside updatedb.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

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
        ("attempted", pa.bool_()),
        ("new_signature", pa.binary()),
        ("parse_metadata", _LAYERS),
        ("inlink_score", pa.float64()),
        ("inlink_depth", pa.int32()),
        ("inlink_interval", pa.int32()),
        ("inlink_metadata", _LAYERS),
    ]
)
"""What a touched row is: the crawldb's row (null unless ``known``), the attempt (if ``attempted``), parse and links."""
NEWS: Final = [name for name in TOUCHED.names if not name.startswith("attempt") and name != "new_signature"]
"""The columns that matter of a row that was not attempted: most rows are not, and the other columns are many."""
JUDGED: Final = ("fetch_time", "fetch_interval", "score", "depth")
"""The columns of a row by which news of it are judged, and that links change; its status too where some are purged."""
LINKED: Final = ("nth", "host", *JUDGED, "inlink_score", "inlink_depth", "inlink_interval")
"""The columns that matter of a row to which only links are new."""

FETCHED: Final = Table(
    "fetched",
    "Of each URL of the segments' parts: its newest attempt, and what parsing said of it.",
    (
        Column("url", pa.string(), "The URL."),
        Column("host", pa.string(), "Its host."),
        Column("bucket_key", pa.uint32(), "Of the host."),
        Column("newly_fetched", pa.bool_(), "The attempt is in a part not consumed yet.", nullable=True),
        Column("newly_parsed", pa.bool_(), "The signature is.", nullable=True),
        *(Column(name, kind, "Of the attempt.", nullable=True) for name, kind in _ATTEMPTED),
        Column("new_signature", pa.binary(), "Of what was fetched.", nullable=True),
        Column("parse_metadata", _LAYERS, "What parsing found, by the age of its segment.", nullable=True),
    ),
    row_group_rows=8_192,
)


def with_attempted(touched: pa.RecordBatch, again: bool) -> pa.RecordBatch:
    """With ``attempted``: whether the attempt is news to the row; ``again`` takes its last one for news too."""
    before, fetched = touched["fetch_time"], touched["attempt_fetch_time"]
    same = pc.equal(before, fetched)
    later = pc.or_kleene(pc.is_null(before), pc.less(before, fetched))
    news = pc.or_kleene(later, same) if again else later
    attempted = pc.or_kleene(
        pc.and_kleene(touched["newly_fetched"], news), pc.and_kleene(touched["newly_parsed"], same)
    )
    return touched.append_column("attempted", pc.fill_null(attempted, False))


def lightly(touched: pa.RecordBatch, purged: Collection[str]) -> pa.Array:
    """Which rows are known and have nothing new but links to them, without metadata: most of a broad crawl."""
    light = pc.and_(touched["known"], pc.invert(touched["attempted"]))
    for name in ("parse_metadata", "inlink_metadata"):
        if touched[name].null_count < touched.num_rows:
            light = pc.and_(light, pc.is_null(touched[name]))
    return pc.and_(light, pc.invert(_in(touched["status"], purged))) if purged else light


def mattering(touched: pa.RecordBatch, additions: bool, purged: Collection[str]) -> pa.RecordBatch:
    """Without unknown URLs where nothing may be added, and known rows to which the news makes no difference."""
    attempted = touched["attempted"]
    new = pc.and_(additions, pc.or_(attempted, pc.greater(touched["links"], 0)))
    nearer = pc.less(touched["inlink_depth"], touched["depth"])
    sooner = pc.and_(pc.less(touched["inlink_interval"], touched["fetch_interval"]), pc.is_null(touched["fetch_time"]))
    changed = pc.or_(attempted, pc.or_(pc.fill_null(nearer, False), pc.fill_null(sooner, False)))
    for name in ("parse_metadata", "inlink_metadata", "inlink_score"):
        changed = pc.or_(changed, pc.is_valid(touched[name]))
    if purged:
        changed = pc.or_(changed, _in(touched["status"], purged))
    matters = pc.if_else(touched["known"], changed, new)
    return touched if pc.all(matters).as_py() else touched.filter(matters)


def _in(column: pa.Array, names: Collection[str]) -> pa.Array:
    return pc.is_in(column, value_set=pa.array(sorted(names), pa.string()))
