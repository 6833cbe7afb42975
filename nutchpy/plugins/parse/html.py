"""The HTML parser: bytes in, a Parse out, by the tree a browser builds.

Decides the charset, tames absurd pages, has the tree built and read, and puts together what was found. Total: any bytes
give a Parse. Which library builds the tree is a setting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final, Self

from nutchpy.conf.layers import Conf
from nutchpy.core import robots_directives
from nutchpy.core.content import Content, combined, header
from nutchpy.core.errors import ConfigError
from nutchpy.core.meta_refresh import meta_refresh
from nutchpy.core.parse import Parse, ParseStatus
from nutchpy.core.urls import resolve
from nutchpy.plugins.parse import labels, links
from nutchpy.plugins.parse.charset import charset
from nutchpy.plugins.parse.extract import Page, Rules, actions
from nutchpy.plugins.parse.guard import tamed
from nutchpy.plugins.parse.tree import Action, Builder

MAX_LANGUAGE: Final = 35
"""Characters of the longest language tag in use (BCP 47)."""


class HtmlParser:
    """Parses HTML and XHTML."""

    mime_types: ClassVar[tuple[str, ...]] = ("text/html", "application/xhtml+xml")

    def __init__(
        self,
        rules: Rules,
        impl: str = "fast",
        default_charset: str = "windows-1252",
        agents: tuple[str, ...] = (),
        max_depth: int = 500,
    ) -> None:
        self._rules = rules
        self._builder = _builder(impl, actions(rules))
        self._default = default_charset
        self._agents = agents
        self._max_depth = max_depth

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """The parser as ``parser.html.*`` has it."""
        rules = Rules(
            form_use_action=conf.flag("parser.html.form.use_action"),
            ignore_tags=frozenset(word.lower() for word in conf.words("parser.html.outlinks.ignore_tags")),
            ignore_rel=frozenset(word.lower() for word in conf.words("parser.html.outlinks.ignore_rel")),
            line_separators=tuple(word.lower() for word in conf.words("parser.html.line.separators")),
            noscript_text=conf.flag("parser.html.noscript.text"),
        )
        return cls(
            rules,
            conf.text("parser.html.impl"),
            default_charset(conf),
            agent_names(conf),
            conf.integer("parser.html.max.depth"),
        )

    def parse(self, content: Content) -> Parse:
        """The page as a browser's tree has it."""
        encoding, reason = self._charset(content)
        text = labels.decode(content.content, encoding)
        html = tamed(text, self._max_depth)
        as_is = html is text and encoding == "UTF-8" and reason != "bom" and labels.is_whole(text)
        page = Page.of(self._builder.tree(html, content.content if as_is else None), self._rules)
        encoded = links.query_encoder(encoding)
        base = links.base_of(page, content.base_url, encoded)
        refresh = _refresh(page, content.base_url, base, encoded)
        return Parse(
            status=ParseStatus.SUCCESS_REDIRECT if refresh else ParseStatus.SUCCESS,
            title=page.title,
            text=page.text,
            outlinks=links.outlinks(page, base, encoding),
            base=base,
            canonical=_canonical(page, base, encoded),
            charset=encoding,
            charset_reason=reason,
            language=_language(page, content),
            robots=self._robots(page, content),
            refresh=refresh,
            meta=_grouped(page.metas),
            headings=tuple((tag, page.inside(node)) for tag, node in page.headings),
        )

    def soup(self, content: Content) -> Any:
        """The same page as a BeautifulSoup, for parse filters."""
        from nutchpy.plugins.parse.soup import make_soup  # bs4 and lxml take 60 ms to import and few crawls need them

        return make_soup(tamed(labels.decode(content.content, self._charset(content)[0]), self._max_depth))

    def _charset(self, content: Content) -> tuple[str, str]:
        sent = combined(content.headers, "content-type")
        return charset(sent, content.content, content.content_type, self._default)

    def _robots(self, page: Page, content: Content) -> frozenset[str]:
        """Of meta elements, of headers, and Nutch's reading of ``Pragma: no-cache`` as noarchive."""
        found = robots_directives.from_meta(page.metas, self._agents)
        found |= robots_directives.from_headers(content.headers, self._agents)
        names = found.at(int(content.fetch_time.timestamp()))
        cacheless = any(name == "pragma" and "no-cache" in value.lower() for name, value in page.pragmas)
        return names | {"noarchive"} if cacheless else names


def default_charset(conf: Conf) -> str:
    """``parser.character.encoding.default`` by its WHATWG name."""
    label = conf.text("parser.character.encoding.default")
    name = labels.whatwg_name(label)
    if name is None:
        raise ConfigError(f"parser.character.encoding.default: {label!r} is no encoding of the web")
    return name


def agent_names(conf: Conf) -> tuple[str, ...]:
    """The names that robots directives may address us by."""
    more = conf.text("http.robots.agents").split(",")
    return tuple(name for name in (conf.text("http.agent.name"), *map(str.strip, more)) if name and name != "*")


def _builder(impl: str, table: Mapping[str, Action]) -> Builder:
    if impl == "fast":
        from nutchpy.plugins.parse.lexbor import LexborBuilder

        return LexborBuilder(table)
    if impl == "bs4":
        from nutchpy.plugins.parse.soup import SoupBuilder

        return SoupBuilder(table)
    raise ConfigError(f"parser.html.impl is fast or bs4, not {impl!r}")


def _refresh(page: Page, url: str, base: str, encoded: Callable[[str], str]) -> tuple[float, str] | None:
    """The first pragma that is a refresh to somewhere."""
    found = (meta_refresh(content, url, base, encoded) for name, content in page.pragmas if name == "refresh")
    return next(filter(None, found), None)


def _canonical(page: Page, base: str, encoded: Callable[[str], str]) -> str | None:
    """The first ``<link rel=canonical>`` that resolves, even when links of that element are ignored."""
    target = page.canonical_reference
    return resolve(base, encoded(target)) if target is not None else None


def _language(page: Page, content: Content) -> str | None:
    """As the standard inherits it: the root's ``lang``, the pragma, the header; one language only."""
    pragma = next((value for name, value in page.pragmas if name == "content-language"), None)
    for declared in (page.language, pragma, header(content.headers, "content-language")):
        if declared and "," not in declared and declared.strip():
            return declared.strip()[:MAX_LANGUAGE]
    return None


def _grouped(metas: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    grouped: dict[str, list[str]] = {}
    for name, content in metas:
        grouped.setdefault(name, []).append(content)
    return {name: tuple(contents) for name, contents in grouped.items()}
