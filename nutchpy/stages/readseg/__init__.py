"""readseg: read segments: list how far they are, print what one says of a URL, or dump one as text.

Exactly one of -list, -get and -dump. A segment that is only partly fetched or parsed is read as far as it goes.
"""

# Shape: relation.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from nutchpy.core.errors import UsageError
from nutchpy.engine.base import Files, statement
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument, flag
from nutchpy.stages.outputs import new_file
from nutchpy.stages.readseg import records
from nutchpy.storage.schema import TABLES
from nutchpy.storage.segment import Segment, segments_in

EXAMPLE = """
nutchpy readseg -list -dir crawl/segments
nutchpy readseg -get crawl/segments/20260101000000 http://www.example.org/
nutchpy readseg -dump crawl/segments/20260101000000 dumped -nocontent -noparsetext
"""

_HEADER: Final = "NAME\t\tGENERATED\tFETCHER START\t\tFETCHER END\t\tFETCHED\tPARSED"
_OVERVIEW: Final = ("crawl_generate", "crawl_fetch", "parse_data")


@dataclass(frozen=True)
class ReadSegOptions(Options):
    """See the module."""

    words: tuple[str, ...] = argument(
        "Segments; with -get a segment and a URL; with -dump a segment and a folder.", (), metavar="SEGMENT"
    )
    list: bool = flag("Print one line per segment.", False, "-list")
    get: bool = flag("Print what the segment says of one URL.", False, "-get")
    dump: bool = flag("Write the whole segment as text into a new folder.", False, "-dump")
    dir: Path | None = flag("With -list: all segments of this folder.", None, "-dir", metavar="SEGMENTS")
    nocontent: bool = flag("Leave content out.", False, "-nocontent")
    nofetch: bool = flag("Leave crawl_fetch out.", False, "-nofetch")
    nogenerate: bool = flag("Leave crawl_generate out.", False, "-nogenerate")
    noparse: bool = flag("Leave crawl_parse out.", False, "-noparse")
    noparsedata: bool = flag("Leave parse_data out.", False, "-noparsedata")
    noparsetext: bool = flag("Leave parse_text out.", False, "-noparsetext")


def run(options: ReadSegOptions, ctx: Context) -> Outcome:
    """Read; MissingError for what is no segment, UsageError for a combination that makes no sense."""
    modes = [mode for mode, asked in ((_list, options.list), (_get, options.get), (_dump, options.dump)) if asked]
    if len(modes) != 1:
        raise UsageError("readseg takes exactly one of -list, -get and -dump")
    return modes[0](options, ctx)


def _list(options: ReadSegOptions, ctx: Context) -> Outcome:
    segments = [*(Segment(Path(word)) for word in options.words), *(segments_in(options.dir) if options.dir else [])]
    if not segments:
        raise UsageError(f"no segments in {options.dir}" if options.dir else "name segments, or their folder with -dir")
    rows = [_overview(segment, ctx) for segment in segments]
    return Outcome(lines=[_HEADER, *map(_line, rows)], data=rows)


def _get(options: ReadSegOptions, ctx: Context) -> Outcome:
    segment, url = _two(options.words, "-get takes a segment and a URL")
    record = records.one_record(ctx.engine, segment, _tables(options), url)
    lines = [*records.text(record)] or [f"{record[0]}: not in this segment"]
    return Outcome(lines=lines, data=records.json_object(record))


def _dump(options: ReadSegOptions, ctx: Context) -> Outcome:
    segment, folder = _two(options.words, "-dump takes a segment and a folder to write to")
    out, count = Path(folder), 0
    with new_file(out, "dump") as file:
        for count, record in enumerate(records.all_records(ctx.engine, segment, _tables(options)), 1):
            file.writelines(f"{line}\n" for line in _numbered(count - 1, record))
    return Outcome(data={"out": str(out), "records": count}, summary=[f"{count} records written to {out}/dump"])


def _numbered(number: int, record: records.Record) -> Iterator[str]:
    yield ""
    yield f"Recno:: {number}"
    yield f"URL:: {record[0]}"
    yield from records.text(record)


def _overview(segment: Segment, ctx: Context) -> dict[str, Any]:
    meta = segment.meta
    inputs = {name: Files(TABLES[name], segment.files(name)) for name in _OVERVIEW}
    figures = ctx.engine.table(statement(__package__, "overview"), inputs).to_pylist()[0]
    begun = {name: (segment.path / name).is_dir() for name in ("crawl_fetch", "parse_data")}
    return {
        "name": segment.name,
        "generated": figures["generated"],
        "fetcher_start": figures["fetcher_start"],
        "fetcher_end": figures["fetcher_end"],
        "fetched": figures["fetched"] if begun["crawl_fetch"] else None,
        "parsed": figures["parsed"] if begun["parse_data"] else None,
        "fetch_state": meta.state("fetch"),
        "parse_state": meta.state("parse"),
    }


def _line(row: dict[str, Any]) -> str:
    columns = ("name", "generated", "fetcher_start", "fetcher_end", "fetched", "parsed")
    return "\t".join(_cell(row[column]) for column in columns)


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S")
    return "?" if value is None else str(value)


def _tables(options: ReadSegOptions) -> Sequence[str]:
    left_out = {
        "content": options.nocontent,
        "crawl_fetch": options.nofetch,
        "crawl_generate": options.nogenerate,
        "crawl_parse": options.noparse,
        "parse_data": options.noparsedata,
        "parse_text": options.noparsetext,
    }
    return [table for table in records.HEADINGS if not left_out[table]]


def _two(words: tuple[str, ...], usage: str) -> tuple[Segment, str]:
    if len(words) != 2:
        raise UsageError(usage)
    segment = Segment(Path(words[0]))
    _ = segment.meta  # stops here when it is none
    return segment, words[1]
