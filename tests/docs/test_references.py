"""What the documents name is there: linked files, paths of the source, commands with their options, settings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from nutchpy.cli import words
from nutchpy.cli.command import COMMON, build
from nutchpy.cli.main import COMMANDS
from nutchpy.conf.layers import defaults

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("changes/*.md")])
IDS = [str(page.relative_to(ROOT)) for page in PAGES]


COMMAND = re.compile(r"(\$\()?(?:(?<![\w/])nutchpy|[\w/]*bin/nutch) ([a-z]+\b.*)")


def commands(page: Path) -> Iterator[list[str]]:
    """Command lines of nutchpy in indented or fenced code, without what the shell does around them."""
    for line in page.read_text(encoding="utf-8").splitlines():
        found = COMMAND.search(line) if line.startswith("    ") and "from nutchpy" not in line else None
        if found:
            lexer = shlex.shlex(
                found[2].partition(")")[0] if found[1] else found[2], posix=True, punctuation_chars=True
            )
            yield list(takewhile(lambda token: token not in ("&&", "|", ">"), lexer))


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_source_paths_exist(page: Path) -> None:
    named = re.findall(
        r"`((?:nutchpy|tests|bin|docs|notebooks|sample_seeds)/[\w./-]*)`", page.read_text(encoding="utf-8")
    )
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_commands_can_be_read(page: Path) -> None:
    for name, *rest in commands(page):
        assert name in COMMANDS
        words.read(rest, [*COMMON, *build(name, COMMANDS[name].module).options.declared()])


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_settings_exist(page: Path) -> None:
    families = "|".join(sorted({name.partition(".")[0] for name in defaults()}))
    named = re.findall(rf"`((?:{families})(?:\.[\w-]+)+)`", page.read_text(encoding="utf-8"))
    assert [name for name in named if name not in defaults()] == []


def test_every_default_that_is_not_nutchs_is_told() -> None:
    page = (ROOT / "docs" / "coming-from-nutch.md").read_text(encoding="utf-8")
    text = (ROOT / "nutchpy" / "conf" / "defaults.toml").read_text(encoding="utf-8")
    family, other = "", []
    for line in text.splitlines():
        family = line.strip("[]") if line.startswith("[") else family
        if line.startswith('"') and "(Nutch: " in line.partition("#")[2]:
            other.append(f"{family}." + line.split('"')[1])
    assert len(other) > 5
    assert [name for name in other if f"`{name}`" not in page] == []


def test_every_command_is_told() -> None:
    page = (ROOT / "docs" / "coming-from-nutch.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if not re.search(rf"`{name}\b", page)] == []


def test_readme_has_commands_to_check() -> None:
    assert len(list(commands(ROOT / "README.md"))) > 15
