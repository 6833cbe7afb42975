"""A command made of a stage module: its docstring, its options, an example. words.py reads it, manual.py shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Final

from nutchpy.cli import words
from nutchpy.core.errors import UsageError
from nutchpy.stages.options import Options, flag


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


class StageCommand:
    """A command whose words are read by words.py."""

    def __init__(self, name: str, module: ModuleType) -> None:
        self.name = name
        self.text = module.__doc__ or ""
        self.options = options_class(module)
        self.example = str(getattr(module, "EXAMPLE", "")).strip()

    def call(self, args: Sequence[str], before: Common) -> Call:
        """What the words ask for; ``before`` is what stood before the command's name."""
        own = self.options.declared()
        try:
            values = words.read(args, [*COMMON, *own])
        except UsageError as error:
            raise UsageError(f"{self.name}: {error} (nutchpy {self.name} --help)") from error
        names = {option.name for option in own}
        common = Common(**{name: value for name, value in values.items() if name not in names})
        options = self.options(**{name: value for name, value in values.items() if name in names})
        return Call(self.name, options, common.over(before))
