"""sql: query a crawl with SQL.

Views: crawldb, linkdb; crawl_generate, crawl_fetch, content, crawl_parse, parse_data, parse_text (with a segment
column); outlinks, inlinks, segments, runs; pages (one row per URL: its newest body, title, text and crawldb status);
history (every attempt, and whether it brought news).

Only statements that read run, and they read the crawl alone; --unsafe lifts both. All of one call sees one state of the
crawl, whatever is written meanwhile. Without a statement: one per line from stdin, or a prompt on a terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

import pyarrow as pa

from nutchpy.core.errors import NutchpyError, UsageError
from nutchpy.engine.session import Limits
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument, flag
from nutchpy.stages.spill import spill_folder
from nutchpy.stages.sql import rows
from nutchpy.stages.sql.crawl import Crawl

EXAMPLE = """
nutchpy sql "select status, count(*) from crawldb group by status"
nutchpy sql --format csv "select url, event from history where changed and fetch_time > now() - interval 1 day"
nutchpy sql -dir crawl --init views.sql && duckdb -init views.sql
"""


@dataclass(frozen=True)
class SqlOptions(Options):
    """See the module."""

    statement: str | None = argument("The statement.", None, metavar="SQL")
    dir: Path = flag("The crawl folder.", Path("crawl"), "-dir", metavar="CRAWL")
    format: Literal["table", "csv", "json", "parquet"] | None = flag(
        "How to write the rows; by default a table, or what the ending of -o says.", None, "--format"
    )
    output: Path | None = flag("Write the rows to a file.", None, "-o", "--output", metavar="FILE")
    init: Path | None = flag("Write the views as a script for `duckdb -init`, and end.", None, "--init", metavar="FILE")
    unsafe: bool = flag("Let every statement run, and read any file.", False, "--unsafe")


def run(options: SqlOptions, ctx: Context) -> Outcome:
    """Open the crawl and run; UsageError for a statement that is wrong or does more than read."""
    limits = Limits(ctx.conf.text("db.memory.limit"), ctx.conf.integer("db.threads"), spill_folder(ctx.conf, None))
    crawl = Crawl(options.dir, limits, options.unsafe, options.statement if options.init is None else None)
    if options.init is not None:
        return _init(options.init, crawl)
    if options.statement is None:
        return Outcome(lines=_conversation(crawl, options, sys.stdin.isatty()), data={})
    schema, batches = crawl.stream(options.statement)
    return _answer(options, schema, _peeked(batches))


def _init(path: Path, crawl: Crawl) -> Outcome:
    path.write_text("".join(f"{view};\n" for view in crawl.views()), encoding="utf-8")
    return Outcome(data={"init": str(path)}, summary=[f"views written to {path}; use it with: duckdb -init {path}"])


def _answer(options: SqlOptions, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Outcome:
    form = options.format or (rows.form_of(options.output) if options.output else "table")
    if options.output is not None:
        count = rows.write(options.output, form, schema, batches)
        return Outcome(
            data={"out": str(options.output), "rows": count}, summary=[f"{count} rows written to {options.output}"]
        )
    if form == "parquet":
        raise UsageError("parquet goes into a file: add -o FILE")
    return Outcome(lines=rows.lines(form, schema, batches), data=rows.objects(batches))


def _peeked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, the first of them computed now, so that an error comes before any output."""
    first = next(batches, None)
    return iter(()) if first is None else chain([first], batches)


def _conversation(crawl: Crawl, options: SqlOptions, prompt: bool) -> Iterator[str]:
    """Answers to the statements of stdin; on a terminal an error is told and the prompt comes back."""
    form = options.format or "table"
    if prompt:
        yield "SQL over this crawl; a statement ends with ; and ctrl-d ends the session. Try: show tables;"
    for text in _statements(prompt):
        try:
            schema, batches = crawl.stream(text)
            yield from rows.lines(form, schema, _peeked(batches))
        except NutchpyError as error:
            if not prompt:
                raise
            yield str(error)


def _statements(prompt: bool) -> Iterator[str]:
    pending = ""
    for line in _typed() if prompt else sys.stdin:
        pending = f"{pending}\n{line}".strip()
        if pending.endswith(";"):
            yield pending
            pending = ""
    if pending:
        yield pending


def _typed() -> Iterator[str]:
    with suppress(ImportError):
        import readline  # noqa: F401  gives input() a history, where there is one
    while True:
        try:
            yield input("nutchpy> ")
        except EOFError:
            return
