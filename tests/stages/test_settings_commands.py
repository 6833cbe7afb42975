"""The commands that show settings, plugins, schemas and paths."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import ConfigError, MissingError, PluginError, UsageError
from nutchpy.stages import conf, path, plugins, schema
from nutchpy.stages.context import Context
from nutchpy.storage.schema import TABLES

CTX = Context(defaults().with_values({"http.redirect.max": 2}, "-D"), datetime.now(UTC))


def test_conf_shows_the_value_of_each_layer() -> None:
    outcome = conf.run(conf.ConfOptions("http.redirect.max"), CTX)
    assert list(outcome.lines) == ["http.redirect.max = 2", "  defaults  0", "  -D        2"]
    assert outcome.data["layers"] == [{"layer": "defaults", "value": 0}, {"layer": "-D", "value": 2}]


def test_conf_lists_all_or_a_family() -> None:
    everything = conf.run(conf.ConfOptions(), CTX)
    assert set(everything.data) == set(defaults())
    assert "http.redirect.max = 2   (-D)" in list(everything.lines)
    family = conf.run(conf.ConfOptions("fetcher.server"), CTX)
    assert family.data == {"fetcher.server.delay": 5.0, "fetcher.server.min.delay": 0.0}


def test_conf_refuses_an_unknown_name_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'http\.redirect\.max'"):
        conf.run(conf.ConfOptions("http.redirct.max"), CTX)


def test_conf_keeps_secrets_to_itself() -> None:
    values = {
        "http.proxy.password": "s3cret",
        "http.tls.client.key.password": "env:KEY",
        "http.request.headers": ["X-Key: s3cret", "X-Other: env:OTHER"],
    }
    ctx = Context(defaults().with_values(values), datetime.now(UTC))
    told = [conf.run(conf.ConfOptions(name), ctx) for name in (None, *values)]
    assert "s3cret" not in " ".join(line for outcome in told for line in outcome.lines) + repr([o.data for o in told])
    assert told[0].data["http.proxy.password"] == "(not shown)"
    assert told[0].data["http.tls.client.key.password"] == "env:KEY"
    assert told[0].data["http.request.headers"] == ["X-Key: (not shown)", "X-Other: env:OTHER"]


def test_plugins_come_in_their_order_the_others_after() -> None:
    outcome = plugins.run(plugins.PluginsOptions("urlfilter"), CTX)
    assert [(row["name"], row["enabled"]) for row in outcome.data][:2] == [("limits", 1), ("regex", 2)]
    assert {row["enabled"] for row in outcome.data[2:]} == {None}
    assert len(plugins.run(plugins.PluginsOptions(), CTX).data) > len(outcome.data)
    with pytest.raises(PluginError, match="no extension point"):
        plugins.run(plugins.PluginsOptions("nothing"), CTX)


def test_schema_tells_every_column_of_every_table() -> None:
    assert [table["table"] for table in schema.run(schema.SchemaOptions(), CTX).data] == list(TABLES)
    for name, table in TABLES.items():
        outcome = schema.run(schema.SchemaOptions(name), CTX)
        lines = list(outcome.lines)
        assert len(lines) == len(table.columns) + 1
        assert [column["name"] for column in outcome.data["columns"]] == [column.name for column in table.columns]
    with pytest.raises(UsageError, match="no table 'x'; there are crawldb"):
        schema.run(schema.SchemaOptions("x"), CTX)


def test_path_resolves_current(tmp_path: Path) -> None:
    (tmp_path / "crawldb" / "generations" / "g1").mkdir(parents=True)
    (tmp_path / "crawldb" / "current").symlink_to("generations/g1")
    outcome = path.run(path.PathOptions(tmp_path / "crawldb"), CTX)
    assert list(outcome.lines) == [str(tmp_path.resolve() / "crawldb" / "generations" / "g1")]
    with pytest.raises(MissingError, match="there is no"):
        path.run(path.PathOptions(tmp_path), CTX)
