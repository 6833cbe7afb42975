"""Machine: the parts of a fetcher put together from settings, around the few things that touch the world."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from nutchpy.conf.layers import Conf
from nutchpy.core.content import ProtocolOutput, header
from nutchpy.core.counters import Counters
from nutchpy.core.mime import mime
from nutchpy.extension import chains as chains_of_plugins
from nutchpy.extension.chains import URLFilters, URLNormalizers
from nutchpy.extension.points import Transport
from nutchpy.fetcher import settings
from nutchpy.fetcher.bandwidth import Bandwidth
from nutchpy.fetcher.dns import Lookups, Resolver
from nutchpy.fetcher.feeder import Piece, QueueFeeder
from nutchpy.fetcher.handlers.dns import DnsHandler
from nutchpy.fetcher.handlers.page_writer import PageWriter, content_row
from nutchpy.fetcher.handlers.parse import ParseHandler, ParseSource
from nutchpy.fetcher.handlers.protocol import ProtocolHandler
from nutchpy.fetcher.handlers.redirect import RedirectHandler
from nutchpy.fetcher.handlers.robots import RobotsHandler
from nutchpy.fetcher.item import FetchItem
from nutchpy.fetcher.pipeline import Handler, Pipeline, ordered
from nutchpy.fetcher.queues import FetchItemQueues, Rested, Slowed, never_asked, never_slowed
from nutchpy.fetcher.redirects import RedirectJudge
from nutchpy.fetcher.robots import RobotsRules
from nutchpy.fetcher.sink import Output, Sink
from nutchpy.fetcher.slots import Slots
from nutchpy.fetcher.status import FetchStatus
from nutchpy.fetcher.territory import Territory, TextSet
from nutchpy.fetcher.traffic import Traffic
from nutchpy.parsing.pool import ParsePool


class Source(Protocol):
    """Something the loop waits for: asked for its next instant, then let work."""

    def deadline(self) -> float | None:
        """When ``step`` wants to be called at the latest; None when only a wake-up matters."""
        ...

    def step(self, now: float) -> None:
        """Do what is due."""
        ...


@dataclass(frozen=True, slots=True)
class World:
    """What the machine is plugged into; simulated in tests."""

    transport: Transport
    lookups: Lookups
    output: Output
    monotonic: Callable[[], float]
    wall: Callable[[], int]
    """Microseconds since 1970."""
    pool: ParsePool | None = None
    """For pages to be parsed as they come."""


@dataclass(frozen=True, slots=True)
class Share:
    """One process's part of a segment: which of how many lists, and whose queues and URLs are whose."""

    number: int = 0
    lists: int = 1
    known: TextSet = field(default_factory=TextSet)
    own_queues: TextSet = field(default_factory=TextSet)
    other_queues: TextSet = field(default_factory=TextSet)
    rested: Rested = never_asked
    """When each queue may first be asked."""
    slowed: Slowed = never_slowed
    """What each queue was slowed down to before."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """How often each queue has failed in this list before it was interrupted."""
    processes: int = 1
    """Those at work at once, who share the bandwidth."""


@dataclass(slots=True)
class Machine:
    """The parts the loop drives."""

    threads: int
    queues: FetchItemQueues
    feeder: QueueFeeder
    pipeline: Pipeline
    sink: Sink
    traffic: Traffic
    territory: Territory
    resumed: deque[FetchItem]
    """Paused items whose answer has come."""
    sources: list[Source]
    output: Output
    chains: tuple[URLNormalizers, URLFilters]
    robots: RobotsRules
    parsing: ParseSource | None
    slots: Slots

    @property
    def free(self) -> int:
        """How many more items may be under way."""
        return self.threads - len(self.pipeline.active)

    @property
    def over(self) -> bool:
        """Whether there is nothing left to do."""
        return not self.pipeline.active and self.queues.queued == 0 and self.feeder.exhausted

    def status(self) -> FetchStatus:
        """How things stand."""
        return FetchStatus(
            threads=self.threads,
            waiting=self.free,
            queues=len(self.queues),
            blocked=len(self.queues.blocked),
            queued=self.queues.queued,
            pages=self.sink.pages,
            errors=self.sink.errors,
            bytes=self.sink.bytes,
        )

    def counters(self) -> Counters:
        """Everything counted."""
        merged = self.sink.counters + self.robots.counters + self.slots.counters()
        if self.parsing is not None:
            merged += self.parsing.counters
        for chain in self.chains:
            merged += chain.errors
        return merged


def build(conf: Conf, world: World, pieces: Iterator[Piece], share: Share) -> Machine:
    """A machine for one fetch list, nothing started yet."""
    threads = conf.integer("fetcher.threads.fetch")
    resumed: deque[FetchItem] = deque()
    key = settings.queue_key(conf)
    queues = FetchItemQueues(settings.queue_limits(conf), share.rested, share.slowed)
    queues.remember(share.failures)
    keep_ip = conf.flag("store.ip.address") or settings.queue_mode(conf) == "byIP"
    sink = Sink(queues, world.output, settings.deferral(conf), world.wall, key, keep_ip)
    depth = threads * conf.integer("fetcher.queue.depth.multiplier")
    feeder = QueueFeeder(pieces, queues, depth, conf.integer("fetcher.queue.lookahead"), sink.drop)
    sink.feeder = feeder
    target = settings.bandwidth_target(conf) / share.processes
    traffic = Traffic(world.transport, Bandwidth(target, world.monotonic) if target else None)
    robots = RobotsRules(
        settings.robots_settings(conf),
        traffic,
        resumed.append,
        world.monotonic,
        world.wall,
        _robots_keeper(conf, world),
    )
    resolver = Resolver(
        world.lookups,
        conf.integer("fetcher.dns.threads"),
        conf.number("fetcher.dns.cache.seconds"),
        conf.number("fetcher.dns.timeout"),
        queues.resume,
    )
    by_ip = settings.queue_mode(conf) == "byIP"
    hosts_tell = None if by_ip else key
    territory = Territory(share.known, share.own_queues, share.other_queues, (share.number, share.lists), hosts_tell)
    chains = (URLNormalizers.from_conf(conf), URLFilters.from_conf(conf))
    schemes = chains_of_plugins.schemes(conf)
    known: dict[str, Handler | None] = {
        "dns": DnsHandler(resolver, by_ip, schemes) if _resolves(conf) else None,
        "robots": RobotsHandler(robots, sink.counters, schemes),
        "protocol": ProtocolHandler(traffic, settings.page_settings(conf), resumed.append, sink.ended),
        "redirect": RedirectHandler(RedirectJudge(settings.redirect_settings(conf), *chains, territory.claim)),
        "page_writer": _page_writer(conf),
        "parse": ParseHandler(world.pool) if world.pool is not None else None,
    }
    pipeline = Pipeline(ordered(conf.words("fetcher.pipeline"), known), sink.settle)
    sources: list[Source] = [resolver]
    parsing = ParseSource(world.pool, resumed.append) if world.pool is not None else None
    if parsing is not None:
        sources.append(parsing)
    return Machine(
        threads=threads,
        queues=queues,
        feeder=feeder,
        pipeline=pipeline,
        sink=sink,
        traffic=traffic,
        territory=territory,
        resumed=resumed,
        sources=sources,
        output=world.output,
        chains=chains,
        robots=robots,
        parsing=parsing,
        slots=Slots(threads),
    )


def _robots_keeper(conf: Conf, world: World) -> Callable[[ProtocolOutput], None] | None:
    """What puts robots.txt answers into content, when the settings want them there."""
    if not conf.flag("fetcher.store.robotstxt"):
        return None
    magic = conf.flag("mime.type.magic")

    def keep(output: ProtocolOutput) -> None:
        kind = mime(header(output.headers, "content-type"), output.url, output.content, magic=magic)
        world.output.keep(content_row(output.url, output, kind, world.wall()))

    return keep


def _resolves(conf: Conf) -> bool:
    """Names behind a proxy that resolves them itself are not looked up."""
    return not conf.text("http.proxy.host") or conf.text("http.proxy.resolve") == "local"


def _page_writer(conf: Conf) -> PageWriter:
    return PageWriter(conf.flag("fetcher.store.content"), conf.flag("store.http.headers"), conf.flag("mime.type.magic"))
