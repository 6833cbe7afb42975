"""Chains over columns: a plugin's own column method is used, and says the same as asking URL by URL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.extension.chains import URLFilters, URLNormalizers

PLUGINS = """
class Base:
    @classmethod
    def from_conf(cls, conf):
        return cls()

class Odd(Base):
    columns = 0
    def reject(self, url):
        if "boom" in url:
            raise ValueError(url)
        return "odd" if int(url[-1]) % 2 else None
    def reject_all(self, urls):
        Odd.columns += 1
        return [self.reject(url) for url in urls]

class Three(Base):
    def reject(self, url):
        return "" if url.endswith(("3", "6")) else None

class Upper(Base):
    def normalize(self, url, scope):
        if "boom" in url:
            raise ValueError(url)
        return None if "bad" in url else url.replace("a", "A", 1)
    def normalize_all(self, urls, scope):
        return [self.normalize(url, scope) for url in urls]

class Tail(Base):
    def normalize(self, url, scope):
        return "" if "empty" in url else url + ("" if url.endswith("/") else "/")
"""


@pytest.fixture
def _plugins(install: Callable[..., Path]) -> None:
    entries = {
        "urlfilter": "odd = some.plugins:Odd\nthree = some.plugins:Three",
        "urlnormalizer": "upper = some.plugins:Upper\ntail = some.plugins:Tail",
    }
    install("some", entries, {"some/plugins.py": PLUGINS})


@pytest.mark.usefixtures("_plugins")
@pytest.mark.parametrize("urls", [[], ["u2"], [f"u{n}" for n in range(10)], ["boom1", "u1", "boom3", "u4"]])
def test_filters(urls: list[str]) -> None:
    conf = defaults().with_values({"urlfilter.order": ["odd", "three"]})
    one, many = URLFilters(conf), URLFilters(conf)
    assert many.reject_all(urls) == [one.reject(url) for url in urls]
    assert many.errors == one.errors
    assert many.errors["plugin_errors:odd"] == sum("boom" in url for url in urls)


@pytest.mark.usefixtures("_plugins")
@pytest.mark.parametrize("loops", [1, 2, 5])
@pytest.mark.parametrize(
    "urls", [[], ["aaa"], ["bad", "aaaa", "empty", "b/"], ["boom", "a"], ["bad", "bad"], ["empty"], ["aa", "empty"]]
)
def test_normalizers(urls: list[str], loops: int) -> None:
    conf = defaults().with_values({"urlnormalizer.order": ["upper", "tail"], "urlnormalizer.loop.count": loops})
    one, many = URLNormalizers(conf), URLNormalizers(conf)
    assert many.normalize_all(urls, "inject") == [one.normalize(url, "inject") for url in urls]
    assert bool(many.errors) == bool(one.errors)


@pytest.mark.parametrize("url", ["http:sid=/&:hp@üsid=id=/&:hp@üsid=", "http:" + "sid=/&:hp@ü" * 9])
def test_a_normal_form_is_its_own_though_each_pass_uncovers_more(url: str) -> None:
    normalizers = URLNormalizers(defaults())
    (normal,) = normalizers.normalize_all([url], "outlink")
    assert normal == normalizers.normalize(url, "outlink")
    assert normal is None or normalizers.normalize(normal, "outlink") == normal
