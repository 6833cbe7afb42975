"""Help: which commands there are, and how each is used. Typer lays it out; it is loaded when somebody asks.

Docstrings and examples keep their line breaks.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperCommand

from nutchpy.cli import words
from nutchpy.cli.command import COMMON, StageCommand
from nutchpy.stages.options import Declared


def of_program(text: str, commands: Sequence[tuple[str, str]]) -> str:
    """The program's help: a text, and each command with its summary."""
    return _ProgramHelp(text, commands).shown()


def of_command(stage: StageCommand) -> str:
    """A command's help."""
    return _CommandHelp(stage).shown()


class _Help(TyperCommand):
    """Laid out by itself alone: no decoration, no options but those it tells of."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, callback=None, params=[], rich_markup_mode=None)

    def shown(self) -> str:
        """The whole of it."""
        return self.get_help(typer.Context(self, info_name=self.name))


class _ProgramHelp(_Help):
    def __init__(self, text: str, commands: Sequence[tuple[str, str]]) -> None:
        super().__init__("nutchpy")
        self.text = text
        self.commands = commands

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """One line."""
        formatter.write_usage("nutchpy", "COMMAND [ARGUMENTS] [OPTIONS]")

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """The text as it stands."""
        formatter.write(f"\n{self.text}")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(self.commands)


class _CommandHelp(_Help):
    def __init__(self, stage: StageCommand) -> None:
        super().__init__(f"nutchpy {stage.name}")
        self.stage = stage

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """``nutchpy generate CRAWLDB SEGMENTS [OPTIONS]``: arguments first, as Nutch has them."""
        parts = [_usage(option) for option in self.stage.options.declared() if option.about.positional]
        formatter.write_usage(ctx.command_path, " ".join([*parts, "[OPTIONS]"]))

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """The stage's docstring as it was written."""
        formatter.write(f"\n{inspect.cleandoc(self.stage.text).replace('``', '')}\n")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, the command's own options, what every command takes."""
        own = self.stage.options.declared()
        arguments = [(words.shown(option), option.about.help) for option in own if option.about.positional]
        options = [(_spelled(option), _help(option)) for option in own if not option.about.positional]
        common = [(_spelled(option), _help(option)) for option in COMMON]
        for title, rows in (("Arguments", arguments), ("Options", options), ("Every command", common)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=34)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The example."""
        if self.stage.example:
            formatter.write("\nExample:\n" + "".join(f"  {line}\n" for line in self.stage.example.splitlines()))


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
