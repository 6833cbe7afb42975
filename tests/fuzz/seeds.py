"""What fuzzing begins with: for each target a few inputs of the right shape, and the words they are made of."""

from __future__ import annotations

import gzip
import zlib
from typing import Final

import brotli
import zstandard

_BODY: Final = b"<p>text</p>" * 30

SEEDS: Final[dict[str, list[bytes]]] = {
    "url": [
        b"http://user:pw@Ex%61mple.org:080/a/../b;c?d=1&e#f",
        "http://b\u00fccher.example/\u00e9?\u00fc".encode(),
        b"http://[::ffff:1.2.3.4]/\n../x?y",
        b"https://0x7f.1/%7e%2E%zz/.b/..//c",
        b"file:///C|/a\n//host/b",
        b"HTTP:\\\\a.xn--zz-a\\b^c",
        b"http://h/?sid=1&&x=#!y",
    ],
    "robots": [
        b"a/b?c\n\xef\xbb\xbfUser-agent: mybot\nDisallow: /*.gif$\nAllow: /a\nCrawl-delay: 1.5\nSitemap: http://a/s\n",
        b"x\nuser agent mybot\r\ndisalow /\rallow: index.html # c\n\nuser-agent: *\ndisallow: %2f%zz",
    ],
    "headers": [
        b'text/html;charset="utf-8";a=b, text/plain',
        b"mybot: noindex, unavailable_after: Fri, 01 Jan 2100 00:00:00 GMT, max-snippet:0",
        b"//other/%zz\xe9 ?#",
    ],
    "http_date": [
        b"Sun, 06 Nov 1994 08:49:37 GMT",
        b"Sunday, 06-Nov-94 08:49:37 GMT",
        b"Sun Nov  6 08:49:37 1994",
        b"2020-01-02T03:04:05Z",
        b"1 Jan 70 0:0 +0100",
    ],
    "meta_refresh": [b"5; url='x'", b"0.5,URL = http://a/", b" 3 x", b";url=y"],
    "charset": [
        b'<!-- x --><meta http-equiv=Content-Type content="text/html; charset=koi8-r">',
        b"<?xml version='1.0' encoding='euc-jp'?><a/>",
        b"\xff\xfe<\0a\0",
        "\u044f\u0437\u044b\u043a".encode("cp1251") * 5,
        b"%PDF-1.7",
    ],
    "html": [
        b"<!doctype html><base href=/d/><title>T</title><a href=x rel=ugc>y<img src=z alt=w srcset='a 1x, b 2x'></a>",
        b"<table><tr><td><table><a href=1>x<a href=2>y</table><svg><a xlink:href=3>z</svg><frameset><frame src=f>",
        b"<meta name=robots content=noindex><meta http-equiv=refresh content='1;url=x'><link rel=canonical href=c>",
        b"<noscript><a href=x></noscript><template><a href=y></template><form action=z><select><option>o<plaintext>",
    ],
    "sitemap": [
        (
            b"<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http://example.org/"
            b"</loc><lastmod>2020-01-01</lastmod><changefreq>daily</changefreq><priority>0.5</priority></url></urlset>"
        ),
        b"<sitemapindex><sitemap><loc><![CDATA[http://example.org/s&amp;]]></loc></sitemap>",
        b"<rss><channel><item><link>/x</link><pubDate>Sun, 06 Nov 1994 08:49:37 GMT</pubDate></item>",
        b"<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='a'/><updated>2020-01-01T00:00:00Z</updated>",
        b"http://example.org/a\nhttp://example.org/b\n",
        gzip.compress(b"http://example.org/a\n"),
        b"<!DOCTYPE x [<!ENTITY a 'b'>]><urlset><url><loc>&a;</loc>",
    ],
    "decode": [
        b"\0" + gzip.compress(_BODY) + gzip.compress(_BODY) + b"junk",
        b"\1" + zlib.compress(_BODY),
        b"\1" + zlib.compress(_BODY)[2:-4],
        b"\2" + brotli.compress(_BODY),
        b"\3" + zstandard.compress(_BODY),
        b"\4" + brotli.compress(gzip.compress(_BODY)),
    ],
    "respond": [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\nbody",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nbody\r\n0\r\nA: b\r\n\r\n",
        b"HTTP/1.0 301\nLocation: /x\n folded\n\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, br\r\nContent-Length: 99\r\nContent-Length: 9\r\n\r\n"
        + gzip.compress(_BODY),
        b"ICY 200 OK\r\n\r\n<p>",
    ],
    "address": [b"127.0.0.1", b"::ffff:10.0.0.1", b"64:ff9b::7f00:1", b"0x7f.1", b"[fe80::1%25eth0]"],
}

_WORDS: Final = r"""
    http:// https:// file: // ../ ./ %2e %zz xn-- : @ [ ] ? # & = ; , \ ^ | sid= charset= url= noindex none mybot:
    User-agent: Disallow: Allow: Crawl-delay: Sitemap: * $ <a href= <base href= <img srcset= <meta <table> <svg> <math>
    <template> <select> <noscript> <script> <!-- --> <![CDATA[ ]]> <!DOCTYPE <!ENTITY &amp; &#x <url> <loc> <sitemap>
    <rss> <item> <feed> <entry> <link gzip br zstd deflate GMT Jan +0100 T00:00:00Z ::ffff: 0x
"""
WORDS: Final = _WORDS.split()
