"""The feed parser: RSS, Atom and JSON Feed; entries as outlinks with their titles, titles and summaries as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self

from nutchpy.conf.layers import Conf
from nutchpy.core import markup
from nutchpy.core.content import Content
from nutchpy.core.parse import Parse
from nutchpy.plugins.parse.document import Reading, Reference, lines, not_mine, untagged

_ROOTS: Final = frozenset({"rss", "rdf", "feed"})
_ENTRIES: Final = frozenset({"item", "entry"})
_SUMMARIES: Final = ("description", "summary", "subtitle", "tagline", "content", "encoded")
_TEXTS: Final = frozenset({"title", "link", "guid", "language", *_SUMMARIES})
_NO_NEIGHBOURS: Final = frozenset({"self", "edit", "replies", "hub", "license", "search", "first", "last", "previous"})
_OWN: Final = frozenset({"", "rss", "atom", "content", "rdf", "feed"})
"""Prefixes that feeds use for their own elements; ``media:title`` and the like are not the entry's."""
_JSON: Final = ("application/feed+json", "application/json", "text/json")


@dataclass(slots=True)
class _Entry:
    """The feed itself, or an entry of it."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    links: list[tuple[str, str]] = field(default_factory=list)
    """Reference, and the element it came from."""

    def add(self, name: str, text: str) -> None:
        self.texts.setdefault(name, []).append(text)

    def text(self, name: str) -> str:
        return "".join(self.texts.get(name, ())).strip()

    @property
    def title(self) -> str:
        return untagged(self.text("title"))

    @property
    def lines(self) -> Iterator[str]:
        yield self.title
        yield from (untagged(self.text(name)) for name in _SUMMARIES if name in self.texts)

    def references(self) -> Iterator[Reference]:
        """Its links; a guid that is a URL when it has none."""
        link = self.text("link")
        found = [(link, "link")] if link else []
        found += self.links
        if not found and self.text("guid").startswith(("http://", "https://")):
            found = [(self.text("guid"), "guid")]
        return ((reference, self.title, tag) for reference, tag in found)


class FeedParser:
    """Parses feeds; XML and JSON that is none is left to others."""

    mime_types: ClassVar[tuple[str, ...]] = (
        "application/rss+xml",
        "application/atom+xml",
        "application/rdf+xml",
        "application/xml",
        "text/xml",
        *_JSON,
    )

    def __init__(self, reading: Reading | None = None) -> None:
        self._reading = reading or Reading()

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """The parser with the charset and names of the settings."""
        return cls(Reading.from_conf(conf))

    def parse(self, content: Content) -> Parse:
        """The feed, as far as it can be read."""
        is_json = content.content_type in _JSON
        decoded = self._reading.decode(content, "application/json" if is_json else None)
        feed = _of_json(decoded.text) if is_json else _of_xml(decoded.text)
        if feed is None:
            return not_mine("no feed")
        entries = [feed.top, *feed.entries]
        return self._reading.parse(
            content,
            decoded,
            title=feed.top.title,
            text=lines(line for entry in entries for line in entry.lines),
            links=(link for entry in entries for link in entry.references()),
            language=feed.top.text("language") or None,
        )


class _Feed:
    """Collects a feed of XML; ``known`` once its outermost element is a feed's."""

    def __init__(self) -> None:
        self.top = _Entry()
        self.entries: list[_Entry] = []
        self.known = False
        self._open: list[str] = []
        self._entry = self.top
        self._depth = 0

    def start(self, name: str, attributes: str) -> None:
        """An element begins; text is taken from what stands right in the feed or in an entry."""
        prefix, _, local = name.lower().rpartition(":")
        if not self.known:
            self.known = local in _ROOTS
            if not self.known:
                raise markup.Enough
        local = local if prefix in _OWN else name.lower()
        if local in _ENTRIES:
            self._entry, self._depth = _Entry(), len(self._open) + 1
            self.entries.append(self._entry)
        elif local == "channel":
            self._depth = len(self._open) + 1
        elif local == "feed":
            self._depth = 1
        elif local in ("link", "enclosure", "content", "media:content") and len(self._open) == self._depth:
            self._link(local, markup.attributes(attributes))
        self._open.append(local)

    def end(self, name: str) -> None:
        """An element ends; behind an entry comes the feed again."""
        ended = self._open.pop() if self._open else ""
        if ended in _ENTRIES:
            self._entry, self._depth = self.top, len(self._open)

    def text(self, text: str) -> None:
        """Characters of what is wanted, markup of XHTML contents passed over."""
        inside = self._open[self._depth] if len(self._open) > self._depth else ""
        if inside in _TEXTS:
            deeper = len(self._open) > self._depth + 1
            self._entry.add(inside, f" {text} " if deeper else text)

    def broken(self, why: str) -> None:
        """What can be read is read."""

    def _link(self, local: str, attributes: Mapping[str, str]) -> None:
        reference = attributes.get("href") or attributes.get("url") or attributes.get("src") or ""
        if reference and not _NO_NEIGHBOURS.intersection(attributes.get("rel", "").lower().split()):
            self._entry.links.append((reference, local))


def _of_xml(text: str) -> _Feed | None:
    feed = _Feed()
    markup.scan(text, feed)
    return feed if feed.known else None


def _of_json(text: str) -> _Feed | None:
    """A JSON Feed; one that says so, or has items that look like it."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("items"), list):
        return None
    if not str(data.get("version", "")).startswith(("https://jsonfeed.org/", "http://jsonfeed.org/")):
        return None
    feed = _Feed()
    feed.top = _json_entry(data, ("home_page_url", "next_url"))
    feed.entries = [_json_entry(item, ("url", "external_url")) for item in data["items"] if isinstance(item, dict)]
    return feed


def _json_entry(data: Mapping[str, Any], links: tuple[str, ...]) -> _Entry:
    entry = _Entry()
    for key, name in (("title", "title"), ("description", "description"), ("language", "language"),
                      ("summary", "summary"), ("content_text", "content"), ("content_html", "content")):  # fmt: skip
        if isinstance(text := data.get(key), str):
            entry.texts[name] = [text]
    attachments = data.get("attachments")
    found = [(data.get(key), key) for key in links]
    found += [(item.get("url"), "attachment") for item in _objects(attachments)]
    entry.links = [(reference, tag) for reference, tag in found if isinstance(reference, str)]
    return entry


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
