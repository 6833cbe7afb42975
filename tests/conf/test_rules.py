"""Rule files: where they are looked for, what is said when they are nowhere, which are in force."""

import hashlib
from pathlib import Path

import pytest

from nutchpy.conf import rules
from nutchpy.conf.layers import Conf, defaults, load
from nutchpy.core.errors import ConfigError


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shipped"
    folder.mkdir()
    (folder / "regex-urlfilter.txt").write_text("+.\n")
    monkeypatch.setattr(rules, "SHIPPED", folder)
    return folder


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    return folder


def conf_in(folder: Path | None, *overrides: str) -> Conf:
    return load(folder, None, {}, overrides)


def read(conf: Conf) -> rules.RuleText:
    return conf.rules("urlfilter.regex.file", "urlfilter.regex.rules")


def test_inline_rules_win(shipped: Path, mine: Path) -> None:
    text = read(conf_in(mine, "urlfilter.regex.rules=-^ftp:"))
    assert (text.text, text.source, text.shipped) == ("-^ftp:", "setting urlfilter.regex.rules", False)
    assert text.sha256 == hashlib.sha256(b"-^ftp:").hexdigest()


def test_the_users_file_wins_over_the_shipped_one(shipped: Path, mine: Path) -> None:
    assert read(conf_in(mine)).shipped
    (mine / "regex-urlfilter.txt").write_bytes(b"\xef\xbb\xbf-.\n")
    text = read(conf_in(mine))
    assert (text.text, text.source, text.shipped) == ("-.\n", str(mine / "regex-urlfilter.txt"), False)


def test_an_absolute_name_is_taken_as_it_is(shipped: Path, tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("+x\n")
    assert read(conf_in(None, f"urlfilter.regex.file={tmp_path / 'own.txt'}")).text == "+x\n"


def test_a_missing_file_names_both_places(shipped: Path, mine: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        conf_in(mine).rules("urlfilter.prefix.file")
    for named in ("prefix-urlfilter.txt", "urlfilter.prefix.file", str(mine), str(shipped)):
        assert named in str(caught.value)


def test_a_file_that_is_no_text_is_named(shipped: Path, mine: Path) -> None:
    (mine / "regex-urlfilter.txt").write_bytes(b"\xff\xff")
    with pytest.raises(ConfigError, match=r"mine/regex-urlfilter\.txt .* cannot be read"):
        read(conf_in(mine))


def test_rule_files_are_those_of_enabled_plugins(shipped: Path, mine: Path) -> None:
    for name in ("prefix-urlfilter.txt", "protocols.txt"):
        (mine / name).write_text("x\n")
    assert set(conf_in(mine).rule_files()) == {"urlfilter.regex.file"}
    conf = conf_in(mine, "urlfilter.order=prefix", "urlnormalizer.order=protocol")
    assert conf.rule_files() == dict.fromkeys(
        ("urlfilter.prefix.file", "urlnormalizer.protocols.file"), hashlib.sha256(b"x\n").hexdigest()
    )


def test_rule_files_see_inline_rules_and_scoped_files(shipped: Path, mine: Path) -> None:
    (mine / "inject.xml").write_text("<regex-normalize/>")
    conf = conf_in(mine, "urlfilter.regex.rules=+.", "urlnormalizer.regex.file.inject=inject.xml")
    texts = conf.rule_texts()
    assert texts["urlfilter.regex.file"].source == "setting urlfilter.regex.rules"
    assert texts["urlnormalizer.regex.file.inject"].text == "<regex-normalize/>"


def test_the_shipped_rules_are_there() -> None:
    assert set(defaults().rule_files()) == {"urlfilter.regex.file", "urlnormalizer.regex.file"}
    assert all(text.shipped for text in defaults().rule_texts().values())
