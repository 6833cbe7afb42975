"""robots: ask the origin's robots.txt before the first page, obey it for each."""

from __future__ import annotations

from typing import Final

from nutchpy.core import urls
from nutchpy.core.counters import Counters
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.core.robots import RobotsVerdict
from nutchpy.fetcher.item import FetchItem
from nutchpy.fetcher.pipeline import PAUSE, PROCEED, Answer, Finish, Unrecorded
from nutchpy.fetcher.queue import QueueLimits
from nutchpy.fetcher.robots import RobotsAnswer, RobotsRules

_WEB: Final = frozenset({"http", "https"})


class RobotsHandler:
    """Denied and too slow pages end here; for the others it sets how long the queue rests afterwards."""

    def __init__(self, rules: RobotsRules, counters: Counters, schemes: frozenset[str] = _WEB) -> None:
        """``schemes`` are those that can be requested at all."""
        self._schemes = schemes
        self._rules = rules
        self._counters = counters

    def handle(self, item: FetchItem, now: float) -> Answer:
        """Proceed when the page may be fetched."""
        scheme = item.url.partition(":")[0]
        if scheme not in self._schemes:
            return Finish(ProtocolStatus.PROTO_NOT_FOUND, f"no protocol for {scheme} URLs")
        if scheme == "file":
            return PROCEED  # nobody's machine but ours: no rules, no delay
        answer = item.robots
        if answer is None:
            origin = urls.origin_of(item.url)
            if origin is None:
                return Finish(ProtocolStatus.PROTO_NOT_FOUND, "not a URL that can be requested")
            answer = self._rules.known(origin, item.host)
            if answer is None:
                self._rules.ask(origin, item)
                return PAUSE
        if answer.failure is not None:
            item.robots_verdict, item.robots_rule = "unreachable", answer.failure.message
            return answer.failure
        if answer.deferred:
            return Finish(Unrecorded.DEFERRED, answer.deferred)
        return self._judge(item, answer)

    def _judge(self, item: FetchItem, answer: RobotsAnswer) -> Answer:
        verdict = self._rules.verdict(answer, item.url)
        item.robots_delay = verdict.crawl_delay
        item.robots_rule = _basis(answer, verdict)
        item.robots_verdict = "exempt" if answer.exempt else "allowed" if verdict.allowed else "denied"
        if not verdict.allowed:
            self._counters.add("robots:denied")
            return Finish(ProtocolStatus.ROBOTS_DENIED, item.robots_rule or "")
        limits = _limits(item)
        pause = limits.pause(verdict.crawl_delay)
        if pause is None:
            self._counters.add("robots:crawl_delay_too_long")
            return Finish(
                ProtocolStatus.CRAWL_DELAY_TOO_LONG,
                f"robots.txt asks for {verdict.crawl_delay:g} s; fetcher.max.crawl.delay is {limits.robots_ceiling:g}",
            )
        item.pause = pause
        return PROCEED


def _basis(answer: RobotsAnswer, verdict: RobotsVerdict) -> str | None:
    """The line that decided, or what stands for it."""
    if answer.basis is not None or verdict.line is None:
        return answer.basis
    return f"robots.txt line {verdict.line}: {verdict.rule}"


def _limits(item: FetchItem) -> QueueLimits:
    if item.queue is None:
        raise ValueError(f"{item.url} is in no queue")
    return item.queue.limits
