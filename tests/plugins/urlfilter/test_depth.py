from __future__ import annotations

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import ConfigError
from nutchpy.plugins.urlfilter.depth import DepthURLFilter, segments


@pytest.mark.parametrize(
    ("url", "depth"),
    [
        ("http://a", 0),
        ("http://a/", 0),
        ("http://a/b", 1),
        ("http://a/b/", 1),
        ("http://a/b/c.html?x=/d/e#/f/g", 2),
        ("http://a//b///c", 2),
        ("http://a?b/c/d", 0),
        ("file:/a/b", 2),
        ("file:///a/b", 2),
        ("", 0),
    ],
)
def test_segments(url: str, depth: int) -> None:
    assert segments(url) == depth
    assert DepthURLFilter(depth).reject(url) is None
    if depth:
        assert DepthURLFilter(depth - 1).reject(url) == "path_depth"


def test_by_settings() -> None:
    assert DepthURLFilter.from_conf(defaults()).reject("http://a/" + "b/" * 17) == "path_depth"
    assert DepthURLFilter.from_conf(defaults()).reject("http://a/" + "b/" * 16) is None
    unlimited = defaults().with_values({"urlfilter.depth.max": -1})
    assert DepthURLFilter.from_conf(unlimited).reject("http://a/" + "b/" * 99) is None
    with pytest.raises(ConfigError, match=r"urlfilter\.depth\.max"):
        DepthURLFilter.from_conf(defaults().with_values({"urlfilter.depth.max": -2}))
