"""The command line: which commands there are, how one is run, and what exit code its end means.

0 done; 1 generate: nothing due; 2 usage or settings; 3 locked; 4 bad or damaged data, or a disk that does not take
more; 5 interrupted, work kept; 70 anything else. A command's module is imported only when it is asked for.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NoReturn

from nutchpy.cli import words
from nutchpy.cli.command import COMMON, Call, Common, StageCommand, build, wants_help
from nutchpy.conf.values import nearest
from nutchpy.core.errors import NutchpyError, UsageError, exit_code
from nutchpy.core.version import VERSION
from nutchpy.light_arrow import keep_memory, load_arrow


@dataclass(frozen=True)
class Entry:
    """One command: the stage module that is it, and a line for the list of commands."""

    module: str
    summary: str


def _stage(name: str, summary: str) -> Entry:
    return Entry(f"nutchpy.stages.{name}", summary)


COMMANDS: Final[dict[str, Entry]] = {
    "crawl": _stage("crawl", "Crawl from seeds to a depth: all the stages below, in rounds."),
    "inject": _stage("inject", "Add seed URLs to the crawldb."),
    "generate": _stage("generate", "Choose the URLs that are due and write them as a new segment."),
    "fetch": _stage("fetch", "Fetch the pages of a segment."),
    "parse": _stage("parse", "Parse the pages of a segment: text, links, metadata."),
    "updatedb": _stage("updatedb", "Bring what segments found into the crawldb."),
    "invertlinks": _stage("invertlinks", "Bring the links of segments into the linkdb."),
    "dedup": _stage("dedup", "Mark pages of equal content as duplicates in the crawldb."),
    "expire": _stage("expire", "Delete old segments or bodies; keep the newest of each page, and the history."),
    "snapshot": _stage("snapshot", "Copy a crawl as it is at one instant, while stages may be at work on it."),
    "rebucket": _stage("rebucket", "Divide a database into more or fewer files."),
    "unfinished": _stage("unfinished", "Show segments that a run left half done, and the stage each is in."),
    "readdb": _stage("readdb", "Read the crawldb: statistics, one URL, dumps."),
    "readseg": _stage("readseg", "Read segments: list, one URL, dumps."),
    "readlinkdb": _stage("readlinkdb", "Read the linkdb: the links to one URL, dumps."),
    "sql": _stage("sql", "Query a crawl with SQL."),
    "parsechecker": _stage("parsechecker", "Fetch and parse one URL and show what came of it."),
    "filterchecker": _stage("filterchecker", "Show which URLs of stdin the filters accept."),
    "normalizerchecker": _stage("normalizerchecker", "Show the normal form of URLs of stdin."),
    "robotsparser": _stage("robotsparser", "Show which URLs a robots.txt allows."),
    "conf": _stage("conf", "Show settings, and which layer set them."),
    "showproperties": _stage("conf", "Nutch's name for conf."),
    "plugins": _stage("plugins", "Show the plugins that are installed, and those enabled."),
    "schema": _stage("schema", "Show the columns of the tables."),
    "doctor": _stage("doctor", "Check that a crawl is whole: read everything, change nothing."),
    "upgrade": _stage("upgrade", "Write a crawl's older parts anew, with the columns declared since."),
    "path": _stage("path", "Show the folder in which a database's current Parquet files lie."),
}

WITHOUT_NUMPY: Final = frozenset(
    ("inject", "fetch", "parse", "invertlinks", "dedup", "rebucket", "readdb", "readseg", "parsechecker", "doctor")
)
"""Commands that compute with Arrow and hand none of it to plugins of the user's."""
REWRITING: Final = frozenset(("inject", "updatedb", "dedup", "invertlinks", "rebucket"))
"""Commands that read a database and write it anew, and end."""

NUTCH_ONLY: Final = {
    *("mergedb", "mergesegs", "mergelinkdb", "freegen", "updatehostdb", "readhostdb", "sitemap"),
    *("domainstats", "protocolstats", "crawlcomplete", "webgraph", "linkrank", "scoreupdater", "nodedumper"),
    *("index", "clean", "indexchecker", "solrindex", "solrdedup", "solrclean", "dump", "commoncrawldump", "warc"),
    *("startserver", "nutchserver", "webapp"),
} - set(COMMANDS)
"""Commands of Nutch that are not here (yet): a name that is right there is no typing error here."""

HELP: Final = """nutchpy: crawl the web in stages, over Parquet tables that you can query with SQL.

Nutch's commands, argument order and flags work as they do there; each flag has a --form too.
nutchpy COMMAND --help explains a command and ends with an example.
"""


_HELP_WORDS: Final = frozenset({"-h", "--help", "help"})
_VERSION_WORDS: Final = frozenset({"-V", "--version"})


@dataclass(frozen=True)
class Told:
    """What a command line gets that asks for no command: a text."""

    text: str
    exit_code: int = 0


def asked(args: Sequence[str]) -> Call | Told:
    """What a command line asks for. One without words is told what there is, and is an error of use all the same."""
    values, rest = words.leading(args, COMMON, _HELP_WORDS | _VERSION_WORDS)
    name, *after = rest or ["--help"]
    if name in _VERSION_WORDS:
        return Told(f"nutchpy {VERSION}")
    if name in _HELP_WORDS and not after:
        return _help(None, 0 if rest else UsageError.exit_code)
    if name in _HELP_WORDS:
        name, after = after[0], ["--help"]
    command = _command(name)
    return _help(command) if wants_help(after) else command.call(after, Common(**values))


def _command(name: str) -> StageCommand:
    """The command, imported; UsageError when there is none of that name."""
    entry = COMMANDS.get(name)
    if entry is None:
        raise UsageError(f"{_no_command(name)} (nutchpy --help lists the commands)")
    if name in REWRITING:
        keep_memory()
    if name in WITHOUT_NUMPY:
        load_arrow("pyarrow.compute")
    return build(name, entry.module)


def _help(command: StageCommand | None, code: int = 0) -> Told:
    """A command's help, or the program's."""
    from nutchpy.cli import manual  # typer takes 35 ms to import, and commands that run need none of it

    if command is not None:
        return Told(manual.of_command(command), code)
    return Told(manual.of_program(HELP, [(name, entry.summary) for name, entry in COMMANDS.items()]), code)


def _no_command(name: str) -> str:
    if name in NUTCH_ONLY:
        return f"Nutch's {name} is not in this version of nutchpy"
    near = nearest(name, COMMANDS)
    return f"no command {name!r}" + (f"; did you mean {near}?" if near else "")


def main() -> NoReturn:
    """The ``nutchpy`` program."""
    sys.exit(run(sys.argv[1:]))


def run(args: Sequence[str]) -> int:
    """Carry out one command line; the exit code. Whatever goes wrong is one line on stderr."""
    debug = "--debug" in args
    try:
        call = asked(args)
        code = execute(call) if isinstance(call, Call) else _tell(call)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return 0  # whoever read the output had enough of it
    except KeyboardInterrupt as signal:
        return _failed("interrupted", signal, debug)
    except NutchpyError as error:
        return _failed(str(error), error, debug)
    except OSError as error:
        _give_up_full_output()
        return _failed(_os_error(error), error, debug)
    except Exception as error:  # noqa: BLE001  the outermost place: a bug becomes one line and exit code 70
        hint = "" if debug else " (--debug shows the traceback)"
        return _failed(f"internal error: {type(error).__name__}: {error}{hint}", error, debug)
    return code


def execute(call: Call) -> int:
    """Read the settings, run the stage under its signals, print what it gives; the exit code."""
    from nutchpy.cli import logs, output, progress, signals
    from nutchpy.conf.layers import load
    from nutchpy.extension.registry import plugin_defaults
    from nutchpy.stages.context import Context
    from nutchpy.stages.runner import run_stage

    options, common = call.options, call.common
    crawl_dir = options.crawl_dir()
    logs.set_up(options, common, crawl_dir)
    bar = progress.shown(common.quiet or logs.is_cron(options))
    ctx = Context(
        conf=load(None, crawl_dir, os.environ, common.define, plugin_defaults),
        now=datetime.now(UTC),
        crawl_dir=crawl_dir,
        progress=bar,
        wait_lock=common.wait_lock,
        accept_conf_change=common.accept_conf_change,
    )
    with signals.caught(ctx.stop), signals.parent_followed(os.environ):
        try:
            outcome = run_stage(call.name, options, ctx)
            ctx.stop.watched = False  # nobody looks while lines are printed: a signal may end that where it stands
            output.write(outcome, common.json)
        finally:
            bar.close()
    return outcome.exit_code


def _tell(told: Told) -> int:
    sys.stdout.write(f"{told.text}\n")
    return told.exit_code


def _failed(message: str, error: BaseException, debug: bool) -> int:
    """Say it, with the trace when asked; the exit code."""
    if debug:
        import traceback

        traceback.print_exception(error)
    with contextlib.suppress(OSError):  # stderr may be gone too
        print(f"nutchpy: {message}", file=sys.stderr, flush=True)  # noqa: T201  the one place that says it
    return exit_code(error)


def _os_error(error: OSError) -> str:
    where = f": {error.filename}" if error.filename else ""
    return f"{error.strerror or error}{where}"


def _give_up_full_output() -> None:
    """What a full disk did not take it will not take at exit either, and then the exit code would be the flush's."""
    try:
        sys.stdout.flush()
    except OSError:
        _discard_output()


def _discard_output() -> None:
    """Point stdout at nothing, so that the interpreter's own flush at exit does not fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
