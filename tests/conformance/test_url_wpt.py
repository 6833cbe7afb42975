"""web-platform-tests on URL parsing and resolution: the http cases of urltestdata.json."""

from __future__ import annotations

from conformance import corpora

from nutchpy.core import urls


def passes(case: corpora.Case) -> bool:
    if case["base"] is not None:
        return urls.resolve(case["base"], case["input"]) == case["href"]
    parsed = urls.parse(case["input"])
    return (str(parsed.href) if parsed else None) == case["href"]


def test_web_platform_tests() -> None:
    corpora.check("url_wpt_http_subset", passes, {})


def test_the_quick_resolver_gives_the_same() -> None:
    for case in corpora.load("url_wpt_http_subset"):
        if case["base"] is not None:
            assert urls.Resolver(case["base"])(case["input"]) == case["href"], case
