"""Options of a stage: one frozen dataclass, the only place where an option is declared.

    @dataclass(frozen=True)
    class GenerateOptions(Options):
        crawldb: Path = argument("The crawldb folder.")
        top_n: int | None = flag("Select the N best-scoring URLs.", None, "-topN", metavar="N")
        max_count: int = setting("generate.max.count", "Most URLs per host.", "--max-count")
        filter: bool = setting("generate.filter", "Do not filter URLs.", "-noFilter", given=False)

``argument`` is positional (a ``tuple`` takes all the rest), ``flag`` has no setting behind it, ``setting`` takes its
value from the settings and, when given, lies over them. A Nutch name such as ``-topN`` gets the form ``--top-n``
beside it; an option without a name is called after its field. A ``bool`` takes no value; a ``tuple`` may be repeated.
Knows nothing of the command line's library: cli/command.py makes the command from the declaration.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, Self, get_type_hints

from nutchpy.conf.layers import Conf, Value

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_KEY: Final = "nutchpy"


class _Unset:
    """The value of a ``setting`` field before ``settled``; using it by mistake fails instead of passing for false."""

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        raise TypeError("this option was not settled: make options with Options.of(conf, …)")

    def __reduce__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset()


@dataclass(frozen=True, slots=True)
class Declaration:
    """What ``argument``, ``flag`` and ``setting`` say of a field."""

    help: str
    positional: bool = False
    names: tuple[str, ...] = ()
    setting: str | None = None
    given: Value | None = None
    """The value that a ``setting`` gets when its option, which then takes none, is present."""
    metavar: str | None = None


@dataclass(frozen=True, slots=True)
class Declared:
    """A field with its declaration, as the command line sees it."""

    name: str
    type: Any
    default: Any
    about: Declaration

    @property
    def spellings(self) -> list[str]:
        """Everything that names this option: ``-topN``, ``--top-n``."""
        names = self.about.names or (f"--{self.name.replace('_', '-')}",)
        short = all(len(name) == 2 for name in names)
        extra = [f"--{self.name.replace('_', '-')}"] if short else []
        return list(dict.fromkeys([*names, *(_long(name) for name in names), *extra]))

    @property
    def required(self) -> bool:
        """Whether the command cannot run without it."""
        return self.default is MISSING


def argument(help: str, default: Any = MISSING, *, metavar: str | None = None) -> Any:  # noqa: A002  typer's word
    """A positional argument; without a default it must be given."""
    return _field(Declaration(help, positional=True, metavar=metavar), default)


def flag(help: str, default: Any, *names: str, metavar: str | None = None) -> Any:  # noqa: A002  typer's word
    """An option of this command alone."""
    return _field(Declaration(help, names=names, metavar=metavar), default)


def setting(
    name: str,
    help: str,  # noqa: A002  typer's word
    *names: str,
    given: Value | None = None,
    metavar: str | None = None,
) -> Any:
    """An option that stands for a setting; ``given`` is what its mere presence sets."""
    return _field(Declaration(help, names=names, setting=name, given=given, metavar=metavar), UNSET)


def _field(about: Declaration, default: Any) -> Any:
    return field(default=default, metadata={_KEY: about}) if default is not MISSING else field(metadata={_KEY: about})


def _long(name: str) -> str:
    """``--top-n`` for ``-topN``; a two-character name such as ``-o`` has none of its own."""
    if name.startswith("--") or len(name) == 2:
        return name
    return f"-{_CAMEL.sub('-', name).lower()}"


@dataclass(frozen=True)
class Options:
    """Base of every command's options."""

    @classmethod
    def of(cls, conf: Conf, **given: Any) -> Self:
        """Options for a call from Python: what is not given comes from the settings."""
        return cls(**given).settled(conf)

    @classmethod
    def declared(cls) -> list[Declared]:
        """The fields in order, each with its declaration."""
        types = get_type_hints(cls)
        return [Declared(f.name, types[f.name], f.default, _about(f)) for f in fields(cls)]

    def overlay(self) -> dict[str, Value]:
        """The settings that were given as options: the top layer of the run's settings."""
        named = [(option.about.setting, getattr(self, option.name)) for option in self.declared()]
        return {name: value for name, value in named if name is not None and value is not UNSET}

    def settled(self, conf: Conf) -> Self:
        """With every ``setting`` that was not given filled in."""
        missing = {
            option.name: conf[option.about.setting]
            for option in self.declared()
            if option.about.setting is not None and getattr(self, option.name) is UNSET
        }
        return replace(self, **missing)

    def shown(self) -> dict[str, Any]:
        """What was given, as plain values: for logs and ``runs.jsonl``."""
        values = {o.name: getattr(self, o.name) for o in self.declared() if getattr(self, o.name) is not o.default}
        return {name: _plain(value) for name, value in values.items()}

    def recorded(self) -> bool:
        """Whether a run with these options belongs into the crawl's ``runs.jsonl``, if its command does."""
        return True

    def crawl_dir(self) -> Path | None:
        """The crawl folder the command works on; None when its options name none."""
        values = {option.name: getattr(self, option.name) for option in self.declared()}
        for name, levels in (("crawldb", 1), ("linkdb", 1), ("segments_dir", 1), ("segments", 2), ("segment", 2)):
            value = values.get(name)
            if isinstance(value, Path):
                return above(value, 1 if name == "segments" else levels)
            if isinstance(value, tuple) and value and isinstance(value[0], Path):
                return above(value[0], levels)
        return None


def _about(declared: Field[Any]) -> Declaration:
    about: Declaration = declared.metadata[_KEY]
    return about


def above(path: Path, levels: int) -> Path:
    """The folder ``levels`` above; ``crawldb`` alone lies in the current folder."""
    for _ in range(levels):
        path = path.parent if path.name not in ("", "..") else path / ".."
    return path


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, (bool, int, float, str, list, type(None))) else str(value)
