"""The registry: which plugins are installed, and how one is loaded by name.

A plugin is an entry point in the group ``nutchpy.<point>`` of any installed distribution; the shipped ones use the same
door. Installed is not enabled: the settings list what is. Nothing here builds a plugin or knows what it does.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module, resources
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any, Final

from nutchpy.conf.layers import Conf
from nutchpy.conf.values import nearest
from nutchpy.core.errors import ConfigError, PluginError

ORDERED: Final[dict[str, str]] = {
    "urlfilter": "urlfilter.order",
    "urlnormalizer": "urlnormalizer.order",
    "parse": "parse.order",
    "parsefilter": "htmlparsefilter.order",
    "scoring": "scoring.filter.order",
}
"""Points of which several plugins work in order, and the setting that lists them."""

SINGLE: Final[dict[str, str]] = {
    "protocol": "protocol.http",
    "schedule": "db.fetch.schedule.class",
    "signature": "db.signature.class",
}
"""Points of which one plugin works, and the setting that names it."""

_NUTCH_CLASS: Final = re.compile(r"org\.apache\.nutch\.(?:\w+\.)*(\w+)")
_NUTCH_SUFFIXES: Final = (
    "FetchSchedule",
    "Signature",
    "URLFilter",
    "URLNormalizer",
    "ScoringFilter",
    "Parser",
    "Filter",
)


def points() -> list[str]:
    """Names of all extension points."""
    return sorted((*ORDERED, *SINGLE))


def forget() -> None:
    """Look again at what is installed, at the next question; for programs that install while they run."""
    _entries.cache_clear()
    _installed.cache_clear()


def require_point(name: str) -> str:
    """``name``, when it is an extension point's; PluginError otherwise."""
    if name not in points():
        raise PluginError(f"no extension point {name!r}; there are {', '.join(points())}")
    return name


def known(point: str) -> dict[str, str]:
    """Name of each installed plugin of a point, and the distribution it comes from."""
    return {name: _distribution(entry) for name, entry in sorted(_entries(point).items())}


def load(point: str, name: str) -> type[Any]:
    """The plugin's class; PluginError when no one provides it, two do, or a module that it needs is missing."""
    entry = _entry(point, name)
    try:
        found: type[Any] = entry.load()
    except ModuleNotFoundError as error:
        raise PluginError(f"{point} plugin {entry.name!r} needs the module {error.name!r}, not installed") from error
    except (ImportError, AttributeError) as error:
        raise PluginError(f"{point} plugin {entry.name!r} ({entry.value}) cannot be loaded: {error}") from error
    return found


def plugin_name(point: str, name: str) -> str:
    """The plugin's own name, for that name or Nutch's class name (``org.apache.nutch.crawl.AdaptiveFetchSchedule``)."""
    return _entry(point, name).name


def enabled(conf: Conf) -> dict[str, list[str]]:
    """The plugins that the settings turn on, by point."""
    ordered = {point: conf.words(setting) for point, setting in ORDERED.items()}
    return ordered | {point: [conf.text(setting)] for point, setting in SINGLE.items()}


def plugin_defaults(conf: Conf) -> dict[str, Mapping[str, Any]]:
    """``defaults.toml`` beside the module of each enabled plugin from outside; the shipped ones' stand in ours."""
    found: dict[str, Mapping[str, Any]] = {}
    for point, names in enabled(conf).items():
        for name in names:
            entry = _entry(point, name)
            if not entry.module.startswith("nutchpy.") and (table := _beside(entry)):
                found[f"{point} {entry.name}"] = table
    return found


@lru_cache(maxsize=32)
def _entries(point: str) -> dict[str, EntryPoint]:
    """All entry points of a group. The same name from two distributions is an error, never an override."""
    found: dict[str, EntryPoint] = {}
    for entry in _installed()(group=f"nutchpy.{point}"):
        if entry.name in found:
            both = " and ".join(sorted((_distribution(found[entry.name]), _distribution(entry))))
            raise PluginError(f"{point} plugin {entry.name!r} is provided twice, by {both}; uninstall one")
        found[entry.name] = entry
    return found


@lru_cache(maxsize=1)
def _installed() -> Callable[..., EntryPoints]:
    """Selects from what all distributions offer. Files of each are read for it, so that is done once for all points."""
    return entry_points().select


def _entry(point: str, name: str) -> EntryPoint:
    entries = _entries(point)
    wanted = _from_nutch(name)
    for known_name, entry in entries.items():
        if known_name == name or known_name.replace("_", "") == wanted:
            return entry
    near = nearest(name, entries)
    hint = f"did you mean {near!r}? " if near else ""
    raise PluginError(f"no {point} plugin {name!r}; {hint}Installed: {', '.join(sorted(entries)) or 'none'}")


def _from_nutch(name: str) -> str | None:
    """``adaptive`` for ``org.apache.nutch.crawl.AdaptiveFetchSchedule``; None when it is no class of Nutch's."""
    match = _NUTCH_CLASS.fullmatch(name)
    if match is None:
        return None
    stem = match[1]
    suffix = next((suffix for suffix in _NUTCH_SUFFIXES if stem.endswith(suffix) and stem != suffix), "")
    return stem.removesuffix(suffix).lower()


def _distribution(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "(unknown)"


def _beside(entry: EntryPoint) -> Mapping[str, Any] | None:
    try:
        package = import_module(entry.module).__package__ or entry.module
        file = resources.files(package) / "defaults.toml"
        return tomllib.loads(file.read_text("utf-8")) if file.is_file() else None
    except (ImportError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"settings of plugin {entry.name!r} ({entry.module}) cannot be read: {error}") from error
