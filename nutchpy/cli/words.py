"""Reads a command's words into its options: Nutch's single-dash names, their ``--`` forms, positional arguments.

Words may come in any order. An unknown word that begins with a dash is named whole, with what was probably meant. A
negative number is a number. Knows declarations (stages/options.py), not the command line's library.
"""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Literal, Union, get_args, get_origin

from nutchpy.core.errors import UsageError
from nutchpy.stages.options import Declared

_NUMBER: Final = re.compile(r"-\d+(\.\d+)?([eE][+-]?\d+)?")


@dataclass
class Read:
    """What the words said: values by field, and the words that belong to no option."""

    values: dict[str, Any] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)


def read(words: Sequence[str], declared: Sequence[Declared]) -> dict[str, Any]:
    """Values by field name, converted to the fields' types; UsageError for anything that does not fit."""
    options = [option for option in declared if not option.about.positional]
    found = _options(list(words), {name: option for option in options for name in option.spellings})
    positional = [option for option in declared if option.about.positional]
    return found.values | _positional(found.rest, positional)


def leading(words: Sequence[str], declared: Sequence[Declared], until: Set[str]) -> tuple[dict[str, Any], list[str]]:
    """Values of the options at the beginning, and the words from the first that is none, or that ``until`` holds."""
    names = {name: option for option in declared for name in option.spellings}
    left = list(words)
    found = Read()
    while left and left[0].startswith("-") and left[0] not in until:
        word = left.pop(0)
        name, attached = _match(word, names)
        _take(names[name], word, attached, left, found)
    return found.values, left


def takes_value(option: Declared) -> bool:
    """Whether a word must follow: not for a bool, nor for a setting whose mere presence decides."""
    return option.about.given is None and _plain(option.type) is not bool


def choices(kind: Any) -> list[str]:
    """The words an option of this type accepts, when they are few."""
    plain = _plain(kind)
    if get_origin(plain) is Literal:
        return [str(choice) for choice in get_args(plain)]
    return [str(member.value) for member in plain] if isinstance(plain, type) and issubclass(plain, Enum) else []


def repeats(kind: Any) -> bool:
    """Whether several values are taken."""
    return get_origin(kind) is tuple


def _options(words: list[str], names: Mapping[str, Declared]) -> Read:
    found = Read()
    while words:
        word = words.pop(0)
        if word == "--":
            found.rest += words
            break
        if not word.startswith("-") or word == "-" or _NUMBER.fullmatch(word):
            found.rest.append(word)
            continue
        name, attached = _match(word, names)
        _take(names[name], word, attached, words, found)
    return found


def _match(word: str, names: Mapping[str, Declared]) -> tuple[str, str | None]:
    """The option that a word names, and the value written onto it (``--top-n=5``, ``-Dname=value``)."""
    head, equals, tail = word.partition("=")
    for candidate, value in ((word, None), (head, tail if equals else None)):
        if candidate in names:
            return candidate, value
    short = word[:2]
    if equals and short in names and repeats(names[short].type) and not word.startswith("--"):
        return short, word[2:]
    folded = {name.lower(): name for name in names if len(name) > 2}
    if head.lower() in folded:
        return folded[head.lower()], tail if equals else None
    near = difflib.get_close_matches(head, names, n=1) or difflib.get_close_matches(f"-{head}", names, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UsageError(f"no option {head}{hint}")


def _take(option: Declared, word: str, attached: str | None, words: list[str], found: Read) -> None:
    if not takes_value(option):
        if attached is not None:
            raise UsageError(f"{word}: this option takes no value")
        found.values[option.name] = True if option.about.given is None else option.about.given
        return
    if attached is None and not words:
        raise UsageError(f"{word} needs a value{_of(option)}")
    value = converted(attached if attached is not None else words.pop(0), option.type, word.partition("=")[0])
    if repeats(option.type):
        found.values[option.name] = (*found.values.get(option.name, ()), value)
    else:
        found.values[option.name] = value


def _of(option: Declared) -> str:
    return f": {option.about.metavar}" if option.about.metavar else ""


def _positional(words: list[str], declared: Sequence[Declared]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for index, option in enumerate(declared):
        if repeats(option.type):
            taken = max(0, len(words) - sum(after.required for after in declared[index + 1 :]))
            values[option.name] = tuple(converted(word, option.type, shown(option)) for word in words[:taken])
            words = words[taken:]
        elif words:
            values[option.name] = converted(words.pop(0), option.type, shown(option))
        if option.required and not values.get(option.name):
            raise UsageError(f"{shown(option)} is missing: {option.about.help}")
        if option.name in values and values[option.name] == ():
            del values[option.name]
    if words:
        raise UsageError(f"too many arguments: {' '.join(words)}")
    return values


def shown(option: Declared) -> str:
    """A positional argument's name in usage lines and messages."""
    return option.about.metavar or option.name.upper()


def converted(word: str, kind: Any, name: str) -> Any:
    """A word as a value of a field's type."""
    plain = _plain(kind)
    if allowed := choices(kind):
        if word not in allowed:
            raise UsageError(f"{name} must be one of {', '.join(allowed)}, not {word!r}")
        return plain(word) if isinstance(plain, type) else word
    try:
        return plain(word)
    except ValueError:
        raise UsageError(f"{name} must be {_noun(plain)}, not {word!r}") from None


def _noun(kind: Any) -> str:
    return {int: "a whole number", float: "a number"}.get(kind, f"a {getattr(kind, '__name__', kind)}")


def _plain(kind: Any) -> Any:
    """``int`` for ``int | None`` and for ``tuple[int, ...]``."""
    if get_origin(kind) in (Union, types.UnionType):
        return _plain(next(part for part in get_args(kind) if part is not types.NoneType))
    return _plain(get_args(kind)[0]) if get_origin(kind) is tuple else kind
