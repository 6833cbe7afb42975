"""doctor: check a crawl: every part readable, of its schema, sorted, in its bucket; manifests true; nothing left over.

Reads all of it, changes and locks nothing. One line per finding: damaged (cannot be read), wrong (is not what it says),
older (fine, but written before a column was declared; see upgrade), left over (of a command that was killed, removed by
the next one of its kind). While a stage is at work, what it has not published yet shows as left over. Ends with 4 when
something is damaged or wrong.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nutchpy.core.errors import StorageError
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument
from nutchpy.stages.sql.crawl import require_crawl
from nutchpy.storage.check import BAD, check_crawl

EXAMPLE: Final = "nutchpy doctor crawl"


@dataclass(frozen=True)
class DoctorOptions(Options):
    """See the module."""

    crawl: Path = argument("The crawl folder.")

    def crawl_dir(self) -> Path:
        """As it is named."""
        return self.crawl


def run(options: DoctorOptions, ctx: Context) -> Outcome:
    """Read everything and tell."""
    found = list(check_crawl(require_crawl(options.crawl)))
    counts = Counter(finding.severity for finding in found)
    told = ", ".join(f"{count} {severity}" for severity, count in sorted(counts.items()))
    return Outcome(
        lines=[f"{finding.severity}\t{finding.path}\t{finding.what}" for finding in found],
        data=[{"severity": one.severity, "path": str(one.path), "what": one.what} for one in found],
        exit_code=StorageError.exit_code if BAD & counts.keys() else 0,
        summary=[f"{options.crawl}: {told or 'nothing is wrong'}"],
    )
