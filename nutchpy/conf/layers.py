"""Settings in layers: shipped defaults, site file, environment, ``-D``, a command's own flag; each over the one before.

``defaults.toml`` is the only place where a default stands and the list of what exists: a name it lacks, or a value of
another type than its default's, stops the program wherever it was written. Reading takes no default argument.
A ``[host."example.org"]`` table of the site file lies over everything else for that host and the hosts under it: an
agreement with one site is not undone by a general ``-D``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from nutchpy.conf import rules as rule_files
from nutchpy.conf import values as kinds
from nutchpy.conf.rules import RuleText
from nutchpy.conf.values import Value
from nutchpy.core.errors import ConfigError

__all__ = ["Conf", "Layer", "RuleText", "Value", "conf_folder", "defaults", "load"]

SITE_FILE: Final = "nutchpy-site.toml"
CONF_DIR_VARIABLE: Final = "NUTCHPY_CONF_DIR"
PARENT_VARIABLE: Final = "NUTCHPY_PARENT"
"""The process that a command must not outlive (cli/signals.py)."""
ENV_PREFIX: Final = "NUTCHPY_"
NOT_SETTINGS: Final = frozenset({CONF_DIR_VARIABLE, PARENT_VARIABLE, "NUTCHPY_VENV", "NUTCHPY_CORPORA"})
"""Variables with our prefix that other parts read; all others must name a setting."""
_DEFAULTS: Final = Path(__file__).with_name("defaults.toml")
EXEMPTIONS: Final = "db.ignore.external.exemptions.file"
"""A rule file whose plugin stands in a list of another family."""

PluginDefaults = Callable[["Conf"], Mapping[str, Mapping[str, Any]]]
"""Given the settings so far, the ``defaults.toml`` of each enabled plugin, by plugin."""


@dataclass(frozen=True, slots=True)
class Layer:
    """What one place set. ``hosts`` holds the per-host tables of a site file."""

    name: str
    values: Mapping[str, Value]
    hosts: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conf:
    """All settings, immutable and picklable. ``conf_dir`` is the folder of the user's site and rule files, if any."""

    layers: tuple[Layer, ...]
    conf_dir: Path | None = None
    kinds: Mapping[str, type[Any]] = field(default_factory=dict, repr=False)
    _merged: Mapping[str, Value] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        merged: dict[str, Value] = {}
        for layer in self.layers:
            merged.update(layer.values)
        resolved = kinds.resolve(merged)
        declared = self.kinds or {name: type(value) for name, value in resolved.items()}
        for name, value in resolved.items():
            if type(value) is not declared[name]:
                resolved[name] = kinds.checked(name, value, declared[name], f"{self.origin(name)[-1][0]}, resolved,")
        object.__setattr__(self, "kinds", declared)
        object.__setattr__(self, "_merged", resolved)

    def __getitem__(self, name: str) -> Value:
        try:
            value = self._merged[name]
        except KeyError:
            raise ConfigError(kinds.unknown(name, self._merged)) from None
        return list(value) if isinstance(value, list) else value

    def __contains__(self, name: str) -> bool:
        return name in self._merged

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._merged))

    def text(self, name: str) -> str:
        """A setting whose default is a text."""
        value = self[name]
        return value if isinstance(value, str) else _misread(name, value, "text")

    def integer(self, name: str) -> int:
        """A setting whose default is a whole number."""
        value = self[name]
        return value if isinstance(value, int) and not isinstance(value, bool) else _misread(name, value, "integer")

    def number(self, name: str) -> float:
        """A setting whose default is a number, whole or not."""
        value = self[name]
        return float(value) if type(value) in (int, float) else _misread(name, value, "number")  # type: ignore[arg-type]

    def flag(self, name: str) -> bool:
        """A setting whose default is true or false."""
        value = self[name]
        return value if isinstance(value, bool) else _misread(name, value, "flag")

    def words(self, name: str) -> list[str]:
        """A setting whose default is a list."""
        value = self[name]
        return value if isinstance(value, list) else _misread(name, value, "words")

    def origin(self, name: str) -> list[tuple[str, Value]]:
        """Layer name and value for each layer that sets ``name``, lowest first."""
        if name not in self.kinds and name not in self._known():
            raise ConfigError(kinds.unknown(name, self._known()))
        return [(layer.name, layer.values[name]) for layer in self.layers if name in layer.values]

    def with_values(self, values: Mapping[str, Value | str], layer: str = "command line") -> Conf:
        """These values over everything else; texts are converted to the setting's type."""
        return self._over(Layer(layer, self._typed(values, layer))) if values else self

    def for_host(self, host: str) -> Conf:
        """The settings for one host: the site file's tables for its parent domains, then its own, over all layers."""
        tables = [(suffix, layer.hosts) for suffix in _suffixes(host) for layer in self.layers if suffix in layer.hosts]
        if not tables:
            return self
        return self._over(*(Layer(f'[host."{suffix}"]', hosts[suffix]) for suffix, hosts in tables))

    def rules(self, file_setting: str, inline_setting: str | None = None) -> RuleText:
        """The rules in ``inline_setting`` when it is not empty, else those of the file that ``file_setting`` names."""
        if inline_setting is not None and (text := self.text(inline_setting)).strip():
            return rule_files.inline(inline_setting, text)
        return rule_files.read(file_setting, self.text(file_setting), self.conf_dir)

    def rule_texts(self) -> dict[str, RuleText]:
        """The rules in force, by setting: of each rule file setting whose plugin is enabled and whose file exists."""
        found: dict[str, RuleText] = {}
        for name in filter(self._in_use, self):
            inline = name.replace(".file", ".rules")
            if (inline in self and self.text(inline).strip()) or rule_files.find(self.text(name), self.conf_dir):
                found[name] = self.rules(name, inline if inline in self else None)
        return found

    def rule_files(self) -> dict[str, str]:
        """SHA-256 of the rules in force, by setting: what a run records of them."""
        return {name: rules.sha256 for name, rules in self.rule_texts().items()}

    def _in_use(self, setting: str) -> bool:
        """``urlfilter.prefix.file`` counts when ``prefix`` is in ``urlfilter.order``; an unordered family always."""
        if setting == EXEMPTIONS:
            return bool(self._merged["urlexemptionfilter.order"])
        family, plugin, *rest = (*setting.split("."), "")
        if "file" not in (plugin, *rest) or not self._merged[setting]:
            return False
        order = self._merged.get(f"{family}.order")
        return not isinstance(order, list) or any(plugin in (name, f"{name}s", f"{name}es") for name in order)

    def _known(self) -> set[str]:
        return {name for layer in self.layers for name in layer.values}

    def _over(self, *layers: Layer) -> Conf:
        return replace(self, layers=(*self.layers, *layers))

    def _typed(self, values: Mapping[str, Any], where: str) -> dict[str, Value]:
        """Checked values; texts given to settings of other kinds are converted."""
        typed: dict[str, Value] = {}
        for name, value in values.items():
            kind = _kind(self, name, where)
            if isinstance(value, str):
                typed[name] = kinds.from_text(name, value, kind, where)
            else:
                typed[name] = kinds.checked(name, value, kind, where)
        return typed


def _kind(conf: Conf, name: str, where: str) -> type[Any]:
    if name not in conf.kinds:
        raise ConfigError(f"{kinds.unknown(name, conf.kinds)} ({where})")
    return conf.kinds[name]


def _misread(name: str, value: Value, wanted: str) -> Any:
    """A programmer's error, not a user's: the default's type was checked already."""
    raise TypeError(f"setting {name} is {type(value).__name__}, read as {wanted}")


def _suffixes(host: str) -> Iterator[str]:
    """``org``, ``example.org``, ``www.example.org``: parents first."""
    labels = host.lower().split(".")
    return (".".join(labels[start:]) for start in range(len(labels) - 1, -1, -1))


@lru_cache(maxsize=1)
def defaults() -> Conf:
    """The shipped defaults alone; tests put ``with_values`` over them."""
    return Conf((Layer("defaults", dict(kinds.flatten(_parsed(_DEFAULTS)))),))


def conf_folder(conf_dir: Path | None, crawl_dir: Path | None, env: Mapping[str, str]) -> Path | None:
    """The user's conf folder: the one asked for, else the crawl's ``conf``, else ``./conf``, else None."""
    asked = conf_dir or (Path(env[CONF_DIR_VARIABLE]) if env.get(CONF_DIR_VARIABLE) else None)
    if asked is not None:
        if not asked.is_dir():
            raise ConfigError(f"conf folder {asked} does not exist")
        return asked
    candidates = [crawl_dir / "conf"] if crawl_dir is not None else []
    return next((folder for folder in (*candidates, Path("conf")) if folder.is_dir()), None)


def load(
    conf_dir: Path | None,
    crawl_dir: Path | None,
    env: Mapping[str, str],
    overrides: Sequence[str],
    plugin_defaults: PluginDefaults | None = None,
) -> Conf:
    """The settings of a run. ``overrides`` are the ``name=value`` of ``-D``; errors name the layer and the file."""
    folder = conf_folder(conf_dir, crawl_dir, env)
    site = folder / SITE_FILE if folder is not None else None
    raw = _parsed(site) if site is not None and site.is_file() else {}
    given = _split(overrides)
    conf = replace(defaults(), conf_dir=folder)
    if plugin_defaults is not None:
        conf = _joined(conf, plugin_defaults(_lenient(conf, raw, env, given)))
    conf = conf._over(_site_layer(conf, raw, str(site))) if raw else conf
    conf = conf.with_values(_from_env(conf, env), "environment")
    return conf.with_values(given, "-D")


def _lenient(conf: Conf, raw: Mapping[str, Any], env: Mapping[str, str], given: Mapping[str, str]) -> Conf:
    """What the layers say of known settings: enough to learn which plugins are enabled before names are judged."""
    site = {name: value for name, value in kinds.flatten(raw) if name in conf.kinds}
    names = {_variable(name): name for name in conf.kinds}
    from_env = {names[key]: value for key, value in env.items() if key in names}
    overridden = {name: value for name, value in given.items() if name in conf.kinds}
    return conf.with_values(site, "site file").with_values(from_env, "environment").with_values(overridden, "-D")


def _joined(conf: Conf, plugins: Mapping[str, Mapping[str, Any]]) -> Conf:
    layers = [Layer(f"defaults of plugin {name}", dict(kinds.flatten(table))) for name, table in plugins.items()]
    for layer in layers:
        if taken := sorted(set(layer.values) & set(conf.kinds)):
            raise ConfigError(f"{layer.name} sets {taken[0]}, which is not its own")
    return Conf((*conf.layers, *layers), conf.conf_dir) if layers else conf


def _site_layer(conf: Conf, raw: Mapping[str, Any], source: str) -> Layer:
    plain = {key: value for key, value in raw.items() if key != "host"}
    hosts = raw.get("host", {})
    if not isinstance(hosts, dict) or not all(isinstance(table, dict) for table in hosts.values()):
        raise ConfigError(f'{source}: [host] holds tables only, such as [host."example.org"]')
    return Layer(
        source,
        _strictly(conf, plain, source),
        {_host_key(host): _strictly(conf, table, f'[host."{host}"] of {source}') for host, table in hosts.items()},
    )


def _host_key(host: str) -> str:
    """The form hosts have in the tables: lower case, ASCII."""
    from nutchpy.core.urls import host_of  # loads the suffix list, which a crawl without host tables can do without

    return host_of(f"http://{host}/") or host.lower()


def _strictly(conf: Conf, table: Mapping[str, Any], where: str) -> dict[str, Value]:
    """A TOML table's settings; a text where a number is wanted is a mistake there, not something to convert."""
    pairs = kinds.flatten(table)
    return {name: kinds.checked(name, value, _kind(conf, name, where), where) for name, value in pairs}


def _from_env(conf: Conf, env: Mapping[str, str]) -> dict[str, str]:
    names = {_variable(name): name for name in conf.kinds}
    found: dict[str, str] = {}
    for variable, value in sorted(env.items()):
        if not variable.startswith(ENV_PREFIX) or variable in NOT_SETTINGS:
            continue
        if variable not in names:
            near = kinds.nearest(variable, names)
            hint = f"; did you mean {near} ({names[near]})?" if near else ""
            raise ConfigError(f"environment variable {variable} names no setting{hint}")
        found[names[variable]] = value
    return found


def _variable(name: str) -> str:
    return ENV_PREFIX + name.upper().replace(".", "_").replace("-", "_")


def _split(overrides: Iterable[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for override in overrides:
        name, equals, value = override.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"-D takes name=value, not {override!r}")
        pairs[name.strip()] = value
    return pairs


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"settings file {path} cannot be read: {error}") from error
