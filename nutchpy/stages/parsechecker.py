"""parsechecker: fetch one URL and parse it, by the settings of a crawl, and show what came of it; nothing is stored.

What is shown is what the stages would store: outlinks are normalised and filtered. URLs come from the command line, or
one a line from stdin.
"""

# Shape: row.

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from nutchpy.core.content import Content, ProtocolOutput
from nutchpy.core.errors import UsageError
from nutchpy.extension.chains import URLNormalizers
from nutchpy.fetcher.single import SingleFetcher
from nutchpy.parsing.page import PageInput, PageParser, ParsedPage
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument, flag

EXAMPLE = """
nutchpy parsechecker -followRedirects -dumpText http://www.example.org/
"""

_RULE: Final = "---------"
_MOST_REDIRECTS: Final = 5


@dataclass(frozen=True)
class ParseCheckerOptions(Options):
    """See the module."""

    url: str | None = argument("The URL.", None, metavar="URL")
    stdin: bool = flag("Read URLs from stdin, one a line.", False, "-stdin")
    normalize: bool = flag("Normalise the URL first.", False, "-normalize")
    follow_redirects: bool = flag("Follow up to five redirects.", False, "-followRedirects")
    check_robots: bool = flag("Do not fetch what robots.txt denies.", False, "-checkRobotsTxt")
    dump_text: bool = flag("Show the text too.", False, "-dumpText")
    force_as: str | None = flag("Parse as this MIME type.", None, "-forceAs", metavar="MIME")


@dataclass(frozen=True)
class _Checked:
    """What one URL came to."""

    url: str
    refused: str | None = None
    output: ProtocolOutput | None = None
    content: Content | None = None
    parsed: ParsedPage | None = None
    hops: tuple[str, ...] = ()


def run(options: ParseCheckerOptions, ctx: Context) -> Outcome:
    """Check each URL; exit code 0 however a page ends, since that is what is shown."""
    if (options.url is None) != options.stdin:
        raise UsageError("parsechecker takes a URL, or -stdin")
    return Outcome(lines=_lines(options, ctx), data=_objects(options, ctx))


def _lines(options: ParseCheckerOptions, ctx: Context) -> Iterator[str]:
    for checked in _checks(options, ctx):
        yield from _report(checked, options.dump_text)


def _objects(options: ParseCheckerOptions, ctx: Context) -> Iterator[dict[str, Any]]:
    for checked in _checks(options, ctx):
        yield _object(checked, options.dump_text)


def _checks(options: ParseCheckerOptions, ctx: Context) -> Iterator[_Checked]:
    normalizers, parser = URLNormalizers.from_conf(ctx.conf), PageParser(ctx.conf)
    with closing(SingleFetcher(ctx.conf)) as fetcher:
        for line in sys.stdin if options.stdin else [options.url or ""]:
            url = line.strip()
            normal = normalizers.normalize(url, "fetcher") if options.normalize else url
            yield _Checked(url, "malformed") if normal is None else _check(normal, options, fetcher, parser)


def _check(url: str, options: ParseCheckerOptions, fetcher: SingleFetcher, parser: PageParser) -> _Checked:
    if options.check_robots:
        robots = fetcher.robots(url)
        if robots.verdict is None:
            return _Checked(url, f"robots.txt cannot be had: {robots.trouble}")
        if not robots.verdict.allowed:
            return _Checked(url, f"robots.txt line {robots.verdict.line}: {robots.verdict.rule}")
    chain = fetcher.follow(url, _MOST_REDIRECTS if options.follow_redirects else 0)
    last = chain[-1]
    hops = tuple(output.url for output in chain[1:])
    if last.http_status != 200:
        return _Checked(url, output=last, hops=hops)
    content = fetcher.content(last, options.force_as)
    return _Checked(url, None, last, content, parser.parse(PageInput(content)), hops)


def _report(checked: _Checked, with_text: bool) -> Iterator[str]:
    yield f"fetching: {checked.url}"
    if checked.refused is not None:
        yield f"not fetched: {checked.refused}"
    yield from (f"redirected to: {url}" for url in checked.hops)
    if checked.output is not None:
        code = f" ({checked.output.http_status})" if checked.output.http_status else ""
        yield f"protocol status: {checked.output.protocol_status}{code} {checked.output.message}".rstrip()
    if checked.parsed is not None and checked.content is not None:
        yield from _parsed(checked.parsed, checked.content, with_text)


def _parsed(parsed: ParsedPage, content: Content, with_text: bool) -> Iterator[str]:
    yield f"contentType: {content.content_type}"
    yield f"signature: {parsed.signature.hex() if parsed.signature else 'null'}"
    yield from (_RULE, "ParseData", _RULE)
    yield f"Status: {parsed.status}" + (f" ({parsed.message})" if parsed.message else "")
    yield f"Title: {parsed.title}"
    yield f"Outlinks: {len(parsed.outlinks)}"
    yield from (f"  outlink: toUrl: {link.url} anchor: {link.anchor}" for link in parsed.outlinks)
    yield "Content Metadata:"
    yield from (f"  {name} = {value}" for name, value in content.headers)
    yield "Parse Metadata:"
    yield f"  charset = {parsed.charset}"
    yield from (f"  {key} = {value}" for key, value in {**parsed.content_meta, **parsed.parse_meta}.items())
    if with_text:
        yield from (_RULE, "ParseText", _RULE, parsed.text)


def _object(checked: _Checked, with_text: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"url": checked.url, "refused": checked.refused, "redirects": list(checked.hops)}
    if checked.output is not None:
        found |= {
            "protocol_status": checked.output.protocol_status,
            "http_status": checked.output.http_status,
            "message": checked.output.message,
            "headers": [list(pair) for pair in checked.output.headers],
        }
    if checked.parsed is not None and checked.content is not None:
        parsed = checked.parsed
        found |= {
            "content_type": checked.content.content_type,
            "signature": parsed.signature,
            "parse_status": parsed.status,
            "title": parsed.title,
            "outlinks": [link._asdict() for link in parsed.outlinks],
            "charset": parsed.charset,
            "language": parsed.language,
            "parse_meta": dict(parsed.parse_meta),
        }
        if with_text:
            found["text"] = parsed.text
    return found
