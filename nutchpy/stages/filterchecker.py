"""filterchecker: show which URLs the filters accept: one line in, one line out, ``+`` or ``-`` before the URL.

URLs come from stdin as they are; normalizerchecker shows what a stage would normalise them to first. With --reasons
(or --json) the filter and rule that refused a URL follow it.
"""

# Shape: row.

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nutchpy.extension.chains import URLFilters
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, flag

EXAMPLE = """
echo "http://www.example.org/logo.png" | nutchpy filterchecker -stdin --reasons
"""


@dataclass(frozen=True)
class FilterCheckerOptions(Options):
    """See the module."""

    stdin: bool = flag("Read URLs from stdin (always so; Nutch wants it said).", False, "-stdin")
    filter_name: str | None = flag("Ask this filter alone, enabled or not.", None, "-filterName", metavar="NAME")
    reasons: bool = flag("Show why a URL is refused.", False, "--reasons")


def run(options: FilterCheckerOptions, ctx: Context) -> Outcome:
    """Answer line by line; ConfigError for a filter that is not there or cannot load its rules."""
    only = {"urlfilter.order": [options.filter_name]} if options.filter_name else {}
    filters = URLFilters.from_conf(ctx.conf.with_values(only))
    return Outcome(lines=_lines(filters, options.reasons), data=_objects(filters))


def _verdicts(filters: URLFilters) -> Iterator[tuple[str, str | None]]:
    for line in sys.stdin:
        url = line.rstrip("\r\n")
        yield url, filters.reject(url)


def _lines(filters: URLFilters, reasons: bool) -> Iterator[str]:
    for url, reason in _verdicts(filters):
        yield f"+{url}" if reason is None else f"-{url}\t{reason}" if reasons else f"-{url}"


def _objects(filters: URLFilters) -> Iterator[dict[str, Any]]:
    for url, reason in _verdicts(filters):
        yield {"url": url, "accepted": reason is None, "reason": reason}
