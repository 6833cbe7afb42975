"""Every command that is registered: it has help, an example, and an explanation of each option."""

import importlib
import shlex
from importlib.util import find_spec

import pytest

from nutchpy.cli import words
from nutchpy.cli.command import COMMON, StageCommand, build, options_class
from nutchpy.cli.main import COMMANDS, run
from nutchpy.conf.layers import defaults

NAMES = [
    *("inject", "generate", "fetch", "parse", "updatedb", "invertlinks", "dedup"),
    *("readdb", "readseg", "readlinkdb", "sql", "crawl"),
    *("parsechecker", "filterchecker", "normalizerchecker", "robotsparser"),
    *("conf", "showproperties", "plugins", "schema", "path", "unfinished"),
]


def test_these_are_the_commands() -> None:
    assert sorted(COMMANDS) == sorted(NAMES)


def command(name: str) -> StageCommand:
    if find_spec(COMMANDS[name].module) is None:
        pytest.fail(f"command {name} has no module {COMMANDS[name].module}")
    return build(name, COMMANDS[name].module)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_explains_and_ends_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command(name)
    assert run([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"Usage: nutchpy {name} ")
    before, _, example = text.partition("\nExample:\n")
    assert len(before.split("\n\n")[1]) > 20
    assert example.strip()
    assert "nutchpy " in example
    assert all(line.startswith("  ") for line in example.splitlines() if line)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained_and_every_setting_exists(name: str) -> None:
    for option in command(name).options.declared():
        assert len(option.about.help) > 5, option.name
        assert option.about.help[0].isupper(), option.name
        assert option.about.help.rstrip()[-1] in ".)?", option.name
        assert option.about.setting is None or option.about.setting in defaults(), option.about.setting


@pytest.mark.parametrize("name", COMMANDS)
def test_no_name_means_two_options(name: str) -> None:
    own = [option for option in command(name).options.declared() if not option.about.positional]
    spellings = [spelling.lower() for option in own for spelling in option.spellings if len(spelling) > 2]
    assert len(set(spellings)) == len(spellings)
    common = {spelling for option in COMMON for spelling in option.spellings}
    assert common.isdisjoint(spelling for option in own for spelling in option.spellings)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_can_be_read(name: str) -> None:
    """Each line of the example that is this command alone is a command line that the command accepts."""
    module = importlib.import_module(COMMANDS[name].module)
    declared = [*COMMON, *options_class(module).declared()]
    for line in module.EXAMPLE.splitlines():
        given = shlex.split(line, comments=True)
        if given[:2] == ["nutchpy", name] and not {"|", ">", "<", "&&", ";"} & set(given):
            words.read(given[2:], declared)
