"""Languages; skipped where py3langid is not installed."""

from __future__ import annotations

import pytest
from plugins.parse.pages import content, parsed

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import ConfigError, PluginError
from nutchpy.plugins.parse import language
from nutchpy.plugins.parse.language import LanguageFilter

GERMAN = "<p>Das ist ein Satz, wie man ihn in einer Zeitung lesen könnte, und noch einer."
BOTH = ["detect", "identify"]


def language_of(html: str, policy: list[str] = BOTH) -> str | None:
    pytest.importorskip("py3langid", reason="the extra nutchpy[language] is not installed")
    plugin = LanguageFilter.from_conf(defaults().with_values({"lang.extraction.policy": policy}))
    return plugin.filter(content(html), parsed(html), None).language


def test_what_is_declared_or_else_what_it_is() -> None:
    assert language_of(GERMAN) == "de"
    assert language_of(f"<html lang=nl>{GERMAN}") == "nl"
    assert language_of(f"<html lang=nl>{GERMAN}", ["identify", "detect"]) == "de"
    assert language_of(GERMAN, ["detect"]) is None


@pytest.mark.parametrize("text", ["", "12 34", "ok", "\u0000"])
def test_what_says_nothing_has_no_language(text: str) -> None:
    assert language_of(text) is None


def test_policies_are_checked() -> None:
    with pytest.raises(ConfigError, match="guess"):
        LanguageFilter(["guess"])


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "find_spec", lambda _: None)
    with pytest.raises(PluginError, match=r"pip install 'nutchpy\[language\]'"):
        LanguageFilter.from_conf(defaults())
