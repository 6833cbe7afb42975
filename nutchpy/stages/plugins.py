"""plugins: show the plugins that are installed, which of them the settings enable, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass

from nutchpy.extension import registry
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument

EXAMPLE = """\
nutchpy plugins
nutchpy plugins urlfilter --json"""


@dataclass(frozen=True)
class PluginsOptions(Options):
    """See the module."""

    point: str | None = argument("Only the plugins of this extension point, such as urlfilter.", None)


def run(options: PluginsOptions, ctx: Context) -> Outcome:
    """List entry points; nothing is loaded."""
    points = [registry.require_point(options.point)] if options.point else registry.points()
    rows = [row for point in points for row in _rows(point, registry.enabled(ctx.conf)[point])]
    lines = [f"{row['point']:14} {row['name']:16} {_state(row['enabled']):10} {row['package']}" for row in rows]
    return Outcome(lines=lines, data=rows)


def _rows(point: str, names: list[str]) -> list[dict[str, str | int | None]]:
    places = {registry.plugin_name(point, name): place for place, name in enumerate(names, 1)}
    found = [
        {"point": point, "name": name, "enabled": places.get(name), "package": package}
        for name, package in registry.known(point).items()
    ]
    return sorted(found, key=lambda row: (row["enabled"] is None, row["enabled"] or 0))


def _state(place: str | int | None) -> str:
    return "-" if place is None else f"enabled {place}"
