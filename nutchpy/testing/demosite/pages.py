"""The demo site's pages: texts of articles.toml put into HTML, and the paths that misbehave.

Each ``*_site`` returns a Site whose links are absolute where they leave the host, so it must be told the other bases.
"""

from __future__ import annotations

import re
import struct
import tomllib
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from html import escape
from importlib.resources import files
from itertools import count
from urllib.parse import parse_qs

from nutchpy.testing.site import Answer, Page, Request, Site, html, in_turn, missing, redirect, text

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
PUBLISHED = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
_LINK = re.compile(r"\[\[(handbook:)?([^|\]]+)\|([^\]]+)\]\]")


@dataclass(frozen=True)
class Article:
    """One text of articles.toml."""

    path: str
    title: str
    text: str
    history: str = ""
    year: int = 0

    @property
    def section(self) -> str:
        """``islands``, ``birds``, …"""
        return self.path.split("/")[1]


@cache
def _texts() -> tuple[dict[str, str], tuple[Article, ...], tuple[Article, ...]]:
    """Section titles, the handbook's articles, the journal's entries."""
    found = tomllib.loads((files(__package__) / "articles.toml").read_text(encoding="utf-8"))
    return (
        found["sections"],
        tuple(Article(**article) for article in found["article"]),
        tuple(Article(**entry) for entry in found["entry"]),
    )


# --- markup ---------------------------------------------------------------------------------------------------------


def _paragraphs(source: str, handbook: str = "") -> str:
    """The HTML of a text, ``[[path|words]]`` made into links."""

    def link(found: re.Match[str]) -> str:
        base = handbook if found[1] else ""
        return f'<a href="{base}{escape(found[2])}">{escape(found[3], quote=False)}</a>'

    return "\n".join(f"<p>{_LINK.sub(link, part)}</p>" for part in source.strip().split("\n\n"))


def _list(links: Iterable[tuple[str, str]]) -> str:
    return "<ul>" + "".join(f'<li><a href="{escape(href)}">{escape(words)}</a></li>' for href, words in links) + "</ul>"


def _described(words: str) -> str:
    return f'<meta name="description" content="{escape(words)}">'


def _image(shade: int) -> Page:
    """A one-pixel PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(bytes([0, shade]))) + chunk(b"IEND", b"")
    return Page(b"\x89PNG\r\n\x1a\n" + header + body, "image/png", last_modified=PUBLISHED)


# --- the handbook ---------------------------------------------------------------------------------------------------


def handbook_site(handbook: str, journal: str, archive: str) -> Site:
    """The encyclopaedia: home, sections, articles, histories, sources (five levels), tides, and oddities."""
    sections, articles, _ = _texts()
    site = Site({"/": _home(handbook, journal, archive), "/robots.txt": text(_HANDBOOK_ROBOTS)})
    for section, title in sections.items():
        members = [(article.path, article.title) for article in articles if article.section == section]
        site[f"/{section}/"] = html(title, f"<h1>{title}</h1>{_list(members)}", last_modified=PUBLISHED)
    for number, article in enumerate(articles):
        site[article.path] = _article(handbook, article)
        site[f"/img{article.path}.png"] = _image(number)
        if article.history:
            site[f"{article.path}/history"] = _history(article)
            site[f"{article.path}/history/sources"] = _sources(article, articles)
    for letter in _letters(articles):
        found = [(article.path, article.title) for article in articles if article.title.startswith(letter)]
        site[f"/search?letter={letter.lower()}"] = html(f"Entries under {letter}", f"<h1>{letter}</h1>{_list(found)}")
    site.update(_tides())
    site.update(_oddities(journal))
    return site


_HANDBOOK_ROBOTS = """\
# The handbook asks for a little patience.
User-agent: *
Disallow: /private/
Disallow: /*?print=
Crawl-delay: 0.1
"""


def _letters(articles: Iterable[Article]) -> list[str]:
    return sorted({article.title[0] for article in articles})


def _home(handbook: str, journal: str, archive: str) -> Page:
    sections, articles, _ = _texts()
    entries = [*((f"/{name}/", title) for name, title in sections.items()), ("/tides/", "Tide tables")]
    letters = [(f"/search?letter={letter.lower()}", letter) for letter in _letters(articles)]
    about = [
        ("/about", "About this handbook"),
        ("/draft", "A draft"),
        ("/gazetteer.txt", "Gazetteer"),
        ("/old-harbour", "The old harbour"),
        ("/today", "Tides today"),
        ("/once-here", "A page that moved by hand"),
        ("/older", "An older page"),
        ("/missing-chart", "The missing chart"),
        ("/withdrawn/reef", "A withdrawn chart"),
        ("/flaky", "The signal station"),
        ("/private/ledger", "The ledger"),
        ("/islands/brindle?print=1", "Brindle, to print"),
        ("/#top", "Back to the top"),
    ]
    body = (
        "<h1 id=top>The Lantern Islands Handbook</h1><p>Ten islands, their birds, boats and people. "
        '<img src="/img/islands/brindle.png" alt="Brindle"></p>'
        f"{_list(entries)}<p>By letter:</p>{_list(letters)}<p>Also:</p>{_list(about)}"
        f'<p>See the <a href="{journal}/">journal</a> and the <a href="{archive}/">archive</a>. '
        '<a rel="nofollow" href="/private/guestbook">Sign the guest book</a>.</p>'
    )
    return html("The Lantern Islands Handbook", body, head=_described("An encyclopaedia of islands that do not exist."))


def _article(handbook: str, article: Article) -> Page:
    history = f'<p><a href="{article.path}/history">History of {article.title}</a></p>' if article.history else ""
    body = (
        f'<p><a href="/">Handbook</a> &gt; <a href="/{article.section}/">{article.section}</a></p>'
        f'<h1>{escape(article.title)}</h1><p><img src="/img{article.path}.png" alt="{escape(article.title)}"></p>'
        f"{_paragraphs(article.text)}{history}"
    )
    head = f'<base href="{handbook}/">{_described(article.title + ", an entry of the handbook")}'
    return html(f"{article.title} - Lantern Islands", body, head=head, last_modified=PUBLISHED)


def _history(article: Article) -> Page:
    links = _list([(f"{article.path}/history/sources", "Sources"), (article.path, article.title)])
    body = f"<h1>History of {article.title}</h1>{_paragraphs(article.history)}{links}"
    return html(f"History of {article.title}", body, last_modified=PUBLISHED)


def _sources(article: Article, articles: tuple[Article, ...]) -> Page:
    mentioned = [other for other in articles if f"[[{other.path}|" in article.history]
    words = "".join(f"<li>Harbour office, box {len(other.path)}, folder {other.title}</li>" for other in mentioned)
    body = f"<h1>Sources for {article.title}</h1><ol>{words}<li>Parish book, volume {len(article.text)}</li></ol>"
    return html(f"Sources for {article.title}", body + _list([(f"{article.path}/history", "Back")]))


def _tides() -> dict[str, Answer]:
    """A table a month; high water moves on by fifty minutes a day."""
    pages: dict[str, Answer] = {
        "/tides/": html(
            "Tide tables", f"<h1>Tide tables</h1>{_list((f'/tides/{month}', month.title()) for month in MONTHS)}"
        )
    }
    for number, month in enumerate(MONTHS):
        first = PUBLISHED + timedelta(minutes=97 * number)
        days = [(day, first + timedelta(minutes=50 * day)) for day in range(1, 29)]
        rows = "".join(f"<tr><td>{day}<td>{high:%H:%M}<td>{2 + high.minute / 60:.1f} m" for day, high in days)
        table = f"<table><tr><th>Day<th>High water<th>Height{rows}</table>"
        around = [
            (f"/tides/{MONTHS[number - 1]}", "Month before"),
            (f"/tides/{MONTHS[(number + 1) % 12]}", "Month after"),
        ]
        pages[f"/tides/{month}"] = html(f"Tides in {month.title()}", f"<h1>{month.title()}</h1>{table}{_list(around)}")
    return pages


def _oddities(journal: str) -> dict[str, Answer]:
    """What a crawler meets on real sites."""
    busy = replace(missing(503), headers=(("Retry-After", "1"),))
    closed = html(
        "About",
        '<h1>About</h1><p>No link here wants to be followed: <a href="/about/secret-ballot">the ballot</a>.</p>',
        head='<meta name="robots" content="nofollow">',
    )
    moved = html("Moved", "<p>It moved.</p>", head='<meta http-equiv="refresh" content="0; url=/islands/skerrow">')
    return {
        "/about": closed,
        "/about/secret-ballot": html("Ballot", "<p>You were not meant to come here.</p>"),
        "/draft": html("Draft", "<p>Not yet to be found.</p>", head='<meta name="robots" content="noindex">'),
        "/gazetteer.txt": text("\n".join(f"{a.title}: {a.path}" for a in _texts()[1]) + "\n"),
        "/old-harbour": redirect("/islands/brindle"),
        "/today": redirect("tides/june", 302),
        "/once-here": moved,
        "/older": redirect("/old"),
        "/old": redirect(f"{journal}/2024/ribbon-day", 308),
        "/withdrawn/reef": missing(410),
        "/flaky": in_turn(busy, html("Signal station", "<p>Back on the air.</p>")),
        "/private/ledger": html("Ledger", "<p>robots.txt asks you not to read this.</p>"),
        "/private/guestbook": html("Guest book", "<p>robots.txt asks you not to read this.</p>"),
    }


# --- the journal ----------------------------------------------------------------------------------------------------


def journal_site(handbook: str, journal: str) -> Site:
    """A periodical: entries, archive pages by query string, a shop with session ids, a calendar without end."""
    entries = _texts()[2]
    years = sorted({entry.year for entry in entries}, reverse=True)
    by_year = [(f"/archive?year={year}", f"Journal of {year}") for year in years]
    more = _list([*by_year, ("/shop/", "Shop"), ("/calendar?week=1", "Calendar")])
    latest = _list((entry.path, entry.title) for entry in entries[:3])
    home = html("The Lantern Journal", f'<h1>Journal</h1>{latest}{more}<p><a href="{handbook}/">Handbook</a></p>')
    robots = f"User-agent: *\nCrawl-delay: 0.05\nSitemap: {journal}/sitemap.xml\n"
    site = Site(
        {"/": home, "/robots.txt": text(robots), "/shop/": _shop(), "/shop/item": _item, "/calendar": _calendar}
    )
    for entry in entries:
        body = f"<h1>{escape(entry.title)}</h1>{_paragraphs(entry.text, handbook)}"
        site[entry.path] = html(entry.title, body, last_modified=PUBLISHED.replace(year=entry.year))
    for year in years:
        members = _list((entry.path, entry.title) for entry in entries if entry.year == year)
        site[f"/archive?year={year}"] = html(f"Journal of {year}", f"<h1>{year}</h1>{members}")
    return site


GOODS = ("Honey, light", "Honey, dark", "Ribbon, by the fathom", "Tide table, framed")


def _shop() -> Answer:
    """Every visit gets another session id in its links: one page looks like many to a crawler that keeps them."""
    visits = count(1)

    def answer(_request: Request) -> Page:
        session = f"{next(visits):016x}"
        goods = _list((f"/shop/item?sku={sku}&PHPSESSID={session}", name) for sku, name in enumerate(GOODS))
        return replace(html("Shop", f"<h1>Shop</h1>{goods}"), validators=False)

    return answer


def _item(request: Request) -> Page:
    sku = parse_qs(request.target.partition("?")[2]).get("sku", [""])[0]
    if not sku.isdecimal() or int(sku) >= len(GOODS):
        return missing()
    return html(GOODS[int(sku)], f"<h1>{GOODS[int(sku)]}</h1><p>Wanted in exchange: news.</p>")


def _calendar(request: Request) -> Page:
    week = parse_qs(request.target.partition("?")[2]).get("week", ["1"])[0]
    number = int(week) if week.isdecimal() else 1
    following = _list([(f"/calendar?week={number + 1}", "Next week")])
    return html(f"Week {number}", f"<h1>Week {number}</h1><p>Nothing is arranged.</p>{following}")


# --- the archive ----------------------------------------------------------------------------------------------------


def archive_site(handbook: str, archive: str) -> Site:
    """Old things: copies of handbook pages byte for byte, a page in ISO-8859-1, a slow one. It has no robots.txt."""
    birds = [article for article in _texts()[1] if article.section == "birds"]
    copies = [(f"/copy{bird.path}", f"Copy: {bird.title}") for bird in birds]
    others = _list([("/café.html", "Café"), ("/slow", "The slow catalogue"), ("/drawings.html", "Drawings")])
    home = html("Archive", f'<h1>Archive</h1>{_list(copies)}{others}<p><a href="{handbook}/">Handbook</a></p>')
    latin = "<html><head><title>Café</title></head><body><p>Café, thé, crêpes à la mode de Brindle.</p></body></html>"
    drawings = "".join(f"<li>Drawing {number}: not this</li>" for number in range(1, 200))
    return Site(
        {
            "/": home,
            **{f"/copy{bird.path}": _article(handbook, bird) for bird in birds},
            "/caf%C3%A9.html": Page(latin.encode("iso-8859-1"), "text/html; charset=iso-8859-1"),
            "/slow": html("Catalogue", f'<p>It was worth the wait. <a href="{archive}/">Archive</a></p>').after(1.0),
            "/drawings.html": html("Drawings of Hesper Lund", f"<h1>Drawings</h1><ol>{drawings}</ol>"),
        }
    )
