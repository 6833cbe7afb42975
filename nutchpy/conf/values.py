"""Setting values: their five kinds, conversion from text, flattening of TOML tables, the messages when one is wrong.

Pure functions over plain values; files and layers are layers.py's business.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from nutchpy.core.errors import ConfigError

Value = bool | int | float | str | list[str]
"""What a setting can hold; the type of its shipped default is its type for good."""

_REFERENCE: Final = re.compile(r"\$\{([A-Za-z][\w.-]*)\}")
_WORD_BREAK: Final = re.compile(r"[,\s]+")
_EXPECTED: Final[dict[type[Any], str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text in quotes",
    list: "a list of texts",
}


def flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Full names and values of nested TOML tables: ``[http]`` with ``"redirect.max"`` is ``http.redirect.max``."""
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from flatten(value, f"{name}.")
        else:
            yield name, value


def checked(name: str, value: Any, kind: type[Any], where: str) -> Value:
    """``value`` when it is of the setting's kind, else ConfigError.

    A whole number will do for a number, and Nutch's commas (``"a,b"``, ``""``) for a list.
    """
    if isinstance(value, str) and _REFERENCE.fullmatch(value):
        return value
    if kind is float and type(value) is int:
        return float(value)
    if kind is list and isinstance(value, str):
        return from_text(name, value, kind, where)
    if type(value) is not kind or (isinstance(value, list) and not all(isinstance(item, str) for item in value)):
        raise wrong_type(name, value, kind, where)
    result: Value = value
    return result


def from_text(name: str, text: str, kind: type[Any], where: str) -> Value:
    """The value a text means on the command line or in the environment."""
    if kind is str or _REFERENCE.fullmatch(text):
        return text
    try:
        return _converted(text.strip(), kind)
    except (ValueError, KeyError) as error:
        raise wrong_type(name, text, kind, where) from error


def _converted(text: str, kind: type[Any]) -> Value:
    if kind is bool:
        return {"true": True, "false": False}[text.lower()]
    if kind is int:
        return int(text)
    if kind is float:
        return float(text)
    return _words(text)


def _words(text: str) -> list[str]:
    """``a,b c`` or, for items with spaces or commas in them, a TOML array."""
    if not text.startswith("["):
        return [word for word in _WORD_BREAK.split(text) if word]
    items = tomllib.loads(f"items = {text}")["items"]
    if not all(isinstance(item, str) for item in items):
        raise ValueError(text)
    return list(items)


def resolve(values: Mapping[str, Value]) -> dict[str, Value]:
    """``values`` with every ``${other.setting}`` replaced; a value that is nothing else takes the other's type too."""
    resolved = dict(values)
    for name, value in values.items():
        if isinstance(value, str) and "${" in value:
            resolved[name] = _followed(name, values, ())
    return resolved


def _followed(name: str, values: Mapping[str, Value], seen: tuple[str, ...]) -> Value:
    value = values[name]
    if not isinstance(value, str):
        return value
    if name in seen:
        raise ConfigError(f"settings refer to each other in a circle: {' -> '.join((*seen, name))}")

    def target(match: re.Match[str]) -> Value:
        if match[1] not in values:
            raise ConfigError(f"setting {name} refers to {match[0]}: {unknown(match[1], values)}")
        return _followed(match[1], values, (*seen, name))

    whole = _REFERENCE.fullmatch(value)
    return target(whole) if whole else _REFERENCE.sub(lambda match: shown(target(match)), value)


def shown(value: Value) -> str:
    """A value as text that ``from_text`` reads back."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, list):
        return str(value)
    plain = value and value == _WORD_BREAK.split(",".join(value)) and not value[0].startswith("[")
    return ",".join(value) if plain and all(value) else json.dumps(value, ensure_ascii=False)


def wrong_type(name: str, value: object, kind: type[Any], where: str) -> ConfigError:
    """The error for a value of another kind."""
    return ConfigError(f"setting {name} in {where} must be {_EXPECTED[kind]}, not {value!r}")


def unknown(name: str, known: Iterable[str]) -> str:
    """``unknown setting …`` with the nearest known name, when there is one."""
    near = nearest(name, known)
    return f"unknown setting {name!r}" + (f"; did you mean {near!r}?" if near else "")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word a typing error most likely meant: one that ends alike, else the closest spelling."""
    names = sorted(known)
    tails = [name for name in names if name.endswith(f".{word}")]
    lowered = {name.lower(): name for name in reversed(names)}
    close = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    return tails[0] if tails else lowered[close[0]] if close else None
