"""robotsparser: show which URLs a robots.txt file allows: one line per URL, with the line and rule that decided.

The file is one on disk; URLs come from a file or from stdin (``-``). Agents are the names to go by, most preferred
first; by default those of the settings (http.agent.name, http.robots.agents).
"""

# Shape: row.

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from nutchpy.conf.layers import Conf
from nutchpy.core.errors import ConfigError, MissingError
from nutchpy.core.robots import Robots, RobotsVerdict, parse
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument

EXAMPLE = """
echo "http://www.example.org/private/x" | nutchpy robotsparser robots.txt - mybot
"""


@dataclass(frozen=True)
class RobotsParserOptions(Options):
    """See the module."""

    robots: Path = argument("The robots.txt file.", metavar="ROBOTS")
    urls: str = argument("A file of URLs, one a line; - for stdin.", "-", metavar="URLS")
    agents: tuple[str, ...] = argument("Names of the crawler, most preferred first.", (), metavar="AGENT")


def run(options: RobotsParserOptions, ctx: Context) -> Outcome:
    """Answer line by line; MissingError when a file is not there."""
    if not options.robots.is_file():
        raise MissingError(f"there is no file {options.robots}")
    robots = parse(options.robots.read_bytes())
    agents = [name for word in options.agents for name in word.split(",") if name] or agent_names(ctx.conf)
    verdicts = _verdicts(robots, agents, options.urls)
    return Outcome(
        lines=(_line(url, verdict) for url, verdict in verdicts),
        data=({"url": url, **asdict(verdict)} for url, verdict in verdicts),
    )


def agent_names(conf: Conf) -> list[str]:
    """What we go by in robots.txt: http.agent.name, then http.robots.agents; ConfigError when there is none."""
    others = [name.strip() for name in conf.text("http.robots.agents").split(",")]
    names = [name for name in (conf.text("http.agent.name"), *others) if name and name != "*"]
    if not names:
        raise ConfigError("name an agent on the command line, or set http.agent.name")
    return list(dict.fromkeys(names))


def _verdicts(robots: Robots, agents: Sequence[str], source: str) -> Iterator[tuple[str, RobotsVerdict]]:
    for line in _urls(source):
        url = line.rstrip("\r\n")
        yield url, robots.verdict(url, agents)


def _urls(source: str) -> Iterator[str]:
    if source == "-":
        yield from sys.stdin
        return
    try:
        with Path(source).open(encoding="utf-8", errors="replace") as lines:
            yield from lines
    except FileNotFoundError:
        raise MissingError(f"there is no file {source}") from None


def _line(url: str, verdict: RobotsVerdict) -> str:
    why = f"\t(line {verdict.line}: {verdict.rule})" if verdict.rule else ""
    return f"{'allowed' if verdict.allowed else 'not allowed'}:\t{url}{why}"
