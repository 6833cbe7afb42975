"""Setting values: conversion, flattening, references, suggestions."""

import pytest

from nutchpy.conf.values import checked, flatten, from_text, nearest, resolve, shown
from nutchpy.core.errors import ConfigError


def test_flatten_joins_tables_and_quoted_keys() -> None:
    table = {"headings": ["h1"], "http": {"redirect.max": 0, "redirect": {"max.exceeded": {"skip": True}}}}
    assert dict(flatten(table)) == {
        "headings": ["h1"],
        "http.redirect.max": 0,
        "http.redirect.max.exceeded.skip": True,
    }


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("true", bool, True),
        (" False ", bool, False),
        ("-1", int, -1),
        ("5", float, 5.0),
        ("0.5", float, 0.5),
        (" kept as it is ", str, " kept as it is "),
        ("regex,limits", list, ["regex", "limits"]),
        ("regex limits", list, ["regex", "limits"]),
        ("", list, []),
        ('["a b", "c,d"]', list, ["a b", "c,d"]),
        ("${other.one}", int, "${other.one}"),
    ],
)
def test_from_text(text: str, kind: type, value: object) -> None:
    assert from_text("a.setting", text, kind, "-D") == value


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("yes please", bool, "true or false"),
        ("1.5", int, "a whole number"),
        ("", int, "a whole number"),
        ("fast", float, "a number"),
        ("[1, 2]", list, "a list of texts"),
        ("[unclosed", list, "a list of texts"),
    ],
)
def test_from_text_names_setting_layer_and_expectation(text: str, kind: type, expected: str) -> None:
    with pytest.raises(ConfigError, match=rf"setting a\.setting in -D must be {expected}, not "):
        from_text("a.setting", text, kind, "-D")


def test_checked_takes_whole_numbers_for_numbers_only() -> None:
    value = checked("a", 3, float, "file")
    assert value == 3.0
    assert isinstance(value, float)
    for wrong, kind in ((3.0, int), (True, int), (1, bool), ("3", int), ([1], list), (1, list), (1, str)):
        with pytest.raises(ConfigError):
            checked("a", wrong, kind, "file")


def test_resolve_follows_references_and_keeps_the_type() -> None:
    values = {"a": "${b}", "b": "${c}", "c": 5.0, "text": "every ${c} s, ${flag}", "flag": True}
    resolved = resolve(values)
    assert resolved["a"] == 5.0
    assert resolved["text"] == "every 5.0 s, true"


def test_resolve_refuses_circles_and_unknown_names() -> None:
    with pytest.raises(ConfigError, match="a -> b -> a"):
        resolve({"a": "${b}", "b": "${a}"})
    with pytest.raises(ConfigError, match=r"setting a refers to \$\{http.timeot\}.*did you mean 'http.timeout'"):
        resolve({"a": "x ${http.timeot}", "http.timeout": 1})


def test_nearest_prefers_a_name_that_ends_alike() -> None:
    known = ["http.redirect.max", "http.robots.redirect.max", "fetcher.server.delay"]
    assert nearest("redirect.max", known) == "http.redirect.max"
    assert nearest("fetcher.Server.dely", known) == "fetcher.server.delay"
    assert nearest("zzz", known) is None


@pytest.mark.parametrize("value", [True, 3, 2.5, "a text", ["a", "b"], [], [""], ["a b", "c,d"], ['[x"', "y"]])
def test_shown_reads_back(value: object) -> None:
    assert from_text("x", shown(value), type(value), "-D") == value  # type: ignore[arg-type]


def test_a_list_may_be_written_with_commas() -> None:
    assert checked("a.b", "x, y", list, "a file") == ["x", "y"]
    assert checked("a.b", "", list, "a file") == []
