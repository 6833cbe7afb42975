"""A folder as a page of links, for transports that have folders: what a crawl follows."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

LISTING_TYPE: Final = "text/html; charset=utf-8"
_UNIX: Final = re.compile(r"(?P<kind>[-dl])\S{9,}\s+(?:\S+\s+){3,4}?\d+\s+\w{3}\s+\d{1,2}\s+[\d:]{4,5}\s(?P<name>.+)")
_DOS: Final = re.compile(r"\d\d-\d\d-\d{2,4}\s+\d\d:\d\d(?:[AP]M)?\s+(?P<kind><DIR>|\d+)\s+(?P<name>.+)")
_FOLDERS: Final = ("d", "<DIR>")


def page(title: str, entries: Iterable[tuple[str, bool]]) -> bytes:
    """Names with whether they are folders, as HTML."""
    lines = [f'<li><a href="{_href(name, folder)}">{html.escape(name)}</a>' for name, folder in entries]
    head = f"<!doctype html>\n<title>{html.escape(title)}</title>\n<ul>\n"
    return (head + "\n".join(lines) + "\n</ul>\n").encode("utf-8", "surrogateescape")


def ftp_entries(text: str) -> list[tuple[str, bool]]:
    """The entries of an FTP server's LIST, as Unix and DOS write it; lines that are neither are left out."""
    found = []
    for line in text.splitlines():
        match = _UNIX.match(line) or _DOS.match(line)
        if match is None:
            continue
        name = match["name"].partition(" -> ")[0] if match["kind"] == "l" else match["name"]
        if name not in (".", ".."):
            found.append((name, match["kind"] in _FOLDERS))
    return found


def _href(name: str, folder: bool) -> str:
    # ./ keeps a colon in a name from making a scheme of what is before it
    path = quote(name.encode("utf-8", "surrogateescape"), safe="")
    return f"./{path}/" if folder else f"./{path}"
