"""The registry: what is installed, what is enabled, what happens when something is not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nutchpy.conf.layers import defaults, load
from nutchpy.core.errors import ConfigError, PluginError
from nutchpy.extension import registry

Install = Callable[..., Path]
FILTER = """
class Mine:
    @classmethod
    def from_conf(cls, conf):
        return cls()
"""


def test_the_shipped_plugins_come_through_the_same_door() -> None:
    assert {"regex", "limits"} <= set(registry.known("urlfilter"))
    assert registry.known("schedule")["default"].startswith("nutchpy ")


def test_everything_enabled_by_default_is_installed() -> None:
    for point, names in registry.enabled(defaults()).items():
        assert set(names) <= set(registry.known(point))


def test_an_unknown_name_lists_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(PluginError, match=r"no urlfilter plugin 'regxe'; did you mean 'regex'\? Installed: .*limits"):
        registry.load("urlfilter", "regxe")
    with pytest.raises(PluginError, match="no extension point 'urlfilters'; there are .*urlfilter"):
        registry.require_point("urlfilters")


@pytest.mark.parametrize(
    ("point", "name", "ours"),
    [
        ("schedule", "org.apache.nutch.crawl.AdaptiveFetchSchedule", "adaptive"),
        ("schedule", "org.apache.nutch.crawl.DefaultFetchSchedule", "default"),
        ("schedule", "adaptive", "adaptive"),
        ("signature", "org.apache.nutch.crawl.MD5Signature", "md5"),
        ("signature", "org.apache.nutch.crawl.TextMD5Signature", "text_md5"),
        ("signature", "org.apache.nutch.crawl.TextProfileSignature", "text_profile"),
        ("urlfilter", "org.apache.nutch.urlfilter.regex.RegexURLFilter", "regex"),
        ("urlfilter", "org.apache.nutch.urlfilter.domaindenylist.DomainDenylistURLFilter", "domaindenylist"),
        ("urlnormalizer", "org.apache.nutch.net.urlnormalizer.basic.BasicURLNormalizer", "basic"),
        ("scoring", "org.apache.nutch.scoring.opic.OPICScoringFilter", "opic"),
    ],
)
def test_nutchs_class_names_mean_our_plugins(point: str, name: str, ours: str) -> None:
    assert registry.plugin_name(point, name) == ours


def test_a_nutch_class_that_we_do_not_have_is_unknown() -> None:
    with pytest.raises(PluginError, match="no schedule plugin 'org.apache.nutch.crawl.MimeAdaptiveFetchSchedule'"):
        registry.plugin_name("schedule", "org.apache.nutch.crawl.MimeAdaptiveFetchSchedule")


def test_a_distribution_brings_a_plugin(install: Install) -> None:
    install("fromoutside", {"urlfilter": "mine = outside_a:Mine"}, {"outside_a.py": FILTER})
    assert registry.known("urlfilter")["mine"] == "fromoutside 1.0"
    assert registry.load("urlfilter", "mine").__name__ == "Mine"


def test_two_distributions_with_one_name_are_an_error(install: Install) -> None:
    for name in ("first", "second"):
        install(name, {"urlfilter": "twice = outside_b:Mine"}, {"outside_b.py": FILTER})
    with pytest.raises(PluginError, match=r"'twice' is provided twice, by first 1\.0 and second 1\.0"):
        registry.load("urlfilter", "regex")


def test_a_missing_module_is_named(install: Install) -> None:
    install("needy", {"urlfilter": "needy = outside_c:Mine"}, {"outside_c.py": "import not_there_at_all\n"})
    with pytest.raises(PluginError, match="'needy' needs the module 'not_there_at_all'"):
        registry.load("urlfilter", "needy")


def test_a_missing_class_is_named(install: Install) -> None:
    install("empty", {"urlfilter": "empty = outside_d:Mine"}, {"outside_d.py": ""})
    with pytest.raises(PluginError, match=r"'empty' \(outside_d:Mine\) cannot be loaded"):
        registry.load("urlfilter", "empty")


def test_a_plugins_settings_join_when_it_is_enabled(install: Install) -> None:
    files = {
        "outside_e/__init__.py": "",
        "outside_e/mine.py": FILTER,
        "outside_e/defaults.toml": '[urlfilter]\n"e.limit" = 5\n',
    }
    install("settled", {"urlfilter": "e = outside_e.mine:Mine"}, files)
    enabled = ["urlfilter.order=regex,e", "urlfilter.e.limit=6"]
    assert load(None, None, {}, enabled, registry.plugin_defaults).integer("urlfilter.e.limit") == 6
    with pytest.raises(ConfigError, match=r"unknown setting 'urlfilter\.e\.limit'"):
        load(None, None, {}, enabled[1:], registry.plugin_defaults)


def test_a_plugins_broken_settings_are_named(install: Install) -> None:
    files = {"outside_f/__init__.py": FILTER, "outside_f/defaults.toml": "not toml"}
    install("broken", {"urlfilter": "f = outside_f:Mine"}, files)
    with pytest.raises(ConfigError, match=r"settings of plugin 'f' \(outside_f\) cannot be read"):
        load(None, None, {}, ["urlfilter.order=f"], registry.plugin_defaults)
