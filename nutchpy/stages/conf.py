"""conf: show settings, and which layer gave them their value.

With a name, the value of each layer that sets it, the last one in force; with the beginning of names (``http`` or
``http.robots``), all of those; without, all settings. ``-dir`` looks at them as a stage working on that crawl would.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nutchpy.conf.layers import Conf
from nutchpy.conf.values import Value, shown
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument, flag

EXAMPLE = """\
nutchpy conf http.redirect.max
nutchpy conf fetcher -dir crawl --host www.example.org"""


@dataclass(frozen=True)
class ConfOptions(Options):
    """See the module."""

    name: str | None = argument("A setting, or the beginning of several.", None)
    dir: Path | None = flag("The crawl folder whose settings are looked at.", None, "-dir", metavar="CRAWL")
    host: str | None = flag("The settings for this host.", None, "--host", metavar="HOST")

    def crawl_dir(self) -> Path | None:
        """The folder asked for."""
        return self.dir


def run(options: ConfOptions, ctx: Context) -> Outcome:
    """Read nothing but the settings."""
    conf = ctx.conf.for_host(options.host) if options.host else ctx.conf
    if options.name is not None and options.name in conf:
        return _one(conf, options.name)
    names = [name for name in conf if options.name is None or name.startswith(f"{options.name}.")]
    if not names:
        conf.origin(str(options.name))  # raises, with what was probably meant
    return Outcome(lines=_listed(conf, names), data={name: _public(name, conf[name]) for name in names})


def _one(conf: Conf, name: str) -> Outcome:
    origin = conf.origin(name)
    width = max(len(layer) for layer, _ in origin)
    origin = [(layer, _public(name, value)) for layer, value in origin]
    told = _public(name, conf[name])
    lines = [f"{name} = {shown(told)}", *(f"  {layer:{width}}  {shown(value)}" for layer, value in origin)]
    layers = [{"layer": layer, "value": value} for layer, value in origin]
    return Outcome(lines=lines, data={"name": name, "value": told, "layers": layers})


def _listed(conf: Conf, names: list[str]) -> Iterator[str]:
    for name in names:
        layers = conf.origin(name)
        by = f"   ({layers[-1][0]})" if len(layers) > 1 else ""
        yield f"{name} = {shown(_public(name, conf[name]))}{by}"


def _public(name: str, value: Value) -> Value:
    """A value as anybody may see it: passwords and headers tell that they are set, or which variable holds them."""
    if name == "http.request.headers" and isinstance(value, list):
        pairs = (line.partition(":") for line in value)
        return [f"{key}: {_hidden(secret.strip())}" for key, _, secret in pairs]
    return _hidden(value) if name.endswith(".password") and isinstance(value, str) else value


def _hidden(value: str) -> str:
    return value if not value or value.startswith("env:") else "(not shown)"
