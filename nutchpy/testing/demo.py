"""bin/demo: serve the demo site, crawl it with the staged commands, ask the crawl five questions.

Each run makes a new folder. Every stage is a process of its own, started as a user would start it and shown so.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nutchpy.testing.demosite import PORTS, demo_servers
from nutchpy.testing.site_server import SiteServer

DEPTH: Final = 3

LOG: Final = "stages.log"
"""Where the log lines of all stages go; what they say to the person at the terminal is shown."""
_LOGGED: Final = re.compile(r"\d{4}-\d\d-\d\d [\d:,]+ (?:DEBUG|INFO) ")

SITE_TOML: Final = """\
# Settings of this crawl alone: a stage reads conf/ in the crawl folder.
[http]
"agent.name" = "nutchpy-demo"
"filter.ipaddress.exclude" = []         # the demo site stands on loopback, which is refused by default

[fetcher]
"server.delay" = 0.05                   # seconds between two pages of a host; real sites get the default, 5
"""

QUESTIONS: Final = (
    (
        "What became of the URLs?",
        "SELECT status, count(*) AS urls FROM crawldb GROUP BY status ORDER BY urls DESC",
    ),
    (
        "What went wrong, and why?",
        "SELECT url, http_status, protocol_status FROM crawldb WHERE status = 'db_gone' OR retries > 0 ORDER BY url",
    ),
    (
        "Which pages are most linked to?",
        "SELECT to_url, count(DISTINCT from_url) AS pages FROM outlinks GROUP BY 1 ORDER BY pages DESC, 1 LIMIT 5",
    ),
    (
        "Which pages mention a lamp?",
        "SELECT title, url FROM pages WHERE text ILIKE '% lamp %' ORDER BY title LIMIT 5",
    ),
    (
        "How fast did each host answer?",
        "SELECT host, count(*) AS pages, round(avg(elapsed_ms)) AS ms, sum(bytes) AS bytes FROM crawl_fetch GROUP BY 1",
    ),
)


@dataclass(frozen=True)
class Console:
    """What the demo prints; colours on a terminal only."""

    colours: bool

    def heading(self, words: str) -> None:
        """A step of the demo."""
        self._write(f"\n{self._styled(words, '1')}\n")

    def command(self, words: Sequence[str]) -> None:
        """A command, as one would type it."""
        self._write(self._styled("$ " + " ".join(map(_quoted, words)), "36") + "\n")

    def line(self, words: str) -> None:
        """Plain text."""
        self._write(words + "\n")

    def _styled(self, words: str, code: str) -> str:
        return f"\033[{code}m{words}\033[0m" if self.colours else words

    def _write(self, words: str) -> None:
        sys.stdout.write(words)
        sys.stdout.flush()


def _quoted(word: str) -> str:
    return word if word.replace("/", "").replace("-", "").replace(".", "").replace("=", "").isalnum() else f'"{word}"'


class StageFailedError(Exception):
    """A command of the demo did not end with 0; its own message is on stderr."""

    def __init__(self, command: str, code: int) -> None:
        super().__init__(command, code)
        self.command, self.code = command, code


@dataclass(frozen=True)
class Shell:
    """Runs nutchpy commands in the demo's folder."""

    folder: Path
    console: Console

    def run(self, *words: str) -> list[str]:
        """Show a command, run it, show what it prints; its output's lines."""
        self.console.command(["nutchpy", *words])
        done = subprocess.run(
            [sys.executable, "-X", "utf8", "-P", "-m", "nutchpy", *words],
            cwd=self.folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        with (self.folder / LOG).open("a", encoding="utf-8") as log:
            log.write(done.stderr)
        for line in [
            *(line for line in done.stderr.splitlines() if not _LOGGED.match(line)),
            *done.stdout.splitlines(),
        ]:
            self.console.line(line)
        if done.returncode != 0:
            raise StageFailedError(words[0], done.returncode)
        return done.stdout.splitlines()


def _environment() -> dict[str, str]:
    """The caller's environment without settings of other crawls."""
    return {name: value for name, value in os.environ.items() if not name.startswith("NUTCHPY_")}


@contextmanager
def _served(console: Console) -> Iterator[list[SiteServer]]:
    """The demo site on its own ports, or on free ones when another program has them."""
    try:
        serving = demo_servers(PORTS)
        servers = serving.__enter__()
    except OSError:
        console.line(f"(ports {', '.join(map(str, PORTS))} are taken: using free ones)")
        serving = demo_servers()
        servers = serving.__enter__()
    try:
        yield servers
    finally:
        serving.__exit__(None, None, None)


def _prepare(folder: Path, servers: Sequence[SiteServer]) -> None:
    """The files a user would write: seeds and settings."""
    conf = folder / "crawl" / "conf"
    conf.mkdir(parents=True)
    (conf / "nutchpy-site.toml").write_text(SITE_TOML, encoding="utf-8")
    handbook, journal, _ = servers
    seeds = f"{handbook.url()}\n{journal.url()}\tnutch.score=0.5\tkind=journal\n"
    (folder / "seeds.txt").write_text(seeds, encoding="utf-8")


def _crawl(shell: Shell) -> None:
    shell.run("inject", "crawl/crawldb", "seeds.txt")
    for number in range(1, DEPTH + 1):
        shell.console.heading(f"Round {number} of {DEPTH}")
        (segment,) = shell.run("generate", "crawl/crawldb", "crawl/segments", "-topN", "500")
        shell.run("fetch", segment, "-threads", "10")
        shell.run("parse", segment)
        shell.run("updatedb", "crawl/crawldb", segment)
    shell.console.heading("Links and duplicates")
    shell.run("invertlinks", "crawl/linkdb", "-dir", "crawl/segments")
    shell.run("dedup", "crawl/crawldb")


def _ask(shell: Shell) -> None:
    for question, statement in QUESTIONS:
        shell.console.heading(question)
        shell.run("sql", statement)


def _farewell(console: Console, folder: Path, seconds: float) -> None:
    console.heading(f"Done in {seconds:.0f} s. Everything lies in {folder}")
    for path, meaning in (
        ("seeds.txt", "where the crawl began"),
        ("crawl/conf/", "its settings"),
        ("crawl/crawldb/", "every URL known, and when it is due"),
        ("crawl/segments/", "what was fetched and parsed, a folder a round"),
        ("crawl/linkdb/", "who links to whom"),
        ("crawl/runs.jsonl", "what each stage did"),
        (LOG, "what the stages logged"),
    ):
        console.line(f"  {path:<18}{meaning}")
    console.line(f'Ask on:   bin/nutch sql -dir "{folder}/crawl" "SELECT url, title FROM pages LIMIT 10"')
    console.line(f'Look at:  bin/nutch readdb "{folder}/crawl/crawldb" -stats')
    console.line("The next run makes a folder of its own; remove these when you like.")


def main(argv: Sequence[str]) -> int:
    """Run the demo under the folder given; its exit code."""
    console = Console(sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    folder = Path(argv[0]).absolute() / time.strftime("%Y%m%d-%H%M%S")
    started = time.monotonic()
    with _served(console) as servers:
        _prepare(folder, servers)
        console.heading(f"The demo site stands at {' and '.join(server.url() for server in servers)}")
        console.line(f"Working in {folder}")
        shell = Shell(folder, console)
        try:
            _crawl(shell)
            _ask(shell)
        except StageFailedError as failed:
            console.heading(f"nutchpy {failed.command} ended with {failed.code}; the crawl so far lies in {folder}")
            return failed.code
        except KeyboardInterrupt:
            console.heading(f"Interrupted; the crawl so far lies in {folder}")
            return 5
    _farewell(console, folder, time.monotonic() - started)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
