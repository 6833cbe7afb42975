"""Pages for the parser's tests: ordinary, sloppy and hostile; and how to parse one."""

from __future__ import annotations

from datetime import UTC, datetime

from nutchpy.core.content import Content, Headers
from nutchpy.core.parse import Parse
from nutchpy.plugins.parse.extract import Rules
from nutchpy.plugins.parse.html import HtmlParser

NOW = datetime(2026, 1, 1, tzinfo=UTC)
URL = "http://example.org/dir/page.html"


def content(body: str | bytes, url: str = URL, mime: str = "text/html", headers: Headers = ()) -> Content:
    data = body.encode() if isinstance(body, str) else body
    return Content(url, url, mime, headers, data, NOW)


def parsed(body: str | bytes, impl: str = "fast", headers: Headers = (), rules: Rules | None = None) -> Parse:
    return HtmlParser(rules or Rules(), impl, agents=("testbot",)).parse(content(body, headers=headers))


ORDINARY = """<!DOCTYPE html>
<html lang="en-GB"><head><meta charset="utf-8"><title>An  ordinary
 page</title>
<link rel="stylesheet" href="/style.css"><link rel="alternate" hreflang="de" href="/de/">
<link rel="canonical" href="/dir/page"><meta name="description" content="What it is about">
<meta property="og:title" content="Ordinary"><meta name="keywords" content="a, b">
<script src="app.js">var x = "<a href='no'>";</script><style>p { color: red }</style></head>
<body><nav><ul><li><a href="/">Home</a></li><li><a href="../up" rel="Help  NoOpener">Up <b>there</b></a></li></ul></nav>
<h1>Head<em>ing</em></h1><p>Some <i>in</i>line text,<br>two lines &amp; an entity. <a href="#frag">Fragment</a></p>
<table><tr><th>one</th><td>two</td></tr><tr><td>three</td><td><a href="?q=1&amp;r=2">query</a></td></tr></table>
<h2>Second</h2><div>before<p>inside</p>after</div><a href="img"><img src="i.png" alt="An  image"></a>
<picture><source srcset="a.webp 1x, b.webp 2x"><img src="c.png" srcset="c.png 1x, d.png 2x" alt=""></picture>
<map name="m"><area href="area.html" alt="An area"></map><iframe src="frame.html">no</iframe>
<form action="/search" method="get"><input name="q"><button>Go</button></form>
<noscript><a href="noscript.html">N</a> hidden</noscript><template><a href="template.html">T</a></template>
<p hidden>unseen <a href="hidden.html">H</a></p><svg><title>svg</title><a xlink:href="svg.html"><text>S</text></a></svg>
<p>日本<b>語</b>です。</p><!-- a comment with <a href="comment.html"> --></body></html>
"""

SLOPPY = [
    "<p>one<p>two<a href=1>x<a href=2>y</a>",
    "<table><a href=1>foster</a><tr><td><a href=2>in",
    "<ul><li><a href=1>a<li><a href=2>b</ul>",
    "<b><p><a href=1>x</b>y</a></p>",
    "<a href=1><div><a href=2>z</a></div></a>",
    "<frameset><frame src=1><frame src=2></frameset>",
    "<title>a<b>c</title><a href='1'>x</a>",
    "<textarea><a href=1></textarea><a href=2>x</a>",
    "<a href=1 href=2>x</a><A HREF=3>y</A><a/href=4>z</a>",
    "<svg><a href=1>s</a><title>t</title></svg><math><a href=2>m</a></math>",
    "<p><a href='1'\n>x</a\n><a href=\"2\">y</a><a href=3>z",
    "<!-- <a href=1> --><![CDATA[<a href=2>]]><a href=3>x</a><?pi <a href=4>?>",
    "<noscript><a href=1>x</a></noscript><xmp><a href=2></xmp><a href=3>y</a>",
    "</p><br/></br><a href=1>x</a></a></body><a href=2>after</a></html><a href=3>end</a>",
    "<button><a href=1>x</a><button><a href=2>y</a>",
    "<table><td><a href=1>x<table><td><a href=2>y",
    "<a href=&#49;>x</a><a href='a&amp;b&copy=1'>y</a><a href='&notit;'>z</a>",
    "<head><noscript><img src=1></noscript><link href=2></head><base href=/b/><a href=3>x</a>",
    "<area href=1><link href=2><img src=3><iframe src=4></iframe><script src=5></script><source src=6>",
    "<image src=1><isindex action=2><a href=3>x",
    "<form><form action=1><a href=2>x</a></form></form>",
    "<math><mi><a href=1>x</a></mi><annotation-xml encoding='text/html'><a href=2>y</a></annotation-xml></math>",
    "<p>a\0b<a href='1\0'>x\0y</a>",
    "<plaintext><a href=1>",
    "<a href=1>x" * 20,
    "",
    "just text",
    "<",
    "<a",
    "<a href='",
]

HOSTILE = {
    "divs": "<div>" * 60_000 + "<a href=deep>x</a>",
    "closed divs": "<div>" * 60_000 + "<a href=deep>x</a>" + "</div>" * 60_000,
    "attributes": "<a href=first " + " ".join(f"a{n}=1" for n in range(60_000)) + ">x</a>",
    "angles": "<" * 1_000_000,
    "ampersands": "&" * 1_000_000,
    "bold": "<b>" * 333_000 + "x",
    "tables": "<table>" * 150_000 + "x",
    "fonts and paragraphs": "".join(f"<font color=c{n}><p>" for n in range(20_000)) + "x",
    "lists": "<ul><li>" * 50_000 + "x",
    "links": "<a href=x>y</a>" * 70_000,
    "nested links": "<table><td><a href=x>y" * 20_000,
    "srcset": "<img srcset='" + "a 1x," * 200_000 + "'>",
    "comments": "<!--" * 250_000,
    "forms": "<form action=x>" * 60_000,
    "entities": "&lt;" * 250_000,
    "unclosed quote": "<a href='" + "x" * 1_000_000,
    "rel": "<a href=x rel='" + "a " * 500_000 + "'>x</a>",
    "metas": "<meta name=a content=b>" * 40_000,
    "headings": "<h1>x" * 100_000,
    "titles": "<title>" + "x " * 500_000,
    "svg": "<svg>" * 200_000 + "<a xlink:href=x>",
    "nul": "\0" * 1_000_000,
    "refresh": "<meta http-equiv=refresh content='" + "0" * 900_000 + ";url=x'>",
}
