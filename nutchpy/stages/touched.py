"""A touched row: what updatedb.sql says of a URL, and the state machine decides on."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from nutchpy.storage.schema import METADATA, TABLES

_CRAWLDB: Final = TABLES["crawldb"].schema.remove_metadata()
_ATTEMPT: Final = (
    *("domain", "status", "fetch_time", "modified_time", "retries", "fetch_interval", "score", "signature", "depth"),
    *("http_status", "protocol_status", "etag", "last_modified", "metadata"),
)
_LAYERS: Final = pa.list_(pa.struct({"rank": pa.float64(), "metadata": METADATA}))
TOUCHED: Final = pa.schema(
    [
        *((name, kind) for name, kind in zip(_CRAWLDB.names, _CRAWLDB.types, strict=True)),
        *((f"attempt_{name}", _CRAWLDB.field(name).type) for name in _ATTEMPT),
        ("known", pa.bool_()),
        ("attempted", pa.bool_()),
        ("new_signature", pa.binary()),
        ("parse_metadata", _LAYERS),
        ("is_linked", pa.bool_()),
        ("inlink_score", pa.float64()),
        ("inlink_depth", pa.int32()),
        ("inlink_interval", pa.int32()),
        ("inlink_metadata", _LAYERS),
    ]
)
"""What a touched row is: the crawldb's row (null unless ``known``), the attempt (if ``attempted``), parse and links."""
