"""readlinkdb: read the linkdb: the links to one URL, or all of them as a dump.

Exactly one of -url and -dump.
"""

# Shape: relation.

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from nutchpy.core.errors import UsageError
from nutchpy.core.urls import host_of, parse
from nutchpy.engine.base import Files
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument, flag
from nutchpy.stages.outputs import new_file
from nutchpy.storage.database import Database
from nutchpy.storage.schema import TABLES

EXAMPLE = """
nutchpy readlinkdb crawl/linkdb -url http://www.example.org/
nutchpy readlinkdb crawl/linkdb -dump links -regex "http://www\\.example\\.org/.*"
"""

_ROW: Final = "select * from linkdb where url = $url"
_ROWS: Final = "select * from linkdb where $regex is null or regexp_full_match(url, $regex) order by host, url"


@dataclass(frozen=True)
class ReadLinkDbOptions(Options):
    """See the module."""

    linkdb: Path = argument("The linkdb folder.", metavar="LINKDB")
    url: str | None = flag("Print the links to one URL.", None, "-url", metavar="URL")
    dump: Path | None = flag("Write all links into a new folder.", None, "-dump", metavar="OUT")
    regex: str | None = flag("With -dump: URLs that match this as a whole.", None, "-regex", metavar="RE")


def run(options: ReadLinkDbOptions, ctx: Context) -> Outcome:
    """Read one whole generation; MissingError when there is none."""
    if (options.url is None) == (options.dump is None):
        raise UsageError("readlinkdb takes exactly one of -url and -dump")
    with Database(options.linkdb, "linkdb").reading() as generation:
        host = host_of(options.url) if options.url is not None else None
        parts = generation.parts if host is None else generation.of_host(host)
        generation.verify(parts)
        linkdb = Files(TABLES["linkdb"], parts)
        return _url(options.url, ctx, linkdb) if options.url is not None else _dump(options, ctx, linkdb)


def _url(url: str, ctx: Context, linkdb: Files) -> Outcome:
    canonical = parse(url)
    for spelling in dict.fromkeys([url, str(canonical.href) if canonical else url]):
        rows = ctx.engine.table(_ROW, {"linkdb": linkdb}, {"url": spelling}).to_pylist()
        if rows:
            return Outcome(lines=_links(rows[0]), data=rows[0])
    return Outcome(lines=[f"{url}: no link information"], data={"url": url, "inlinks": []})


def _dump(options: ReadLinkDbOptions, ctx: Context, linkdb: Files) -> Outcome:
    assert options.dump is not None
    if options.regex is not None:
        ctx.engine.regex(options.regex)
    count = 0
    with new_file(options.dump, "part-00000.txt") as file:
        for batch in ctx.engine.read(_ROWS, {"linkdb": linkdb}, {"regex": options.regex}):
            for row in batch.to_pylist():
                file.write(f"{row['url']}\tInlinks:\n")
                file.writelines(f" {line}\n" for line in _links(row))
                file.write("\n")
            count += batch.num_rows
    return Outcome(data={"out": str(options.dump), "rows": count}, summary=[f"{count} URLs written to {options.dump}"])


def _links(row: Mapping[str, Any]) -> Iterator[str]:
    for link in row["inlinks"]:
        yield f"fromUrl: {link['from_url']} anchor: {link['anchor']}"
