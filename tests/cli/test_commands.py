"""Every command that is registered: it has help, an example, and an explanation of each option."""

import importlib
import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

import pytest

import nutchpy.stages
from nutchpy.cli import words
from nutchpy.cli.command import COMMON, StageCommand, build, options_class
from nutchpy.cli.main import COMMANDS, NUTCH_ONLY, run
from nutchpy.conf.layers import defaults

ROOT = Path(__file__).parents[2]
NUTCHS = {
    *("inject", "generate", "fetch", "parse", "updatedb", "invertlinks", "dedup"),
    *("readdb", "readseg", "readlinkdb", "showproperties"),
    *("parsechecker", "filterchecker", "normalizerchecker", "robotsparser"),
}


def test_nutchs_commands_are_here() -> None:
    assert set(COMMANDS) >= NUTCHS
    assert NUTCH_ONLY.isdisjoint(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_told_of(name: str) -> None:
    assert re.search(rf"`(\S+ )?{name}\b", (ROOT / "docs" / "coming-from-nutch.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", COMMANDS)
def test_summary_is_one_line(name: str) -> None:
    assert re.fullmatch(r"[A-Z][^\n]{10,100}\.", COMMANDS[name].summary)


def test_every_stage_that_can_be_run_is_a_command() -> None:
    """A module of nutchpy.stages that has options of its own and an example is a command's, and has a name there."""
    stages = {module.name for module in iter_modules(nutchpy.stages.__path__, "nutchpy.stages.")}
    runnable = {name for name in stages if hasattr(importlib.import_module(name), "EXAMPLE")}
    assert runnable == {entry.module for entry in COMMANDS.values()}


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
