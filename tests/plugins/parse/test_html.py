"""The HTML parser: what it takes from a page, by both tree libraries, and that nothing makes it raise or hang."""

from __future__ import annotations

import pickle
import time
from dataclasses import replace
from itertools import islice

import html5lib
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from plugins.parse.pages import HOSTILE, ORDINARY, SLOPPY, URL, content, parsed

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import ConfigError
from nutchpy.core.parse import Outlink, Parse, ParseStatus
from nutchpy.core.urls import resolve
from nutchpy.plugins.parse.extract import Rules, candidates
from nutchpy.plugins.parse.html import HtmlParser

BOTH = pytest.mark.parametrize("impl", ["fast", "bs4"])


def links(page: Parse) -> list[tuple[str, str]]:
    return [(link.url.removeprefix("http://example.org/"), link.anchor) for link in page.outlinks]


@BOTH
def test_ordinary_page(impl: str) -> None:
    page = parsed(ORDINARY, impl)
    assert page.status is ParseStatus.SUCCESS
    assert page.title == "An ordinary page"
    assert page.language == "en-GB"
    assert page.canonical == "http://example.org/dir/page"
    assert (page.charset, page.charset_reason) == ("UTF-8", "meta")
    assert page.meta == {"description": ("What it is about",), "og:title": ("Ordinary",), "keywords": ("a, b",)}
    assert page.headings == (("h1", "Heading"), ("h2", "Second"))
    assert page.base == URL


@BOTH
def test_outlinks_in_document_order(impl: str) -> None:
    assert links(parsed(ORDINARY, impl)) == [
        ("style.css", ""),
        ("de/", ""),
        ("dir/page", ""),
        ("dir/app.js", ""),
        ("", "Home"),
        ("up", "Up there"),
        ("dir/page.html#frag", "Fragment"),
        ("dir/page.html?q=1&r=2", "query"),
        ("dir/img", "An image"),
        ("dir/i.png", "An image"),
        ("dir/a.webp", ""),
        ("dir/b.webp", ""),
        ("dir/c.png", ""),
        ("dir/d.png", ""),
        ("dir/area.html", "An area"),
        ("dir/frame.html", ""),
        ("dir/noscript.html", "N"),
        ("dir/hidden.html", "H"),
        ("dir/svg.html", "S"),
    ]


@BOTH
def test_visible_text(impl: str) -> None:
    assert parsed(ORDINARY, impl).text.splitlines() == [
        "An ordinary page",
        "Home",
        "Up there",
        "Heading",
        "Some inline text,",
        "two lines & an entity. Fragment",
        "one two",
        "three query",
        "Second",
        "before",
        "inside",
        "after",
        "Go",
        "svgS",
        "日本語です。",
    ]


def test_rel_and_tag_are_kept() -> None:
    page = parsed(ORDINARY)
    assert page.outlinks[1] == Outlink("http://example.org/de/", "", "alternate", "link")
    assert page.outlinks[5].rel == "help noopener"


@BOTH
def test_nofollow_is_skipped_by_setting(impl: str) -> None:
    html = "<a href=1 rel='external NoFollow'>x</a><a href=2 rel=ugc>y</a><link href=3 rel=nofollow>"
    assert links(parsed(html, impl)) == [("dir/2", "y")]
    assert links(parsed(html, impl, rules=Rules(ignore_rel=frozenset({"ugc"})))) == [("dir/1", "x"), ("dir/3", "")]
    assert len(parsed(html, impl, rules=Rules(ignore_rel=frozenset())).outlinks) == 3


def test_ignored_tags() -> None:
    page = parsed(ORDINARY, rules=Rules(ignore_tags=frozenset({"img", "link", "script"})))
    assert {link.tag for link in page.outlinks} == {"a", "source", "area", "iframe"}


@BOTH
def test_forms_by_setting_unless_posted(impl: str) -> None:
    html = "<form action=get>A</form><form action=post method=POST>B</form><form>C</form>"
    assert links(parsed(html, impl)) == []
    page = parsed(html, impl, rules=Rules(form_use_action=True))
    assert links(page) == [("dir/get", "A")]
    assert page.text == "A\nB\nC"


@pytest.mark.parametrize(
    ("html", "base"),
    [
        ("<base href='http://other.org/x/y'><a href=z>", "http://other.org/x/y"),
        ("<base href='/b/'><base href='/c/'><a href=z>", "http://example.org/b/"),
        ("<base target=_top><base href='/c/'><a href=z>", "http://example.org/c/"),
        ("<a href=z><base href=sub/>", "http://example.org/dir/sub/"),
        ("<base href='http://[bad/'><a href=z>", URL),
        ("<base href='javascript:x'><a href=z>", URL),
        ("<base href='data:,x'><a href=z>", URL),
        ("<base href=''><a href=z>", URL),
    ],
)
@BOTH
def test_base(impl: str, html: str, base: str) -> None:
    page = parsed(html, impl)
    assert page.base == base
    assert [link.url for link in page.outlinks] == [resolve(base, "z")]


def test_unusable_references_are_left_out() -> None:
    html = "".join(
        f"<a href='{href}'>x</a>" for href in ["javascript:x", "mailto:a@b", "data:,x", "tel:1", "http://[/"]
    )
    assert links(parsed(html + "<a>no</a><a href>none</a><a href=''>self</a>")) == [("dir/page.html", "self")]


def test_queries_go_out_in_the_charset_of_the_page() -> None:
    html = "<meta charset=windows-1251><a href='/p\u0430?q=\u0430\u20ac\u65e5#\u0430'>x</a>"
    page = parsed(html.encode("windows-1251", "xmlcharrefreplace"))
    assert page.outlinks[0].url == "http://example.org/p%D0%B0?q=%E0%88%26%2326085%3B#%D0%B0"
    assert parsed("<a href='?q=é'>x").outlinks[0].url.endswith("?q=%C3%A9")


@BOTH
def test_inline_elements_split_no_word_and_blocks_do(impl: str) -> None:
    assert parsed("<p>fo<b>o</b>b<span>a</span>r<wbr>s</p>x<div>y</div>z", impl).text == "foobars\nx\ny\nz"
    assert parsed("<div><span>a<p>b</p>c</span>d</div>e", impl).text == "a\nb\ncd\ne"
    assert parsed("a<!-- -->b<script>x</script>c<style>y</style>d", impl).text == "abcd"
    assert parsed("<td>a</td><dl><dt>b<dd>c</dl><select><option>d<option>e</select>", impl).text == "a\nb\nc\nd\ne"


@BOTH
def test_what_is_hidden_has_no_text_and_its_links_keep_theirs(impl: str) -> None:
    page = parsed(
        "a<p HIDDEN>b <a href=1>one</a></p><a href=2 hidden>two <i>2</i></a><a href=3>x<b hidden>y</b></a>", impl
    )
    assert page.text == "a\nx"
    assert links(page) == [("dir/1", "one"), ("dir/2", "two 2"), ("dir/3", "x")]
    assert parsed("<html hidden><p>a<a href=1>b</a>", impl).text == ""


@BOTH
@pytest.mark.parametrize(
    "tag", ["i hidden", "i/HidDen", 'i id="x"hidden', "i id='x'hidden=", "i\thidden\n=no", "i class=x hidden"]
)
def test_hidden_is_found_however_it_is_written(tag: str, impl: str) -> None:
    assert parsed(f"<meta charset=utf-8>a<{tag}>b</i>c", impl).text == "ac"
    assert parsed(f"<meta charset=koi8-r>a<{tag}>b</i>c", impl).text == "ac"


def test_noscript_text_by_setting() -> None:
    html = "a<noscript>b<a href=1>c</a></noscript>d"
    assert parsed(html).text == "ad"
    assert links(parsed(html)) == [("dir/1", "c")]
    assert parsed(html, rules=Rules(noscript_text=True)).text == "a\nbc\nd"


@BOTH
def test_robots_of_meta_and_header(impl: str) -> None:
    html = "<meta name=ROBOTS content='noindex'><meta name=TestBot content=noarchive><meta name=other content=nofollow>"
    assert parsed(html, impl).robots == {"noindex", "noarchive"}
    headers = [("X-Robots-Tag", "otherbot: noindex"), ("X-ROBOTS-TAG", "testbot: nofollow")]
    assert parsed("x", impl, headers).robots == {"nofollow"}
    assert parsed("<meta http-equiv=pragma content=no-cache>", impl).robots == {"noarchive"}
    assert parsed("<meta name=robots content='unavailable_after: Wed, 01 Jan 2020 00:00:00 GMT'>", impl).robots >= {
        "noindex"
    }


@BOTH
def test_refresh(impl: str) -> None:
    page = parsed("<meta http-equiv=Refresh content='3; url=../next'>", impl)
    assert (page.status, page.refresh) == (ParseStatus.SUCCESS_REDIRECT, (3.0, "http://example.org/next"))
    page = parsed("<base href=/b/><meta http-equiv=refresh content='0;url=x'>", impl)
    assert page.refresh == (0.0, "http://example.org/b/x")
    page = parsed("<meta http-equiv=refresh content='no'><meta http-equiv=refresh content='7'>", impl)
    assert page.refresh == (7.0, URL)
    assert parsed("<meta http-equiv=refresh content='nonsense'>", impl).status is ParseStatus.SUCCESS


@pytest.mark.parametrize(
    ("html", "headers", "language"),
    [
        ("<html lang=' fr '>", [("Content-Language", "de")], "fr"),
        ("<html lang=''>", [("Content-Language", "de")], "de"),
        ("<meta http-equiv=content-language content=nl>", [("Content-Language", "de")], "nl"),
        ("<meta http-equiv=content-language content='nl, be'>", [], None),
        ("<html xml:lang=it>", [], "it"),
        ("<html>", [], None),
    ],
)
def test_language(html: str, headers: list[tuple[str, str]], language: str | None) -> None:
    assert parsed(html, headers=headers).language == language


def test_outlinks_are_read_once_and_pickle() -> None:
    page = parsed("<a href=1>a</a><a href=2>b</a><a href=3>c</a>")
    assert [link.anchor for link in islice(page.outlinks, 2)] == ["a", "b"]
    assert [link.anchor for link in page.outlinks] == ["a", "b", "c"]
    assert pickle.loads(pickle.dumps(page)).outlinks == tuple(page.outlinks)
    assert page.outlinks[-1].anchor == "c"
    assert len(page.outlinks) == 3


def test_soup_is_of_the_same_page() -> None:
    parser = HtmlParser(Rules())
    soup = parser.soup(content(ORDINARY))
    assert soup.title.get_text(" ", strip=True).split() == ["An", "ordinary", "page"]
    assert parser.soup(content(b"<meta charset=koi8-r><p>\xf0")).p.text == "П"


def test_deep_trees_stay_whole_in_the_soup() -> None:
    assert parsed("<div>" * 400 + "<a href=deep>x", "bs4").outlinks[0].anchor == "x"


@pytest.mark.parametrize(
    ("srcset", "expected"),
    [
        ("a 1x, b 2x", ["a", "b"]),
        ("a, b", ["a", "b"]),
        ("a,b 2x", ["a,b"]),
        (" ,, a\n640w,\tb", ["a", "b"]),
        ("data:,x 1x, b", ["data:,x", "b"]),
        ("a (1, 2) 3x, b", ["b"]),
        ("a 1w 2h, b 2h 1w, c .5x, d 1e3x", ["a", "b", "c", "d"]),
        ("a 1x 2x, b 2h, c 0w, d -1x, e 1.x, f 7, g", ["g"]),
        (" , \t,", []),
        (" " * 300_000 + "a" + " " * 300_000, ["a"]),
        ("a,, b", ["a", "b"]),
        ("", []),
    ],
)
def test_srcset(srcset: str, expected: list[str]) -> None:
    assert candidates(srcset) == expected


def html5lib_links(html: str) -> list[str]:
    """References of html5lib's tree, in document order."""
    tree = html5lib.parse(html, treebuilder="dom")
    found: list[str] = []
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if node.nodeType == node.ELEMENT_NODE:
            if node.tagName == "template":
                continue
            name = {"a": "href", "area": "href", "link": "href"}.get(node.tagName, "src")
            wanted = node.tagName in ("a", "area", "link", "img", "iframe", "frame", "script", "source")
            if wanted and node.hasAttribute(name):
                found.append(node.getAttribute(name))
        nodes.extend(reversed(node.childNodes))
    return found


def without_repeats(urls: list[str | None]) -> list[str | None]:
    """A link left open is opened again by the tree builder; the parser keeps those that have a text."""
    return [url for number, url in enumerate(urls) if number == 0 or url != urls[number - 1]]


@pytest.mark.parametrize("html", [*SLOPPY, ORDINARY.replace(" srcset=", " x=").replace("xlink:", "")])
def test_same_links_as_the_tree_of_html5lib(html: str) -> None:
    page = parsed(html)
    expected = [resolve(page.base or URL, reference) for reference in html5lib_links(html)]
    assert without_repeats([link.url for link in page.outlinks]) == without_repeats(expected)


TAGS = """
    a href=1|a href=2|p|div|b|i|table|tr|td|ul|li|span|form|svg|math|h1|br|img src=3|button|nobr|pre|dd|iframe src=4|
    title|body|head|option|textarea|font color=1|frameset|style|script|noscript|center|caption
""".replace("\n    ", "").split("|")
"""Not select: since 2025 the standard lets any element stand in it, which html5lib does not know."""
TOKENS = [*(f"<{tag}>" for tag in TAGS), *(f"</{tag.split()[0]}>" for tag in TAGS), "x", " "]
MARKUP = st.lists(st.sampled_from(TOKENS))


def known_to_html5lib(pieces: list[str]) -> list[str]:
    """Without the </p> and </br> inside SVG or MathML: since 2020 they end it, which html5lib does not know."""
    foreign = next((place for place, piece in enumerate(pieces) if piece in ("<svg>", "<math>")), len(pieces))
    return pieces[:foreign] + [piece for piece in pieces[foreign:] if piece not in ("</p>", "</br>")]


@settings(max_examples=300)
@given(MARKUP)
@example(["<svg>", "<style>", "<a href=1>"])
@example(["<math>", "<script>", "<a href=1>", "x", "</a>", "<iframe src=4>", "<a href=2>"])
@example(["<svg>", "<style>", "<p>", "<style>", "<a href=1>"])
def test_same_links_as_html5lib_on_tag_soup(pieces: list[str]) -> None:
    html = "<!DOCTYPE html><body>" + "".join(known_to_html5lib(pieces))
    expected = {resolve(URL, reference) for reference in html5lib_links(html)}
    assert {link.url for link in parsed(html).outlinks} == expected


@pytest.mark.parametrize("element", ["style", "script", "iframe", "noframes"])
@pytest.mark.parametrize("outer", ["svg", "math"])
def test_raw_text_elements_hold_elements_inside_svg_and_mathml(outer: str, element: str) -> None:
    page = parsed(f"<body>a<{outer}><{element}>unseen<a href=in>x</a></{element}></{outer}><p>b")
    assert links(page) == [("dir/in", "x")]
    assert page.text == "a\nb"
    raw = parsed(f"<body>a<{element}>unseen<a href=in>x</a></{element}><p>b")
    assert (links(raw), raw.text) == ([], "a\nb")


@BOTH
@settings(max_examples=200)
@given(body=st.one_of(st.binary(max_size=200), MARKUP.map(lambda pieces: "".join(pieces).encode())))
@example(body=b"<base href='//[\xff'><meta http-equiv=refresh content='0;url=\xff'><a href='\xed\xa0\x80?\xff'>")
@example(body=b"<meta charset=utf-16>\0<\0a\0>\0")
@example(body=b"\xff\xfe<\0a\0 \0h\0r\0e\0f\0=\0\xd8")
def test_total(impl: str, body: bytes) -> None:
    page = parsed(body, impl)
    assert page.status.ok
    assert all(isinstance(link, Outlink) for link in page.outlinks)
    pickle.dumps(page)
    page.text.encode()
    page.title.encode()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_end_soon(name: str) -> None:
    start = time.process_time()
    page = parsed(HOSTILE[name])
    assert sum(len(link.anchor) for link in islice(page.outlinks, 200)) < 1_000_000
    assert time.process_time() - start < 5
    if "href=deep" in HOSTILE[name]:
        assert links(page) == [("dir/deep", "x")]
    if name == "attributes":
        assert links(page) == [("dir/first", "x")]


def test_settings_reach_the_parser() -> None:
    conf = defaults().with_values({"parser.html.form.use_action": True, "parser.html.impl": "bs4"})
    page = HtmlParser.from_conf(conf).parse(content("<form action=x>A</form>"))
    assert links(page) == [("dir/x", "A")]
    conf = defaults().with_values({"http.agent.name": "mybot", "http.robots.agents": "other, third"})
    page = HtmlParser.from_conf(conf).parse(content("<meta name=third content=nofollow>"))
    assert page.robots == {"nofollow"}


@pytest.mark.parametrize(
    ("name", "value"), [("parser.html.impl", "neko"), ("parser.character.encoding.default", "utf-7")]
)
def test_bad_settings_are_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
        HtmlParser.from_conf(defaults().with_values({name: value}))


def test_default_charset_is_used() -> None:
    conf = defaults().with_values({"parser.character.encoding.default": "utf-8"})
    page = HtmlParser.from_conf(conf).parse(replace(content("<p>x"), headers=()))
    assert (page.charset, page.charset_reason) == ("UTF-8", "default")
