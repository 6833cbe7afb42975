"""Single fetches, for people who look into one page: one request after the other, no queues, nothing stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from selectors import DefaultSelector

from nutchpy.conf.layers import Conf
from nutchpy.core import urls
from nutchpy.core.content import Content, Headers, ProtocolOutput, header
from nutchpy.core.mime import mime
from nutchpy.core.redirects import redirect
from nutchpy.core.robots import RobotsVerdict
from nutchpy.extension import chains
from nutchpy.fetcher import settings
from nutchpy.fetcher.item import FetchItem, Request
from nutchpy.fetcher.loop import Waker
from nutchpy.fetcher.robots import RobotsRules
from nutchpy.fetcher.traffic import Traffic


@dataclass(frozen=True)
class Robots:
    """What robots.txt says of a URL; ``trouble`` when it could not be had."""

    verdict: RobotsVerdict | None
    trouble: str = ""


class SingleFetcher:
    """Fetches one URL at a time by the transport of the settings; close it when done."""

    def __init__(self, conf: Conf) -> None:
        settings.agent_name(conf)
        self._pages = settings.page_settings(conf)
        self._magic = conf.flag("mime.type.magic")
        self._selector = DefaultSelector()
        self._waker = Waker(self._selector)
        self._traffic = Traffic(chains.transport(conf))
        self._traffic.attach(self._selector, self._waker.wake)
        self._answered: list[FetchItem] = []
        self._rules = RobotsRules(
            settings.robots_settings(conf), self._traffic, self._answered.append, time.monotonic, _wall
        )

    def fetch(self, url: str, headers: Headers = ()) -> ProtocolOutput:
        """The answer to one request."""
        page = self._pages(urls.host_of(url) or "")
        answers: list[ProtocolOutput] = []
        self._traffic.start(
            Request(url, headers, page.timeouts, page.content_limit, decode=page.decode), answers.append
        )
        self._drive(lambda: bool(answers))
        return answers[0]

    def follow(self, url: str, most: int) -> Sequence[ProtocolOutput]:
        """The answers along a chain of redirects, at most ``most`` of them followed; the last is where it ended."""
        chain = [self.fetch(url)]
        seen = {url}
        while len(chain) <= most:
            last = chain[-1]
            target = redirect(last.http_status or 0, last.headers, last.url)
            if target is None or target in seen:
                break
            seen.add(target)
            chain.append(self.fetch(target))
        return chain

    def robots(self, url: str) -> Robots:
        """What the robots.txt of the URL's origin says of it."""
        origin, host = urls.origin_of(url), urls.host_of(url)
        if origin is None or host is None:
            return Robots(None, "not a URL that has a robots.txt")
        answer = self._rules.known(origin, host)
        if answer is None:
            item = FetchItem(url, host, host, {})
            self._rules.ask(origin, item)
            self._drive(lambda: item in self._answered)
            answer = item.robots
        if answer is None or answer.robots is None:
            return Robots(None, (answer.deferred or str(answer.failure)) if answer else "no answer")
        return Robots(self._rules.verdict(answer, url))

    def content(self, output: ProtocolOutput, force_type: str | None = None) -> Content:
        """An answer as the content table would hold it."""
        found = mime(header(output.headers, "content-type"), output.url, output.content, magic=self._magic)
        return Content(
            url=output.url,
            base_url=output.url,
            content_type=force_type or found,
            headers=output.headers,
            content=output.content,
            fetch_time=datetime.now(UTC),
            truncated=output.truncated,
        )

    def close(self) -> None:
        """Let go of sockets and threads."""
        self._traffic.close()
        self._waker.close()
        self._selector.close()

    def _drive(self, done: Callable[[], bool]) -> None:
        while not done():
            deadline = self._traffic.deadline()
            ready = self._selector.select(None if deadline is None else max(0.0, deadline - time.monotonic()))
            for event in ready:
                if event[0].data is self._waker:
                    self._waker.notice()
            self._traffic.step([event for event in ready if event[0].data is not self._waker])


def _wall() -> int:
    return time.time_ns() // 1000
