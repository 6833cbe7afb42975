"""The tables: every column with its type and meaning, versioned. The one place a schema is declared.

``nutchpy schema`` prints this; docs/tables.md is checked against it. Times are UTC with microseconds; statuses are
names; ``?`` in a printed type means nullable. Parquet key-value metadata carries ``nutchpy.table`` and
``nutchpy.schema_version``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import pyarrow as pa

SCHEMA_VERSION: Final = 1

TIME: Final = pa.timestamp("us", tz="UTC")
METADATA: Final = pa.map_(pa.string(), pa.string())
HEADERS: Final = pa.list_(pa.struct([pa.field("name", pa.string()), pa.field("value", pa.string())]))
OUTLINKS: Final = pa.list_(
    pa.struct([pa.field("url", pa.string()), pa.field("anchor", pa.string()), pa.field("rel", pa.string())])
)
INLINKS: Final = pa.list_(pa.struct([pa.field("from_url", pa.string()), pa.field("anchor", pa.string())]))
SCORES: Final = pa.list_(pa.float32())


@dataclass(frozen=True)
class Column:
    """One column: name, Arrow type, whether it may be null, and what it means."""

    name: str
    type: pa.DataType
    doc: str
    nullable: bool = False
    default: str | int | float | None = None
    """Of a column declared later than parts that may still be about, and not nullable: what their rows have in it."""
    varied: bool = False
    """Whether nearly every row has a value of its own, so that a dictionary of them would save nothing."""

    @property
    def may_be_absent(self) -> bool:
        """Whether a part without it is one that was written before it was declared, and not a damaged one."""
        return self.nullable or self.default is not None


@dataclass(frozen=True)
class Table:
    """One table's declaration."""

    name: str
    doc: str
    columns: tuple[Column, ...]
    row_group_rows: int = 122_880

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema, with the key-value metadata every part carries."""
        fields = [pa.field(c.name, c.type, nullable=c.nullable) for c in self.columns]
        return pa.schema(fields, metadata=self.key_values)

    @cached_property
    def coded(self) -> tuple[str, ...]:
        """Names of the text columns of which many rows share a value."""
        return tuple(c.name for c in self.columns if c.type == pa.string() and not c.varied)

    @property
    def key_values(self) -> dict[str, str]:
        """What the Parquet footer says of the table."""
        return {"nutchpy.table": self.name, "nutchpy.schema_version": str(SCHEMA_VERSION)}


_URL = Column("url", pa.string(), "The URL, in the crawl's canonical form; the key.", varied=True)
_HOST = Column("host", pa.string(), "Lower-case ASCII host of the URL, without port; IPv6 in brackets.")
_DOMAIN = Column(
    "domain", pa.string(), "Registered domain of the host by the public suffix list; an address is its own."
)
_BUCKET_KEY = Column("bucket_key", pa.uint32(), "Unsigned murmur3 of the host (seed 0); its top bits are the bucket.")
_METADATA = Column("metadata", METADATA, "Key-value pairs of the seed file or of plugins.", nullable=True)

_DATUM: Final = (
    _URL,
    _HOST,
    _DOMAIN,
    Column(
        "status",
        pa.string(),
        "`db_unfetched`, `db_fetched`, `db_gone`, `db_redir_temp`, `db_redir_perm`, "
        "`db_notmodified`, `db_duplicate`, `db_orphan` or `db_parse_failed`.",
    ),
    Column("due_time", TIME, "When the URL is due to be fetched (again)."),
    Column("fetch_time", TIME, "When it was last attempted.", nullable=True),
    Column("modified_time", TIME, "When the fetch happened that last saw changed content.", nullable=True),
    Column("retries", pa.int32(), "Failed attempts in a row."),
    Column("fetch_interval", pa.int32(), "Seconds between fetches."),
    Column("score", pa.float32(), "Importance, as the scoring filters compute it."),
    Column("signature", pa.binary(), "16-byte fingerprint of the content last parsed.", nullable=True, varied=True),
    Column("depth", pa.int32(), "Least number of links from a seed; a seed has 0."),
    Column("http_status", pa.int32(), "HTTP status of the last attempt that had one.", nullable=True),
    Column(
        "protocol_status",
        pa.string(),
        "Why the last attempt ended as it did: `success`, `notfound`, `robots_denied`, `timeout`, …",
        nullable=True,
    ),
    Column(
        "etag", pa.string(), "ETag of the body last received, sent back as If-None-Match.", nullable=True, varied=True
    ),
    Column(
        "last_modified",
        pa.string(),
        "Last-Modified header of the body last received, as sent.",
        nullable=True,
        varied=True,
    ),
    Column("first_seen", TIME, "When the URL entered the crawldb, or was fetched if that was before."),
    _METADATA,
)

_TABLES: Final = (
    Table("crawldb", "One row per URL known: its state and when it is due.", _DATUM),
    Table(
        "crawl_generate",
        "A segment's fetch lists: the crawldb rows as they were when generated.",
        (
            *_DATUM,
            Column("queue_id", pa.string(), "Host, domain or address whose queue the URL belongs to."),
            Column("list", pa.int32(), "Number of the fetch list; a queue never spans two lists."),
        ),
    ),
    Table(
        "crawl_fetch",
        "One row per attempted URL: what came of it. URLs never attempted have no row and stay due.",
        (
            _URL,
            _HOST,
            _DOMAIN,
            _BUCKET_KEY,
            Column(
                "status",
                pa.string(),
                "`fetch_success`, `fetch_retry`, `fetch_redir_temp`, `fetch_redir_perm`, "
                "`fetch_gone`, `fetch_notmodified` or `parse_failed`.",
            ),
            Column("fetch_time", TIME, "When the attempt ended; later than any earlier attempt at this URL."),
            Column("modified_time", TIME, "As in the crawldb row generated.", nullable=True),
            Column("retries", pa.int32(), "As in the crawldb row generated."),
            Column("fetch_interval", pa.int32(), "As in the crawldb row generated."),
            Column("score", pa.float32(), "As in the crawldb row generated."),
            Column(
                "signature",
                pa.binary(),
                "As in the crawldb row generated: of the content before this attempt.",
                nullable=True,
            ),
            Column("depth", pa.int32(), "As in the crawldb row generated."),
            Column("http_status", pa.int32(), "HTTP status, when there was a response.", nullable=True),
            Column("protocol_status", pa.string(), "Why it ended so: `success`, `notfound`, `robots_denied`, …"),
            Column("message", pa.string(), "Detail for people: the error, the robots rule.", nullable=True),
            Column(
                "redirect_to",
                pa.string(),
                "Target of a redirect, normalised and filtered; null when refused.",
                nullable=True,
            ),
            Column(
                "repr_url",
                pa.string(),
                "URL that represents the page after redirects (Nutch's `_repr_`).",
                nullable=True,
            ),
            Column("etag", pa.string(), "ETag to send next time.", nullable=True),
            Column("last_modified", pa.string(), "Last-Modified to send next time.", nullable=True),
            Column("content_type", pa.string(), "MIME type found, without parameters.", nullable=True),
            Column("ip", pa.string(), "Address connected to.", nullable=True),
            Column("elapsed_ms", pa.int32(), "Milliseconds from start to end of the request."),
            Column("bytes", pa.int64(), "Body bytes received on the wire."),
            Column(
                "robots",
                pa.string(),
                "What robots.txt said: `allowed`, `denied`, `unreachable` (it could not be had, so the page was not "
                "asked for) or `exempt` (`http.robot.rules.allowlist`, not asked); null when it did not come to that.",
                nullable=True,
            ),
            Column(
                "robots_rule",
                pa.string(),
                "What decided that: the line of robots.txt with its number, or how its server answered; "
                "null when no line speaks of the URL.",
                nullable=True,
            ),
            Column(
                "robots_delay", pa.float32(), "Crawl-delay of robots.txt in seconds, when it has one.", nullable=True
            ),
            Column(
                "queue_delay",
                pa.float32(),
                "Seconds its queue rested afterwards, when that was longer than configured: its server was in trouble.",
                nullable=True,
            ),
            Column("retry_after", TIME, "Until when the server asked to be left alone.", nullable=True),
            Column("dns_ms", pa.int32(), "Milliseconds until the name was resolved by the transport.", nullable=True),
            Column("connect_ms", pa.int32(), "Milliseconds until the connection stood, if new.", nullable=True),
            Column("tls_ms", pa.int32(), "Milliseconds until TLS stood, when it was new.", nullable=True),
            Column("first_byte_ms", pa.int32(), "Milliseconds until the first byte of the answer.", nullable=True),
            Column("http_version", pa.string(), "Protocol of the answer: `1.0`, `1.1`, `2`.", nullable=True),
            Column("truncated", pa.string(), "As in content: `length`, `time` or `disconnect`.", nullable=True),
            Column(
                "redirected_from",
                pa.list_(pa.string()),
                "The URLs whose redirects were followed to get here at once, first to last.",
                nullable=True,
            ),
            _METADATA,
        ),
    ),
    Table(
        "content",
        "Bodies: one row per success or redirect.",
        (
            _URL,
            Column("base_url", pa.string(), "URL the body came from; links resolve against it."),
            Column("content_type", pa.string(), "MIME type found by header, URL and content."),
            Column("headers", HEADERS, "Response headers in order, duplicates kept."),
            Column("content", pa.binary(), "The body, after transfer and content decoding."),
            Column("truncated", pa.string(), "Null when whole, else `length`, `time` or `disconnect`.", nullable=True),
            Column("fetch_time", TIME, "As in crawl_fetch."),
            Column(
                "request_head",
                pa.binary(),
                "Request line and headers as sent, secrets left out; when `store.http.request` is on.",
                nullable=True,
            ),
            Column(
                "response_head",
                pa.binary(),
                "Status line and headers as they came; when `store.http.headers` is on.",
                nullable=True,
            ),
        ),
        row_group_rows=1_000,
    ),
    Table(
        "parse_data",
        "What parsing found besides text: one row per parsed page.",
        (
            _URL,
            Column("parse_status", pa.string(), "`success`, `success_redirect`, `truncated`, `timeout`, …"),
            Column("message", pa.string(), "Detail when the parse failed.", nullable=True),
            Column("title", pa.string(), "Title of the page."),
            Column("outlinks", OUTLINKS, "Links kept, normalised and filtered, in page order."),
            Column("charset", pa.string(), "Charset the body was read in (WHATWG name).", nullable=True),
            Column(
                "language",
                pa.string(),
                "Language as the page declares it, else as the language filter finds it.",
                nullable=True,
            ),
            Column("content_meta", METADATA, "What fetching said: content type, charset reason.", nullable=True),
            Column(
                "parse_meta",
                METADATA,
                "What parsers and parse filters added: robots, canonical, metatags.",
                nullable=True,
            ),
        ),
        row_group_rows=10_000,
    ),
    Table(
        "parse_text",
        "Visible text: one row per parsed page.",
        (_URL, Column("text", pa.string(), "Visible text, blocks on lines of their own.")),
        row_group_rows=5_000,
    ),
    Table(
        "crawl_parse",
        "The update feed of the crawldb: rows about target URLs, sorted by bucket key.",
        (
            _URL,
            _HOST,
            _BUCKET_KEY,
            Column("kind", pa.string(), "`linked` (someone links here), `signature` (of this page) or `metadata`."),
            Column("score", pa.float32(), "`linked`: score the link carries."),
            Column("depth", pa.int32(), "`linked`: link distance from a seed."),
            Column("metadata", METADATA, "`metadata`, `linked`: pairs to lay over the row's own.", nullable=True),
            Column("signature", pa.binary(), "`signature`: fingerprint of the content fetched.", nullable=True),
        ),
    ),
    Table(
        "attempts",
        "What a compacted segment remembers of the segments that it stands for: every attempt.",
        (
            _URL,
            _HOST,
            _DOMAIN,
            Column("of_segment", pa.string(), "Name of the segment in which it was made."),
            Column("fetch_time", TIME, "As in crawl_fetch."),
            Column("status", pa.string(), "As in crawl_fetch."),
            Column("http_status", pa.int32(), "As in crawl_fetch.", nullable=True),
            Column("protocol_status", pa.string(), "As in crawl_fetch."),
            Column("redirect_to", pa.string(), "As in crawl_fetch.", nullable=True),
            Column("signature", pa.binary(), "Fingerprint of the body that came, when it was parsed.", nullable=True),
        ),
    ),
    Table(
        "linkdb",
        "One row per URL linked to: who links, with which words.",
        (
            _URL,
            _HOST,
            Column("inlinks", INLINKS, "Linking URLs with their anchors, distinct, sorted."),
            Column(
                "scores",
                SCORES,
                "Of each of them, in that order, the score its page was fetched with; of several fetches the highest.",
                nullable=True,
            ),
        ),
        row_group_rows=16_384,
    ),
)

TABLES: Final[Mapping[str, Table]] = {table.name: table for table in _TABLES}

SEGMENT_TABLES: Final = (
    "crawl_generate", "crawl_fetch", "content", "crawl_parse", "parse_data", "parse_text", "attempts",
)  # fmt: skip
