"""readdb: read the crawldb: statistics, the best URLs, one URL, or a dump.

Exactly one of -stats, -url, -topN and -dump. Dumps go into a new folder and never into the crawldb. Nutch's labels mean
what they mean in Nutch: its "Fetch time" is when the URL is due.
"""

# Shape: relation.

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from nutchpy.core.errors import UsageError
from nutchpy.core.status import DB_STATUSES
from nutchpy.core.urls import host_of, parse
from nutchpy.engine.base import Files, statement
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument, flag
from nutchpy.stages.outputs import new_file, new_path
from nutchpy.stages.readdb import format as layout
from nutchpy.stages.readdb import stats
from nutchpy.storage.check import damage_of
from nutchpy.storage.database import Database, Generation
from nutchpy.storage.parts import write_part
from nutchpy.storage.schema import TABLES

EXAMPLE = """
nutchpy readdb crawl/crawldb -stats
nutchpy readdb crawl/crawldb -dump gone -format csv -status db_gone -expr "depth < 3"
"""

_log = logging.getLogger(__name__)
_ROW: Final = "select * from crawldb where url = $url"


@dataclass(frozen=True)
class ReadDbOptions(Options):
    """See the module."""

    crawldb: Path = argument("The crawldb folder.", metavar="CRAWLDB")
    rest: tuple[str, ...] = argument("With -topN: the folder to write to, and the least score.", ())
    stats: bool = flag("Print statistics.", False, "-stats")
    sort: bool = flag("With -stats: counts per host under each status.", False, "-sort")
    url: str | None = flag("Print the row of one URL.", None, "-url", metavar="URL")
    top_n: int | None = flag("Print the N best-scoring URLs, or write them to a folder.", None, "-topN", metavar="N")
    dump: Path | None = flag("Write rows into a new folder.", None, "-dump", metavar="OUT")
    format: Literal["normal", "csv", "json", "parquet"] = flag("With -dump: what to write.", "normal", "-format")
    regex: str | None = flag("With -dump: URLs that match this as a whole.", None, "-regex", metavar="RE")
    retry: int | None = flag("With -dump: rows with at least N retries.", None, "-retry", metavar="N")
    status: str | None = flag("With -dump: rows of one status.", None, "-status", metavar="NAME")
    expr: str | None = flag("With -dump: rows for which an SQL expression is true.", None, "-expr", metavar="SQL")
    skip_damaged: bool = flag("Leave out files that cannot be read, and name them.", False, "--skip-damaged")
    sample: float | None = flag("With -dump: a random share of the rows, 0 to 1.", None, "-sample", metavar="X")


def run(options: ReadDbOptions, ctx: Context) -> Outcome:
    """Read one whole generation; MissingError when there is none, UsageError for a combination that makes no sense."""
    mode = _mode(options)
    with Database(options.crawldb, "crawldb").reading() as generation:
        parts = _wanted(options, generation)
        if options.skip_damaged:
            for part in generation.lost:
                _log.warning("left out: %s is not there any more", part)
            parts = _readable(generation, parts)
        else:
            generation.verify(parts)
        return mode(options, ctx, Files(TABLES["crawldb"], parts))


def _wanted(options: ReadDbOptions, generation: Generation) -> list[Path]:
    """Of one URL the files of its bucket; else all."""
    host = host_of(options.url) if options.url is not None else None
    return generation.parts if host is None else generation.of_host(host)


def _readable(generation: Generation, parts: list[Path]) -> list[Path]:
    """Those that are as they were written and can be read to their end."""
    damage = {part: _damage(generation, part) for part in parts}
    for what in filter(None, damage.values()):
        _log.warning("left out: %s", what)
    return [part for part in parts if damage[part] is None]


def _damage(generation: Generation, part: Path) -> str | None:
    if not generation.as_written(part):
        return f"{part} is not what was written: its checksum differs from that in _meta.json"
    return damage_of(part, TABLES["crawldb"])


def _mode(options: ReadDbOptions) -> Callable[[ReadDbOptions, Context, Files], Outcome]:
    asked = {
        _stats: options.stats,
        _url: options.url is not None,
        _top: options.top_n is not None,
        _dump: options.dump is not None,
    }
    modes = [mode for mode, wanted in asked.items() if wanted]
    if len(modes) != 1:
        raise UsageError("readdb takes exactly one of -stats, -url, -topN and -dump")
    if options.rest and modes[0] is not _top:
        raise UsageError(f"too many arguments: {' '.join(options.rest)}")
    return modes[0]


def _stats(options: ReadDbOptions, ctx: Context, crawldb: Files) -> Outcome:
    quantiles = [float(word) for word in ctx.conf.text("db.stats.score.quantiles").split(",")]
    found = stats.collect(ctx.engine, crawldb, quantiles, options.sort)
    return Outcome(lines=stats.lines(str(options.crawldb), found), data=found)


def _url(options: ReadDbOptions, ctx: Context, crawldb: Files) -> Outcome:
    assert options.url is not None
    canonical = parse(options.url)
    for url in dict.fromkeys([options.url, str(canonical.href) if canonical else options.url]):
        rows = ctx.engine.table(_ROW, {"crawldb": crawldb}, {"url": url}).to_pylist()
        if rows:
            return Outcome(lines=layout.text(rows[0]).splitlines(), data=layout.json_object(rows[0]))
    return Outcome(lines=[f"URL: {options.url}", "not found"], data={"url": options.url, "found": False})


def _top(options: ReadDbOptions, ctx: Context, crawldb: Files) -> Outcome:
    out, least = _top_arguments(options.rest)
    params = {"n": options.top_n, "min_score": least}
    rows = ctx.engine.table(statement(__package__, "top"), {"crawldb": crawldb}, params).to_pylist()
    lines = [f"{row['score']}\t{row['url']}" for row in rows]
    if out is None:
        return Outcome(lines=lines, data=rows)
    with new_file(out, "part-00000.txt") as file:
        file.writelines(f"{line}\n" for line in lines)
    return Outcome(data={"out": str(out), "rows": len(rows)}, summary=[f"{len(rows)} URLs written to {out}"])


def _top_arguments(rest: tuple[str, ...]) -> tuple[Path | None, float]:
    if len(rest) > 2:
        raise UsageError(f"too many arguments: {' '.join(rest[2:])}")
    try:
        return (Path(rest[0]) if rest else None, float(rest[1]) if len(rest) > 1 else float("-inf"))
    except ValueError:
        raise UsageError(f"the least score must be a number, not {rest[1]!r}") from None


def _dump(options: ReadDbOptions, ctx: Context, crawldb: Files) -> Outcome:
    assert options.dump is not None
    sql, params = _selection(options, ctx)
    if options.format == "parquet":
        with new_path(options.dump, "part-00000.parquet") as path:
            rows = ctx.engine.write(sql, {"crawldb": crawldb}, params, path, crawldb.table)
            if rows == 0:
                write_part(path, crawldb.table, crawldb.table.schema.empty_table())
    else:
        found = (row for batch in ctx.engine.read(sql, {"crawldb": crawldb}, params) for row in batch.to_pylist())
        rows = _write(options.dump, options.format, found)
    return Outcome(data={"out": str(options.dump), "rows": rows}, summary=[f"{rows} rows written to {options.dump}"])


def _write(out: Path, form: str, rows: Iterator[Mapping[str, Any]]) -> int:
    suffix, line = {
        "normal": ("txt", layout.text),
        "csv": ("csv", layout.csv_line),
        "json": ("jsonl", layout.json_line),
    }[form]
    count = 0
    with new_file(out, f"part-00000.{suffix}") as file:
        if form == "csv":
            file.write(f"{layout.csv_header()}\n")
        for count, row in enumerate(rows, 1):  # noqa: B007  the last count is the answer
            file.write(f"{line(row)}\n")
    return count


def _selection(options: ReadDbOptions, ctx: Context) -> tuple[str, dict[str, Any]]:
    if options.status is not None and options.status not in DB_STATUSES:
        raise UsageError(f"no status {options.status!r}; there are {', '.join(DB_STATUSES)}")
    if options.sample is not None and not 0 <= options.sample <= 1:
        raise UsageError(f"-sample is a share from 0 to 1, not {options.sample}")
    sql = statement(__package__, "rows")
    if options.expr is not None:
        sql = f"select * from ({sql}) where {ctx.engine.expression(options.expr, TABLES['crawldb'])}"
    if options.regex is not None:
        ctx.engine.regex(options.regex)
    named = {name: getattr(options, name) for name in ("status", "retry", "regex", "sample")}
    return sql, named
