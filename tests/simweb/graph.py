"""A web as a function: hosts, their robots.txt, pages, links and faults, all computed from a seed. Nothing is stored.

Host *n* is ``hN.dM.test``; its pages have numbers from 0, its home page. Page *k* links to pages *k* × fan + 1 … of its
host, so that each host is a tree from its home page, and home pages link to home pages in the same way, so that
everything can be reached from host 0. Links at random, more of them to big hosts, come on top.
"""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate

_MASK = (1 << 64) - 1
_WORDS = 1 << 16
_SALTS = {name: n + 1 for n, name in enumerate(("kind", "size", "latency", "robots", "host", "page", "text", "moved"))}

OK, MISSING, BUSY, UNAVAILABLE, RESET, SLOW, MOVED, PRIVATE = (
    "ok",
    "missing",
    "busy",
    "unavailable",
    "reset",
    "slow",
    "moved",
    "private",
)
_FATES = (MISSING, BUSY, UNAVAILABLE, RESET, SLOW, MOVED, PRIVATE)


@dataclass(frozen=True)
class Web:
    """Parameters, and what follows from them. Rates are shares of all pages but home pages, or of all hosts."""

    seed: int = 1
    hosts: int = 1000
    pages: int = 10_000  # of all hosts together, roughly
    zipf: float = 1.0  # pages of the r-th host go with 1 / r ** zipf; 0: all hosts are alike
    largest: int = 0  # pages of a host at most; 0: any
    per_domain: int = 1  # hosts of one registered domain
    secure: float = 0.0  # share of hosts with https URLs
    fan: int = 8  # links of a page down its host's tree, and of a home page to others
    links: int = 4  # links of a page to its host's pages at random
    across: int = 4  # links of a page to other hosts at random
    size: int = 8_000  # bytes of a page, the median
    size_spread: float = 2.0  # factor between it and the largest, and the smallest
    latency: float = 0.1  # seconds to answer, the median
    latency_spread: float = 2.0  # factor between it and the slowest host, and the fastest
    missing: float = 0.0  # rate of 404
    busy: float = 0.0  # rate of 429
    unavailable: float = 0.0  # rate of 503
    retry_after: int = 1  # seconds that both ask for; 0: they ask for nothing
    reset: float = 0.0  # rate of connections reset within the head
    slow: float = 0.0  # rate of pages that take slow_seconds more
    slow_seconds: float = 2.0
    moved: float = 0.0  # rate of 301 and 302 to another page of the host
    private: float = 0.0  # rate of pages that robots.txt disallows, where there is one
    lawless: float = 0.3  # hosts without robots.txt
    closed: float = 0.0  # hosts whose robots.txt disallows all
    delayed: float = 0.0  # hosts that ask for a Crawl-delay …
    crawl_delay: float = 2.0  # … of so many seconds

    def host(self, number: int) -> str:
        """The name of a host."""
        return f"h{number}.d{number // self.per_domain}.test"

    def number(self, host: str) -> int | None:
        """The host of that name."""
        digits = host[1 : host.find(".")]
        number = int(digits) if digits.isdecimal() else -1
        return number if 0 <= number < self.hosts and self.host(number) == host else None

    def origin(self, number: int) -> str:
        """Scheme and name of a host."""
        scheme = "https" if self.secure and self.chance("host", number) < self.secure else "http"
        return f"{scheme}://{self.host(number)}"

    def url(self, number: int, page: int = 0) -> str:
        """The URL of a page."""
        return self.origin(number) + self.path(number, page)

    def count(self, number: int) -> int:
        """How many pages a host has."""
        count = max(1, int(self._scale / (number + 1) ** self.zipf))
        return min(count, self.largest) if self.largest else count

    def path(self, number: int, page: int) -> str:
        """The path of a page."""
        if page == 0:
            return "/"
        return f"/private/{page}" if self.fate(number, page) == PRIVATE else f"/p/{page}"

    def page(self, number: int, path: str) -> int | None:
        """The page at a path, if there is one."""
        if path == "/":
            return 0
        digits = path.rpartition("/")[2]
        page = int(digits) if digits.isdecimal() else -1
        return page if 0 < page < self.count(number) and self.path(number, page) == path else None

    def fate(self, number: int, page: int) -> str:
        """What comes of asking for a page."""
        if page == 0:
            return OK
        return self._fates[bisect(self._edges, self.chance("kind", number, page))]

    def target(self, number: int, page: int) -> int:
        """Where a page that has moved is now: nearer to the home page."""
        return self.mixed("moved", number, page) % page

    def linked(self, number: int, page: int) -> list[tuple[int, int]]:
        """Host and page of all links of a page."""
        count = self.count(number)
        first = page * self.fan + 1
        found = [(number, child) for child in range(first, min(first + self.fan, count))]
        if page == 0:
            first = number * self.fan + 1
            found += [(child, 0) for child in range(first, min(first + self.fan, self.hosts))]
        random = self.mixed("page", number, page)
        for _ in range(self.links if count > 1 else 0):
            random = _mix(random)
            found.append((number, random % count))
        for _ in range(self.across):
            random = _mix(random)
            found.append(self._somewhere(random))
        return found

    def bytes(self, number: int, page: int) -> int:
        """About how long a page is."""
        return int(self.size * self.size_spread ** (2 * self.chance("size", number, page) - 1))

    def seconds(self, number: int) -> float:
        """How long a host takes to answer."""
        return self.latency * self.latency_spread ** (2 * self.chance("latency", number) - 1)

    def robots(self, number: int) -> str | None:
        """The robots.txt of a host."""
        chance = self.chance("robots", number)
        if chance < self.closed:
            return "User-agent: *\nDisallow: /\n"
        if chance < self.closed + self.delayed:
            return f"User-agent: *\nCrawl-delay: {self.crawl_delay:g}\nDisallow: /private/\n"
        if chance < self.closed + self.delayed + self.lawless:
            return None
        return f"# {self.host(number)}\nUser-agent: *\nDisallow: /private/\n"

    def chance(self, salt: str, number: int, page: int = 0) -> float:
        """A number from 0 to 1, always the same for the same arguments."""
        return self.mixed(salt, number, page) / (_MASK + 1)

    def mixed(self, salt: str, number: int, page: int = 0) -> int:
        """64 bits, always the same for the same arguments."""
        return _mix(_mix(self.seed * 64 + _SALTS[salt]) ^ _mix(number << 24 ^ page))

    def _somewhere(self, random: int) -> tuple[int, int]:
        """A page of the web: big hosts are linked to more often, and home pages most of all."""
        number = int(self.hosts * ((random >> 40) / (1 << 24)) ** 3)
        return number, random % self.count(number) if random % 4 == 0 else 0

    @cached_property
    def _edges(self) -> list[float]:
        return list(accumulate(getattr(self, name) for name in _FATES))

    @cached_property
    def _fates(self) -> tuple[str, ...]:
        return (*_FATES, OK)

    @cached_property
    def _scale(self) -> float:
        """What the first host's pages would be, such that all have ``pages``, near enough."""
        low, high = 0.0, float(self.pages)
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if self._total(middle) < self.pages else (low, middle)
        return high

    def _total(self, scale: float) -> float:
        """Pages of all hosts, those of many alike estimated."""
        total, rank = 0.0, 1
        while rank <= self.hosts:
            step = min(max(1, rank // 50), self.hosts + 1 - rank)
            most = max(1.0, scale / (rank + (step - 1) / 2) ** self.zipf)
            total += step * (min(most, self.largest) if self.largest else most)
            rank += step
        return total


PARAMETERS = {field.name: field.default for field in fields(Web)}
"""Names and defaults, for a command line."""


class Writer:
    """Writes the pages of a web as HTML."""

    def __init__(self, web: Web) -> None:
        self.web = web
        longest = int(web.size * web.size_spread) + 1
        self._text = _text(web.seed, _WORDS * 8 + longest)

    def html(self, number: int, page: int) -> bytes:
        """A page: no two are alike."""
        web = self.web
        own = web.host(number)
        links = "\n".join(self._link(number, to, there) for to, there in web.linked(number, page))
        head = f"<!doctype html><html><head><title>Page {page} of {own}</title></head><body>\n<p>{links}</p>\n<p>"
        start = web.mixed("text", number, page) % _WORDS * 8
        room = max(0, web.bytes(number, page) - len(head) - 21)
        return b"%s%s</p>\n</body></html>\n" % (head.encode(), self._text[start : start + room])

    def _link(self, number: int, to: int, page: int) -> str:
        path = self.web.path(to, page)
        href = path if to == number else self.web.origin(to) + path
        return f'<a href="{href}">page {page} of h{to}</a>'


def _mix(value: int) -> int:
    """SplitMix64: every bit of the result depends on every bit of the value."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ value >> 30) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ value >> 27) * 0x94D049BB133111EB) & _MASK
    return value ^ value >> 31


def _text(seed: int, length: int) -> bytes:
    """So many bytes of words."""
    random, words = _mix(seed), []
    for _ in range(512):
        random = _mix(random)
        words.append("".join("etaoinshrdlucmfw"[random >> 4 * place & 15] for place in range(2 + random % 8)))
    chosen = bytearray()
    while len(chosen) < length:
        random = _mix(random)
        chosen += " ".join(words[random >> 9 * place & 511] for place in range(7)).encode() + b" "
    return bytes(chosen[:length])
