"""The settings of the fetcher, read once and in one place; what may differ by host is read per host."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from nutchpy.conf.layers import Conf
from nutchpy.core import urls
from nutchpy.core.errors import ConfigError
from nutchpy.fetcher.handlers.protocol import PageSettings
from nutchpy.fetcher.item import Timeouts
from nutchpy.fetcher.output import FlushLimits
from nutchpy.fetcher.queue import QueueLimits
from nutchpy.fetcher.redirects import RedirectSettings
from nutchpy.fetcher.robots import RobotsSettings
from nutchpy.fetcher.rows import QUEUE_COLUMN
from nutchpy.fetcher.sink import Deferral

_BYTES_PER_KBIT: Final = 125
_LEAST: Final = {
    "fetcher.threads.fetch": 1,
    "fetcher.threads.per.queue": 1,
    "fetcher.queue.depth.multiplier": 1,
    "fetcher.queue.lookahead": 0,
    "fetcher.server.delay": 0,
    "fetcher.server.min.delay": 0,
    "fetcher.processes": 0,
    "fetcher.stop.grace": 0,
    "fetcher.threads.timeout.divisor": 1,
    "fetcher.dns.threads": 1,
    "http.timeout": 1,
}
"""Below these a fetch would stand still, or make no sense."""


def check(conf: Conf) -> None:
    """ConfigError when a number is one that no fetch can work with, or the crawler has no name."""
    agent_name(conf)
    for name, least in _LEAST.items():
        value = conf[name]
        if not (isinstance(value, (int, float)) and value >= least):  # nor is nan
            raise ConfigError(f"{name} is {value}; it must be at least {least}")


def queue_mode(conf: Conf) -> str:
    """``byHost``, ``byDomain`` or ``byIP``."""
    mode = conf.text("fetcher.queue.mode")
    if mode not in QUEUE_COLUMN:
        raise ConfigError(f"fetcher.queue.mode is {mode!r}; it may be {', '.join(QUEUE_COLUMN)}")
    return mode


def queue_key(conf: Conf) -> Callable[[str], str]:
    """The queue of a host. By address: the host's own, until its address is known."""
    return urls.registered_domain if queue_mode(conf) == "byDomain" else _same


def agent_name(conf: Conf) -> str:
    """The crawler's name, without which it must not go out."""
    name = conf.text("http.agent.name").strip()
    if not name:
        raise ConfigError(
            "http.agent.name is not set: give your crawler a name, in nutchpy-site.toml or with -D http.agent.name=NAME"
        )
    return name


def queue_limits(conf: Conf) -> Callable[[str], QueueLimits]:
    """How each queue is treated, by its id."""
    usual = _limits(conf)

    def limits(queue_id: str) -> QueueLimits:
        own = conf.for_host(queue_id)
        return usual if own is conf else _limits(own)

    return limits


def page_settings(conf: Conf) -> Callable[[str], PageSettings]:
    """How pages are requested, by host."""
    usual = _page(conf)

    @lru_cache(maxsize=10_000)
    def settings(host: str) -> PageSettings:
        own = conf.for_host(host)
        return usual if own is conf else _page(own)

    return settings


def robots_settings(conf: Conf) -> RobotsSettings:
    """How robots.txt is asked for and obeyed."""
    others = [name.strip() for name in conf.text("http.robots.agents").split(",")]
    return RobotsSettings(
        agents=tuple(name for name in dict.fromkeys([agent_name(conf), *others]) if name),
        timeouts=_timeouts(conf),
        content_limit=conf.integer("http.robots.content.limit"),
        redirects=conf.integer("http.robots.redirect.max"),
        keep=conf.number("http.robots.cache.seconds"),
        allow_forbidden=conf.flag("http.robots.403.allow"),
        defer_errors=conf.flag("http.robots.503.defer.visits"),
        allowlist=tuple(conf.words("http.robot.rules.allowlist")),
    )


def redirect_settings(conf: Conf) -> RedirectSettings:
    """What becomes of redirects."""
    also = conf.flag("db.ignore.also.redirects")
    return RedirectSettings(
        most=conf.integer("http.redirect.max"),
        skip_exceeded=conf.flag("http.redirect.max.exceeded.skip"),
        length_limit=conf.integer("db.max.outlink.length"),
        ignore_internal=also and conf.flag("db.ignore.internal.links"),
        ignore_external=also and conf.flag("db.ignore.external.links"),
        by_domain=conf.text("db.ignore.external.links.mode") == "byDomain",
    )


def deferral(conf: Conf) -> Deferral:
    """How a host is put off whose robots.txt answers with an error of its server."""
    return Deferral(
        conf.integer("http.robots.503.defer.visits.delay") / 1000, conf.integer("http.robots.503.defer.visits.retries")
    )


def flush_limits(conf: Conf) -> FlushLimits:
    """When a part of the output ends."""
    return FlushLimits(conf.integer("fetcher.flush.bytes"), conf.number("fetcher.flush.seconds"))


def bandwidth_target(conf: Conf) -> float:
    """Bytes per second of the whole fetch; 0 for any."""
    return max(0.0, conf.number("fetcher.bandwidth.target") * _BYTES_PER_KBIT)


def hung_seconds(conf: Conf) -> float:
    """How long a URL may be under way: robots.txt and page may take their time, and something on top."""
    request = max(0.0, conf.number("http.time.limit"))
    return conf.integer("mapreduce.task.timeout") / 1000 / conf.integer("fetcher.threads.timeout.divisor") + 2 * request


def _limits(conf: Conf) -> QueueLimits:
    return QueueLimits(
        delay=max(0.0, conf.number("fetcher.server.delay")),
        min_delay=max(0.0, conf.number("fetcher.server.min.delay")),
        parallel=max(1, conf.integer("fetcher.threads.per.queue")),
        robots_floor=conf.number("fetcher.min.crawl.delay"),
        robots_ceiling=conf.number("fetcher.max.crawl.delay"),
        max_exceptions=conf.integer("fetcher.max.exceptions.per.queue"),
        exception_delay=conf.number("fetcher.exceptions.per.queue.delay"),
        clear_after=conf.number("fetcher.exceptions.per.queue.clear.after"),
        slowest=conf.number("fetcher.adaptive.delay.max") if conf.flag("fetcher.adaptive.delay") else 0.0,
        late_factor=conf.number("fetcher.adaptive.delay.latency"),
        bears=conf.number("fetcher.retry.after.max"),
        bytes_per_second=max(0.0, conf.number("fetcher.bandwidth.target.per.queue") * _BYTES_PER_KBIT),
    )


def _page(conf: Conf) -> PageSettings:
    return PageSettings(
        timeouts=_timeouts(conf),
        content_limit=conf.integer("http.content.limit"),
        conditional=conf.flag("http.enable.if.modified.since.header"),
        cookies=conf.flag("http.enable.cookie.header"),
        decode=conf.flag("http.content.decode"),
    )


def _timeouts(conf: Conf) -> Timeouts:
    seconds = conf.integer("http.timeout") / 1000
    # Counted from the start: connecting may use up its own time before the server has the same to begin answering.
    return Timeouts(connect=seconds, first_byte=2 * seconds, idle=seconds, total=conf.number("http.time.limit"))


def _same(host: str) -> str:
    return host
