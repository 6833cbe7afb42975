"""Makes a typer command from a stage module: its docstring, its options, an example. Typer shows; words.py reads."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Final

import typer
from typer.core import TyperCommand

from nutchpy.cli import words
from nutchpy.core.errors import UsageError
from nutchpy.stages.options import Declared, Options, flag


@dataclass(frozen=True)
class Common(Options):
    """What every command takes, before or after its name."""

    define: tuple[str, ...] = flag("Set a setting for this run; may be repeated.", (), "-D", metavar="NAME=VALUE")
    json: bool = flag("Print the result as JSON.", False, "--json")
    wait_lock: float = flag("Wait so long for another writer to end.", 0.0, "--wait-lock", metavar="SECONDS")
    accept_conf_change: bool = flag(
        "Go on although rule files are not where this crawl's last run found them.", False, "--accept-conf-change"
    )
    quiet: bool = flag("Log warnings only, show no progress.", False, "--quiet")
    debug: bool = flag("Log more, and show the traceback of an error.", False, "--debug")

    def over(self, other: Common) -> Common:
        """These, where they were given, over what stood before the command's name."""
        both = {option.name: getattr(self, option.name) or getattr(other, option.name) for option in self.declared()}
        return Common(**both | {"define": (*other.define, *self.define)})


COMMON: Final = Common.declared()


@dataclass(frozen=True)
class Call:
    """One command line, read: which command, with which options."""

    name: str
    options: Options
    common: Common


def wants_help(args: Sequence[str]) -> bool:
    """Whether ``-h`` or ``--help`` stands among the words, before ``--``."""
    return not {"-h", "--help"}.isdisjoint(args[: args.index("--")] if "--" in args else args)


def options_class(module: ModuleType) -> type[Options]:
    """The Options of a stage module: the subclass that it, or a module of its package, defines."""
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, Options) and _within(value.__module__, module.__name__):
            return value
    raise TypeError(f"{module.__name__} defines no subclass of Options")


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def build(name: str, module_path: str) -> StageCommand:
    """The command ``name`` of the stage in ``module_path``."""
    return StageCommand(name, import_module(module_path))


class StageCommand(TyperCommand):
    """A command whose words are read by words.py, and whose help keeps the line breaks of docstring and example."""

    def __init__(self, name: str, module: ModuleType) -> None:
        super().__init__(name=name, help=module.__doc__, callback=None, params=[], rich_markup_mode=None)
        self.stage = name
        self.options = options_class(module)
        self.example = str(getattr(module, "EXAMPLE", "")).strip()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Words into the context's parameters; ``--help`` anywhere before ``--`` shows the help."""
        if wants_help(args):
            typer.echo(ctx.get_help())
            raise typer.Exit
        own = self.options.declared()
        try:
            values = words.read(args, [*COMMON, *own])
        except UsageError as error:
            raise UsageError(f"{self.stage}: {error} ({ctx.command_path} --help)") from error
        names = {option.name for option in own}
        common = Common(**{name: value for name, value in values.items() if name not in names})
        options = self.options(**{name: value for name, value in values.items() if name in names})
        ctx.params = {"options": options, "common": common.over(ctx.obj or Common())}
        return []

    def invoke(self, ctx: Any) -> Call:
        """What was asked for; main.py carries it out, outside of typer and its own ideas of exit codes."""
        return Call(self.stage, ctx.params["options"], ctx.params["common"])

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """``nutchpy generate CRAWLDB SEGMENTS [OPTIONS]``: arguments first, as Nutch has them."""
        parts = [_usage(option) for option in self.options.declared() if option.about.positional]
        formatter.write_usage(ctx.command_path, " ".join([*parts, "[OPTIONS]"]))

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """The stage's docstring as it was written."""
        formatter.write(f"\n{inspect.cleandoc(self.help or '').replace('``', '')}\n")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, the command's own options, what every command takes."""
        own = self.options.declared()
        arguments = [(words.shown(option), option.about.help) for option in own if option.about.positional]
        options = [(_spelled(option), _help(option)) for option in own if not option.about.positional]
        common = [(_spelled(option), _help(option)) for option in COMMON]
        for title, rows in (("Arguments", arguments), ("Options", options), ("Every command", common)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=34)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The example."""
        if self.example:
            formatter.write("\nExample:\n" + "".join(f"  {line}\n" for line in self.example.splitlines()))


def _usage(option: Declared) -> str:
    name = words.shown(option) + ("..." if words.repeats(option.type) else "")
    return name if option.required else f"[{name}]"


def _spelled(option: Declared) -> str:
    value = f" {option.about.metavar or _value(option)}" if words.takes_value(option) else ""
    return ", ".join(option.spellings) + value


def _value(option: Declared) -> str:
    kind = str(option.type)
    return "|".join(words.choices(option.type)) or ("N" if "int" in kind else "X" if "float" in kind else "VALUE")


def _help(option: Declared) -> str:
    about = option.about
    if about.setting is not None:
        return f"{about.help} [setting {about.setting}]"
    plain = option.default
    told = plain not in (None, False, (), "") and not (isinstance(plain, float) and plain == 0.0)
    return f"{about.help} [default: {plain}]" if told else about.help
