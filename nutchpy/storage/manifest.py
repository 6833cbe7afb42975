"""Manifests: the ``_meta.json`` of a generation or a segment as a value. What does not fit it is damage, by its name.

May know: JSON files and dataclasses; not what a manifest is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from nutchpy.core.errors import DamagedError
from nutchpy.storage import fs

Kind = TypeVar("Kind")


def mapping(path: Path, what: str) -> dict[str, Any]:
    """A JSON file that holds an object; DamagedError naming it when it does not."""
    found = fs.read_json(path)
    if not isinstance(found, dict):
        raise DamagedError(f"{path} does not describe {what}")
    return found


def described(found: Mapping[str, Any], kind: type[Kind], path: Path, what: str) -> Kind:
    """``found``, read from ``path``, as a dataclass; DamagedError for a field missing, unknown or of another type."""
    known = _fields(kind)
    unknown = sorted(found.keys() - known.keys())
    if unknown:
        raise DamagedError(
            f"{path} does not describe {what}: it says {', '.join(unknown)}; a newer nutchpy may know that"
        )
    for name, (field, hint) in known.items():
        if name not in found and field.default is MISSING and field.default_factory is MISSING:
            raise DamagedError(f"{path} does not describe {what}: it says no {name}")
        if name in found and not _fits(found[name], hint):
            raise DamagedError(f"{path} does not describe {what}: {name} cannot be {str(found[name])[:60]!r}")
    return kind(**found)


def _fields(kind: type[Any]) -> Mapping[str, tuple[Field[Any], Any]]:
    hints = get_type_hints(kind)
    return {field.name: (field, hints[field.name]) for field in fields(kind)}


def _fits(value: Any, hint: Any) -> bool:
    """Whether what JSON holds is of a type: a plain one, a union, or a mapping or sequence of such."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is None:
        return isinstance(value, hint) and not (isinstance(value, bool) and hint is not bool)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if issubclass(origin, Mapping):
        return isinstance(value, dict) and all(_fits(one, inner[1]) for one in value.values())
    return isinstance(value, list) and all(_fits(one, inner[0]) for one in value)
