"""A site for tests and the demo: which answer stands at which path. Values and a table; sockets are site_server's.

site = Site({"/": html("Home", '<a href="/a">a</a>'), "/old": redirect("/a")})
site["/a"] = html("A", "first text")          # may change while it is served
site["/now"] = lambda request: text(request.headers["user-agent"])
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, replace
from datetime import datetime
from html import escape

HTML = "text/html; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"


@dataclass(frozen=True)
class Request:
    """What a client asked for. ``target`` is path and query as sent; header names are lower-case."""

    method: str
    target: str
    headers: Mapping[str, str]

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]


@dataclass(frozen=True)
class Page:
    """One answer. ``validators`` gives it an ETag (and Last-Modified when there is one) and lets it be a 304."""

    body: bytes = b""
    content_type: str = HTML
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    last_modified: datetime | None = None
    validators: bool = True
    gzip: bool = True
    delay: float = 0.0
    """Seconds between the request and the first byte of the answer."""

    @property
    def etag(self) -> str:
        """A strong validator: the body's own hash."""
        return f'"{hashlib.sha256(self.body).hexdigest()[:16]}"'

    def after(self, delay: float) -> Page:
        """The same, slower."""
        return replace(self, delay=delay)


Answer = Page | Callable[[Request], Page]


def html(title: str, body: str, *, head: str = "", status: int = 200, last_modified: datetime | None = None) -> Page:
    """A small HTML page; ``title`` is escaped, ``head`` and ``body`` are markup."""
    top = f"<!doctype html>\n<html lang=en><head><title>{escape(title)}</title>{head}</head>\n"
    return Page(f"{top}<body>{body}</body></html>\n".encode(), status=status, last_modified=last_modified)


def text(content: str, *, status: int = 200) -> Page:
    """A plain text page."""
    return Page(content.encode(), PLAIN, status)


def redirect(target: str, status: int = 301) -> Page:
    """A redirect to ``target``, which may be relative."""
    return Page(b"", status=status, headers=(("Location", target),), validators=False)


def missing(status: int = 404) -> Page:
    """An error page."""
    return replace(html(f"{status}", f"<h1>{status}</h1>", status=status), validators=False)


def in_turn(*pages: Page) -> Callable[[Request], Page]:
    """The first page to the first request, the next to the next; the last one stays."""
    lock = threading.Lock()
    waiting = list(pages)

    def answer(_request: Request) -> Page:
        with lock:
            return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return answer


class Site(MutableMapping[str, Answer]):
    """Answers by target. A query that is not listed itself is answered by its path; what is not there is a 404."""

    def __init__(self, answers: Mapping[str, Answer] | None = None) -> None:
        self._answers: dict[str, Answer] = dict(answers or {})
        self._lock = threading.Lock()

    def answer(self, request: Request) -> Page:
        """The page for a request."""
        with self._lock:
            found = self._answers.get(request.target, self._answers.get(request.path))
        if found is None:
            return missing()
        return found if isinstance(found, Page) else found(request)

    def __getitem__(self, target: str) -> Answer:
        with self._lock:
            return self._answers[target]

    def __setitem__(self, target: str, answer: Answer) -> None:
        with self._lock:
            self._answers[target] = answer

    def __delitem__(self, target: str) -> None:
        with self._lock:
            del self._answers[target]

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            return iter(list(self._answers))

    def __len__(self) -> int:
        with self._lock:
            return len(self._answers)
