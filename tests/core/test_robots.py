from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nutchpy.core import robots
from nutchpy.core.robots import MAX_CRAWL_DELAY, SIZE_LIMIT, RobotsVerdict, parse, robots_policy


def allowed(body: str | bytes, url: str, *agents: str) -> bool:
    data = body if isinstance(body, bytes) else body.encode()
    return parse(data).verdict(f"http://h.example{url}", agents or ("mybot",)).allowed


def test_verdict_names_group_line_and_rule() -> None:
    lines = [b"User-agent: *", b"Disallow: /", b"", b"User-agent: MyBot/2.0", b"Allow: /a", b"Disallow: /a/b # why"]
    body = b"\n".join([*lines, b"Crawl-delay: 2", b"Sitemap: /s.xml"])
    assert parse(body).verdict("http://h.example/a/b/c", ["MyBot"]) == RobotsVerdict(
        allowed=False, group="MyBot", line=6, rule="Disallow: /a/b", crawl_delay=2.0, sitemaps=("/s.xml",)
    )


def test_verdict_without_a_matching_rule() -> None:
    assert parse(b"User-agent: *\nDisallow: /x").verdict("http://h.example/y", ["b"]) == RobotsVerdict(True, "*")
    assert parse(b"User-agent: other\nDisallow: /").verdict("http://h.example/y", ["b"]) == RobotsVerdict(True)


def test_groups_of_one_agent_are_merged() -> None:
    body = "User-agent: mybot\nDisallow: /a\n\nUser-agent: x\nDisallow: /\n\nUser-agent: MYBOT\nDisallow: /b"
    assert [allowed(body, path) for path in ("/a", "/b", "/c")] == [False, False, True]


def test_first_agent_named_in_the_file_wins() -> None:
    body = "User-agent: second\nDisallow: /s\nUser-agent: first\nDisallow: /f\nUser-agent: *\nDisallow: /"
    verdict = parse(body.encode()).verdict("http://h.example/s", ["absent", "first", "second"])
    assert (verdict.allowed, verdict.group) == (True, "first")
    assert not allowed(body, "/s", "second", "first")
    assert not allowed(body, "/anything", "absent")


@pytest.mark.parametrize("name", ["MJ12bot", "mybot/1.0", "Foo_Bar-Baz"])
def test_agent_names_answer_to_token_and_whole_word(name: str) -> None:
    assert not allowed(f"User-agent: {name}\nDisallow: /", "/x", name.upper())


@pytest.mark.parametrize("separator", ["\n", "\r", "\r\n", "\n\r\n"])
def test_line_endings(separator: str) -> None:
    assert not allowed(separator.join(["User-agent: *", "Disallow: /x"]), "/x")


def test_line_numbers_count_crlf_once() -> None:
    verdict = parse(b"User-agent: *\r\n\r\nDisallow: /").verdict("http://h.example/", ["b"])
    assert verdict.line == 3


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"])
def test_byte_order_mark(mark: bytes) -> None:
    assert not allowed(mark + b"User-agent: *\nDisallow: /x", "/x")
    assert allowed(b"\x00" + b"User-agent: *\nDisallow: /x", "/x")


def test_utf_16() -> None:
    assert not allowed("\ufeffUser-agent: *\nDisallow: /ö".encode("utf-16-le"), "/%C3%B6")


@pytest.mark.parametrize(
    "line",
    ["disallow /x", "dissallow: /x", "Disalow:/x", " Disallow\t:\t/x ", "disallow: /x\x00junk", "DISALLOW: /x#c"],
)
def test_lenient_lines(line: str) -> None:
    assert not allowed(f"useragent: *\n{line}", "/x")


@pytest.mark.parametrize("line", ["disallow /x y", ": /x", "disallow", "<p>Disallow: /x</p>", "/x", "\xff\xfe"])
def test_junk_lines_are_no_rules(line: str) -> None:
    assert allowed(f"User-agent: *\n{line}", "/x")


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/a", "/a%62", True),
        ("/ö", "/%c3%b6", True),
        ("/%C3%B6", "/ö", True),
        ("/a%2fb", "/a%2Fb", True),
        ("/a%2Fb", "/a/b", False),
        ("/%7Ejoe", "/~joe", True),
        ("/wiki/Special:", "/wiki/Special%3ARandom", True),
        ("/wiki/Special%3A", "/wiki/Special:Random", True),
        ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar", True),
        ("/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https://foo.bar", True),
        ("/?a=b%26c", "/?a=b&c", False),
        ("/*/b", "/a?x=/b", True),
        ("/a b", "/a%20b", True),
        ("/file-with-a-%2A.html", "/file-with-a-*.html", True),
        ("/file-with-a-%2A.html", "/file-with-a-b.html", False),
        ("/price-$5", "/price-$5", True),
        ("/price-%24", "/price-$", True),
        ("/foo$", "/foo", True),
        ("/foo$", "/foobar", False),
        ("/*$", "/anything", True),
        ("/a*b*c$", "/a1b2b3c", True),
        ("/a*bb$", "/ab", False),
        ("/a**b", "/axxb", True),
        ("*.php", "/x.php", True),
        ("foo", "/foo", False),
        ("/%", "/%zz", True),
        ("/x", "/X", False),
        ("/x", "/y#/x", False),
        ("/", "", True),
    ],
)
def test_patterns(pattern: str, path: str, matches: bool) -> None:
    assert allowed(f"User-agent: *\nDisallow: {pattern}", path) is not matches


def test_longest_match_wins_and_allow_wins_ties() -> None:
    body = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\nAllow: /t\nDisallow: /t"
    assert [allowed(body, path) for path in ("/a/x", "/a/b/x", "/a/b/c", "/t")] == [False, True, False, True]


@pytest.mark.parametrize(
    ("value", "delay"),
    [
        ("10", 10.0),
        ("0.5", 0.5),
        (".25", 0.25),
        ("3.", 3.0),
        ("5 # seconds", 5.0),
        ("2s", 2.0),
        ("0", 0.0),
        ("-1", None),
        ("soon", None),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("1e400", None),
        ("9" * 400, MAX_CRAWL_DELAY),
        ("٣", None),
    ],
)
def test_crawl_delay(value: str, delay: float | None) -> None:
    parsed = parse(f"User-agent: *\nCrawl-delay: {value}".encode())
    assert parsed.verdict("http://h.example/", ["b"]).crawl_delay == delay


def test_a_crawl_delay_is_for_the_agents_above_it_and_the_shortest_counts() -> None:
    body = b"User-agent: a\nCrawl-delay: 3\nUser-agent: b\nDisallow: /x\nCrawl-delay: 7\n\nUser-agent: *\nDisallow: /"
    parsed = parse(body)
    verdicts = [parsed.verdict("http://h.example/x", [name]) for name in ("a", "b", "c")]
    assert [verdict.crawl_delay for verdict in verdicts] == [3.0, 7.0, None]
    assert [verdict.rule for verdict in verdicts] == ["Disallow: /x", "Disallow: /x", "Disallow: /"]


def test_many_agents_and_many_delays_take_linear_time() -> None:
    body = b"User-agent: a\n" * 17_000 + b"Crawl-delay: 2\n" * 17_000
    started = time.process_time()
    assert parse(body).verdict("http://h.example/", ["a"]).crawl_delay == 2.0
    assert time.process_time() - started < 2


@pytest.mark.parametrize("agent", ["a" * 1_000_000, "a/" * 500_000, "a " * 500_000, "(" * 1_000_000])
def test_an_absurd_name_of_ours_takes_linear_time(agent: str) -> None:
    parsed = parse(b"User-agent: b\nDisallow: /\n")
    started = time.process_time()
    assert parsed.verdict("http://h.example/", [agent]).allowed
    assert time.process_time() - started < 2


def test_robots_txt_itself_is_always_allowed() -> None:
    parsed = parse(b"User-agent: *\nDisallow: /\n")
    assert parsed.verdict("http://h.example/robots.txt", ["b"]) == RobotsVerdict(allowed=True, group="*")
    assert not parsed.verdict("http://h.example/robots.txt.bak", ["b"]).allowed


@pytest.mark.parametrize("line", ["Alpha, Beta,Gamma", "Alpha Beta/2.0 Gamma", "Mozilla/5.0 (alpha; Beta) gamma"])
def test_a_line_may_name_several_agents(line: str) -> None:
    parsed = parse(f"User-agent: {line}\nDisallow: /x\n".encode())
    allowed = {name: parsed.verdict("http://h.example/x", [name]).allowed for name in ("beta", "gamma", "delta")}
    assert allowed == {"beta": False, "gamma": False, "delta": True}


@pytest.mark.parametrize("agent", ["Wanderer/2.1", "Mozilla/5.0 (compatible; Wanderer/2.1; +http://w.example/)"])
def test_an_agent_may_be_given_as_its_header(agent: str) -> None:
    parsed = parse(b"User-agent: wanderer\nDisallow: /x\n")
    assert not parsed.verdict("http://h.example/x", [agent]).allowed


def test_a_name_of_two_words_is_asked_for_last() -> None:
    group = "User-agent: Night Owl\nDisallow: /x\n"
    assert not parse(group.encode()).verdict("http://h.example/x", ["night owl"]).allowed
    assert parse(f"{group}\nUser-agent: *\nAllow: /".encode()).verdict("http://h.example/x", ["Night Owl"]).group == "*"


def test_html_around_directives_is_taken_off() -> None:
    page = b"<html>\n<body>\nUser-agent: a<br>\nDisallow: /x<br>\nCrawl-delay: 4<br>\n</body></html>"
    verdict = parse(page).verdict("http://h.example/x/y", ["a"])
    assert (verdict.rule, verdict.line, verdict.crawl_delay) == ("Disallow: /x", 4, 4.0)


def test_a_sitemap_line_may_lack_its_colon() -> None:
    parsed = parse(b"Sitemap https://h.example/s.xml\nSitemap index: see //h.example/t.xml\n")
    assert parsed.sitemaps[0] == "https://h.example/s.xml"


def test_sitemaps_stand_outside_groups_and_are_listed_once() -> None:
    body = "Sitemap: http://h.example/1\nUser-agent: x\nsite-map: http://h.example/ü\nDisallow: /\nSITEMAP: http://h.example/1\nSitemap:"
    assert parse(body.encode()).sitemaps == ("http://h.example/1", "http://h.example/ü")


def test_size_limit_drops_what_it_cuts() -> None:
    head = b"User-agent: *\nDisallow: /early\n"
    padding = b"#" * (SIZE_LIMIT - len(head) - len(b"\nDisallow: /")) + b"\n"
    body = head + padding + b"Disallow: /cut-in-two\n"
    assert len(body) > SIZE_LIMIT
    assert [allowed(body, path) for path in ("/early", "/other")] == [False, True]


def test_overlong_line_is_cut_as_google_cuts_it() -> None:
    line = "/x/" + "a" * (2083 * 8 - 3 - len("disallow: ") - 2)
    body = f"user-agent: *\ndisallow: {line}/qux\n"
    assert allowed(body, "/fux")
    assert not allowed(body, line + "/fux")


def test_index_page_allows_its_folder() -> None:
    body = "User-agent: *\nDisallow: /\nAllow: /d/index.html"
    assert [allowed(body, path) for path in ("/d/", "/d/index.html", "/d/x")] == [True, True, False]


def test_hostile_wildcards_take_linear_time() -> None:
    body = ("User-agent: *\n" + "".join(f"Disallow: /{'*a' * 200}{n}$\n" for n in range(100))).encode()
    parsed = parse(body)
    start = time.process_time()
    assert parsed.verdict("http://h.example/" + "a" * 5000, ["b"]).allowed
    assert time.process_time() - start < 1


@settings(max_examples=60)
@given(st.binary(max_size=300), st.text(max_size=50), st.text(max_size=8))
def test_total(body: bytes, url: str, agent: str) -> None:
    parse(b"user-agent: *\ndisallow: " + body).verdict(url, [agent])


@pytest.mark.parametrize(
    ("status", "policy"),
    [
        (200, "parse"),
        (206, "parse"),
        (301, "allow_all"),
        (404, "allow_all"),
        (410, "allow_all"),
        (401, "allow_all"),
        (403, "allow_all"),
        (429, "defer"),
        (500, "defer"),
        (503, "defer"),
        (999, "defer"),
        (100, "defer"),
        (None, "defer"),
    ],
)
def test_policy(status: int | None, policy: str) -> None:
    assert robots_policy(status) == policy


def test_policy_settings() -> None:
    assert robots_policy(403, allow_forbidden=False) == "deny_all"
    assert robots_policy(401, allow_forbidden=False) == "deny_all"
    assert robots_policy(404, allow_forbidden=False) == "allow_all"
    assert robots_policy(503, defer_errors=False) == "allow_all"


def test_rules_of_a_ruleset_stand_in_winning_order() -> None:
    rules = robots.parse(b"User-agent: *\nDisallow: /\nAllow: /long\nDisallow: /long").ruleset(["b"]).rules
    assert [str(rule) for rule in rules] == ["Allow: /long", "Disallow: /long", "Disallow: /"]
