"""Main text alone; skipped where resiliparse is not installed."""

from __future__ import annotations

import pytest
from plugins.parse.pages import content, parsed

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import PluginError
from nutchpy.core.parse import Parse
from nutchpy.plugins.parse import boilerplate
from nutchpy.plugins.parse.boilerplate import BoilerplateFilter

PAGE = (
    "<title>T</title><nav><ul><li><a href=/>Home</a><li><a href=/x>News</a></ul></nav><article><h1>Head</h1><p>"
    + "The text of an article is about something, and it is long enough to be one. " * 8
    + "</p><p>Its second paragraph says more.</p></article><footer>Copyright by someone</footer>"
)


def filtered(html: str, into: str = "text", *, is_html: bool = True) -> Parse:
    pytest.importorskip("resiliparse", reason="the extra nutchpy[boilerplate] is not installed")
    plugin = BoilerplateFilter.from_conf(defaults().with_values({"boilerplate.into": into}))
    return plugin.filter(content(html), parsed(html), (lambda: None) if is_html else None)


def test_menus_and_footers_go() -> None:
    text = filtered(PAGE).text
    assert text.startswith("Head\nThe text of an article")
    assert text.endswith("Its second paragraph says more.")
    assert "Home" not in text
    assert "Copyright" not in text


def test_beside_the_text() -> None:
    parse = filtered(PAGE, "main_text")
    assert "Home" in parse.text
    assert parse.parse_meta["main_text"].startswith("Head\n")


def test_pages_without_and_other_documents_stay() -> None:
    assert filtered("").text == parsed("").text
    assert filtered(PAGE, is_html=False).text == parsed(PAGE).text


def test_absurd_nesting() -> None:
    assert filtered("<div>" * 60_000 + "x").text == "x"


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boilerplate, "find_spec", lambda _: None)
    with pytest.raises(PluginError, match=r"pip install 'nutchpy\[boilerplate\]'"):
        BoilerplateFilter.from_conf(defaults())
