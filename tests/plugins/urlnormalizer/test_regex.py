from __future__ import annotations

from pathlib import Path

import pytest

from nutchpy.conf.layers import Conf, defaults
from nutchpy.core.errors import ConfigError
from nutchpy.extension.chains.urlnormalizers import URLNormalizers
from nutchpy.plugins.urlnormalizer.regex import LONGEST, RegexURLNormalizer, read_rules

CASES = [
    ("http://a/b.php?PHPSESSID=12&x=1", "http://a/b.php?x=1"),
    ("http://a/b.php?x=1&sid=12", "http://a/b.php?x=1"),
    ("http://a/b.jsp;jsessionid=AB?x=1", "http://a/b.jsp?x=1"),
    ("http://a/b?bv_sessionid=1&x=2", "http://a/b?x=2"),
    ("http://a/b?NewsID=1&addressid=2", "http://a/b?NewsID=1&addressid=2"),
    ("http://a/b#c?d", "http://a/b?d"),
    ("http://a/b?&x&&y&", "http://a/b?x&y"),
    ("http://a/b?", "http://a/b"),
    ("http://a//b///c?d=http://e//f", "http://a/b/c?d=http://e/f"),
    ("file:///a", "file:/a"),
    ("http://a/index.html", "http://a/index.html"),
    # where one pass would not be enough
    ("http://a/b?&&x", "http://a/b?x"),
    ("http://a/b...", "http://a/b"),
    ("http://a/b?&.?.", "http://a/b"),
]


@pytest.mark.parametrize(("url", "expected"), CASES)
def test_the_shipped_rules(url: str, expected: str) -> None:
    normalizer = RegexURLNormalizer.from_conf(defaults())
    assert normalizer.normalize(url, "default") == expected
    assert normalizer.normalize_all([url, expected], "default") == [expected, expected]


def rules(*pairs: tuple[str, str], head: str = "") -> str:
    items = "".join(f"<regex><pattern>{p}</pattern><substitution>{s}</substitution></regex>\n" for p, s in pairs)
    return f"{head}<regex-normalize>\n{items}</regex-normalize>"


def normalized(url: str, *pairs: tuple[str, str]) -> str | None:
    normalizer = RegexURLNormalizer.from_text(rules(*pairs), "rules.xml")
    once = normalizer.normalize(url, "default")
    assert once is not None
    assert normalizer.normalize(once, "default") == once
    assert normalizer.normalize_all([url], "default") == [once]
    return once


def test_rules_run_in_order_until_nothing_changes() -> None:
    assert normalized("a", ("b", "c"), ("a", "b")) == "c"


def test_xml_is_read_as_xml() -> None:
    assert normalized("a&&b<c", ("&amp;{2}|&lt;", "<![CDATA[&]]>")) == "a&b&c"
    assert normalized("a", ("<!-- x -->a", "")) == ""


def test_rules_that_go_in_circles_end_in_the_same_form() -> None:
    assert normalized("ab", ("(.)(.)", "$2$1")) == normalized("ba", ("(.)(.)", "$2$1")) == "ab"


def test_a_rule_that_never_ends_stops_at_the_longest_url() -> None:
    grown = normalized("a", ("a", "aa"))
    assert grown is not None
    assert LONGEST < len(grown) <= 2 * LONGEST


def test_a_url_that_is_too_long_is_left_alone() -> None:
    url = "http://a/" + "/" * LONGEST
    normalizer = RegexURLNormalizer.from_conf(defaults())
    assert normalizer.normalize(url, "default") == url
    assert normalizer.normalize_all([url, "http://a//b"], "default") == [url, "http://a/b"]


def test_scopes_with_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "hosts.xml").write_text(rules(("^(https?://)(?:\\w+\\.)*?(\\w+\\.\\w+)/.*", "$1$2/")))
    conf = Conf(defaults().layers, tmp_path).with_values({"urlnormalizer.regex.file.generate_host_count": "hosts.xml"})
    normalizer = RegexURLNormalizer.from_conf(conf)
    assert normalizer.normalize("http://www.example.org/a#b", "generate_host_count") == "http://example.org/"
    assert normalizer.normalize_all(["http://www.example.org/a#b"], "generate_host_count") == ["http://example.org/"]
    assert normalizer.normalize("http://www.example.org/a#b", "outlink") == "http://www.example.org/a"


def test_rules_in_the_setting_come_before_the_file() -> None:
    conf = defaults().with_values({"urlnormalizer.regex.rules": rules(("a", "b"))})
    assert RegexURLNormalizer.from_conf(conf).normalize("a#", "default") == "b#"


BOMB = '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
BAD = [
    ("<regex-normalize>\n<regex>", "rules.xml:2: not XML: no element found"),
    ("<rules/>", "rules.xml:1: the outermost element is <regex-normalize>, not <rules>"),
    ("<regex-normalize>\n<rule/></regex-normalize>", "rules.xml:2: <rule> stands where <regex> must"),
    ("<regex-normalize>\n<regex><a/></regex></regex-normalize>", "rules.xml:2: <a> means nothing here"),
    ("<regex-normalize>\n<regex><pattern>a</pattern></regex></regex-normalize>", "rules.xml:2: a <regex> needs"),
    (rules(("a", "b"), ("(a", "b")), r"rules.xml:3: \(a -> b: group is not closed"),
    (rules(("a", "$1")), "rules.xml:2: a -> .1: the replacement names group 1"),
    (rules(("&b;", ""), head=BOMB), "rules.xml:1: declares the entity 'a', which is not allowed"),
    (rules(("&x;", "")), "rules.xml:2: not XML: undefined entity"),
    ("", "rules.xml:1: not XML"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_bad_file_stops_with_file_and_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RegexURLNormalizer.from_text(text, "rules.xml")


def test_an_external_entity_is_not_fetched(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a")
    head = f'<!DOCTYPE r [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    with pytest.raises(ConfigError, match="declares the entity"):
        RegexURLNormalizer.from_text(rules(("&x;", "b"), head=head), "rules.xml")


def test_a_url_on_which_a_rule_runs_out_of_time_stays(caplog: pytest.LogCaptureFixture) -> None:
    text = rules(("x", "y"), ("(?=(a+)+!)a", "b"))
    normalizer = RegexURLNormalizer(read_rules(text, "/conf/regex-normalize.xml", 0.01))
    bad = "http://a/x" + "a" * 1500
    assert normalizer.normalize(bad, "default") == bad
    assert normalizer.normalize_all(["x", bad, "aa!"], "default") == ["y", bad, "bb!"]
    assert normalizer.take_counters() == {"rule_timeouts:regex-normalize.xml:3": 2}
    assert not normalizer.take_counters()
    assert [record.message.count("regex-normalize.xml:3") for record in caplog.records] == [1]


def test_the_chain_counts_the_rule() -> None:
    given = {"urlnormalizer.regex.rules": rules(("(?=(a+)+!)a", "b")), "urlnormalizer.regex.timeout": 0.01}
    chain = URLNormalizers.from_conf(defaults().with_values(given))
    assert chain.normalize("http://a/" + "a" * 1500, "default") == "http://a/" + "a" * 1500
    assert chain.take_errors() == {"rule_timeouts:urlnormalizer.regex.rules:2": 1}
