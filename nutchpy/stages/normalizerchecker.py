"""normalizerchecker: show the normal form of URLs: one line in, one line out, empty for one that is malformed."""

# Shape: row.

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nutchpy.core.errors import UsageError
from nutchpy.extension.chains import URLNormalizers
from nutchpy.extension.chains.urlnormalizers import SCOPES
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, flag

EXAMPLE = """
echo "HTTP://www.Example.ORG:80/a/../b?PHPSESSID=1" | nutchpy normalizerchecker -stdin -scope inject
"""


@dataclass(frozen=True)
class NormalizerCheckerOptions(Options):
    """See the module."""

    stdin: bool = flag("Read URLs from stdin (always so; Nutch wants it said).", False, "-stdin")
    normalizer: str | None = flag("Ask this normalizer alone, enabled or not.", None, "-normalizer", metavar="NAME")
    scope: str = flag("The stage to normalise for.", "default", "-scope", metavar="SCOPE")


def run(options: NormalizerCheckerOptions, ctx: Context) -> Outcome:
    """Answer line by line; ConfigError for a normalizer that is not there or cannot load its rules."""
    if options.scope not in SCOPES:
        raise UsageError(f"no scope {options.scope!r}; there are {', '.join(SCOPES)}")
    only: dict[str, Any] = {}
    if options.normalizer:
        only = {"urlnormalizer.order": [options.normalizer], f"urlnormalizer.order.{options.scope}": []}
    normalizers = URLNormalizers.from_conf(ctx.conf.with_values(only))
    return Outcome(lines=_lines(normalizers, options.scope), data=_objects(normalizers, options.scope))


def _forms(normalizers: URLNormalizers, scope: str) -> Iterator[tuple[str, str | None]]:
    for line in sys.stdin:
        url = line.rstrip("\r\n")
        yield url, normalizers.normalize(url, scope)


def _lines(normalizers: URLNormalizers, scope: str) -> Iterator[str]:
    for _, normal in _forms(normalizers, scope):
        yield normal or ""


def _objects(normalizers: URLNormalizers, scope: str) -> Iterator[dict[str, Any]]:
    for url, normal in _forms(normalizers, scope):
        yield {"url": url, "normalized": normal}
