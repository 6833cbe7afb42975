"""Apache Nutch's test pages: text, title, outlinks, robots meta; both tree libraries."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from conformance import corpora

from nutchpy.core.content import Content
from nutchpy.core.parse import Parse
from nutchpy.plugins.parse.extract import Rules
from nutchpy.plugins.parse.html import HtmlParser

EXPECTED_FAILURES: dict[str, str] = {}
EXPECTED_FAILURES_BS4 = {"3": "libxml2 nests links left open, HTML5 closes one at the next: their anchors differ"}
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def parsed(html: str, url: str, impl: str, *, form_use_action: bool = False) -> Parse:
    content = Content(url, url, "text/html", [("Content-Type", "text/html; charset=utf-8")], html.encode(), NOW)
    return HtmlParser(Rules(form_use_action=form_use_action), impl).parse(content)


def content_passes(impl: str) -> Callable[[corpora.Case], bool]:
    def passes(case: corpora.Case) -> bool:
        options = case["options"]
        page = parsed(case["html"], case["base"], impl, form_use_action=options["form_use_action"])
        links = [[link.url, link.anchor] for link in page.outlinks]
        expected = [[url + "/" * (url.count("/") == 2), anchor] for url, anchor in case["outlinks"]]
        text = "".join(page.text.split()) == "".join(case["text_ws_insensitive"].split())
        return text and page.title == case["title"] and links == expected

    return passes


def robots_pass(case: corpora.Case) -> bool:
    page = parsed(case["html"], case["url"], "fast")
    found = ("noindex" in page.robots, "nofollow" in page.robots, "noarchive" in page.robots, page.base)
    return found == (case["noindex"], case["nofollow"], case["nocache"], case["base_href"] or case["url"])


@pytest.mark.parametrize(("impl", "expected"), [("fast", EXPECTED_FAILURES), ("bs4", EXPECTED_FAILURES_BS4)])
def test_nutch_dom_content(impl: str, expected: dict[str, str]) -> None:
    corpora.check("html_nutch_domcontent", content_passes(impl), expected)


def test_nutch_robots_meta() -> None:
    corpora.check("html_nutch_robots_meta", robots_pass, {})
