"""The fetcher's own loop, queues and pipeline on a simulated clock and network, with invariants held all along."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from itertools import pairwise
from typing import Any

import pytest

from nutchpy.conf.layers import Conf, defaults
from nutchpy.core import urls
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.extension.points import Request
from nutchpy.fetcher.dns import Resolution
from nutchpy.fetcher.item import FetchItem, Row
from nutchpy.fetcher.loop import FetchLoop
from nutchpy.fetcher.machine import Machine, Share, World, build
from nutchpy.fetcher.territory import TextSet
from nutchpy.testing.simulated import EPOCH, SimAnswer, SimClock, SimLookups, SimSelector, SimTransport

FAULTS = [ProtocolStatus.TIMEOUT, ProtocolStatus.CONNECT_FAILED, ProtocolStatus.BAD_RESPONSE, ProtocolStatus.TLS_FAILED]


def row(url: str) -> Row:
    host = urls.host_of(url) or ""
    return {
        "url": url,
        "host": host,
        "domain": urls.registered_domain(host),
        "status": "db_unfetched",
        "fetch_time": None,
        "modified_time": None,
        "retries": 0,
        "fetch_interval": 86400,
        "score": 1.0,
        "signature": None,
        "depth": 0,
        "etag": None,
        "last_modified": None,
        "metadata": None,
    }


class Piece:
    def __init__(self, listed: Sequence[str]) -> None:
        self.urls = listed
        self.queue_ids = [urls.host_of(url) or "" for url in listed]

    def items(self, positions: Sequence[int]) -> list[FetchItem]:
        return [FetchItem(self.urls[p], self.queue_ids[p], self.queue_ids[p], row(self.urls[p])) for p in positions]


class Rows:
    """An output that keeps rows, and may fall behind."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.full = False

    def put(self, fetch: Row, content: Row | None, parse: Any) -> None:
        self.rows.append(fetch)

    def keep(self, content: Row) -> None:
        raise AssertionError("no robots.txt is to be kept")


@dataclass
class Host:
    """How one simulated server behaves."""

    seconds: float = 0.1
    robots: int | None = 404
    robots_body: bytes = b""
    robots_after: float = 0.0
    """Until then its robots.txt answers 503."""
    faults: float = 0.0
    redirects: float = 0.0
    dns_seconds: float = 0.02
    resolves: bool = True
    ip: str = "192.0.2.1"


@dataclass
class Web:
    """All simulated servers; answers are drawn from a seeded source."""

    seed: int
    hosts: dict[str, Host]
    random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def answer(self, request: Request, now: float) -> SimAnswer:
        host = self.hosts[urls.host_of(request.url) or ""]
        seconds = host.seconds * self.random.uniform(0.5, 1.5)
        if request.url.endswith("/robots.txt"):
            if now < host.robots_after:
                return SimAnswer(503, seconds)
            fault = None if host.robots is not None else ProtocolStatus.CONNECT_FAILED
            return SimAnswer(host.robots, seconds, host.robots_body, fault=fault)
        draw = self.random.random()
        if draw < host.faults:
            return SimAnswer(seconds=seconds * 5, fault=self.random.choice(FAULTS))
        if draw < host.faults + host.redirects:
            target = f"http://{self.random.choice(list(self.hosts))}/to/{self.random.randrange(500)}"
            return SimAnswer(302, seconds, headers=[("Location", target)])
        return SimAnswer(200, seconds, b"x" * 100)

    def look_up(self, host: str) -> tuple[float, Resolution]:
        it = self.hosts[host]
        return it.dns_seconds, Resolution((it.ip,)) if it.resolves else Resolution((), "no such host")


class Run:
    """One simulated fetch of a list, watched."""

    def __init__(self, web: Web, listed: Sequence[str], piece_rows: int = 100, **values: Any) -> None:
        settings = {"http.agent.name": "sim", "urlfilter.order": "", "urlnormalizer.order": ""}
        named = {name.replace("__", "."): value for name, value in values.items()}
        self.conf: Conf = defaults().with_values({**settings, **named})
        self.web = web
        self.listed = listed
        self.clock = SimClock()
        self.selector = SimSelector(self.clock)
        self.transport = SimTransport(self.clock, web.answer)
        self.transport.on_start = self.check_start
        self.lookups = SimLookups(self.selector, self.clock, web.look_up)
        self.rows = Rows()
        world = World(self.transport, self.lookups, self.rows, self.clock.monotonic, self.clock.wall)
        share = Share(known=TextSet(listed))
        pieces: Iterator[Piece] = (Piece(listed[i : i + piece_rows]) for i in range(0, len(listed), piece_rows))
        self.machine: Machine = build(self.conf, world, pieces, share)
        self.loop = FetchLoop(self.machine, self.selector, self.clock.monotonic)
        self.selector.on_wait = self.check_wait
        self.feed = self.machine.feeder.feed
        self.machine.feeder.feed = self.check_feed  # type: ignore[method-assign]
        self.parallel = self.conf.integer("fetcher.threads.per.queue")
        self.open: dict[str, list[float]] = defaultdict(list)
        self.ended: dict[str, float] = {}
        self.idle_checks = 0

    def pause_of(self, host: str) -> float:
        return self.conf.number("fetcher.server.delay" if self.parallel == 1 else "fetcher.server.min.delay")

    def check_start(self, request: Request, end: float) -> None:
        """No delay is broken, no more requests run at once than allowed."""
        if request.url.endswith("/robots.txt"):
            return
        host = urls.host_of(request.url) or ""
        now = self.clock.seconds
        running = [e for e in self.open[host] if e > now]
        assert len(running) < self.parallel, request.url
        ended = [e for e in self.open[host] if e <= now]
        if ended:
            assert now - max(ended) >= self.pause_of(host) - 1e-9, request.url
        self.open[host] = [*running, *ended[-1:], end]

    def check_feed(self, now: float) -> None:
        """The feeder never fills the queues beyond their depth."""
        queues, depth = self.machine.queues, self.conf.integer("fetcher.queue.depth.multiplier") * self.machine.threads
        before = queues.queued - queues.resting
        self.feed(now)
        assert queues.queued - queues.resting <= max(before, depth)
        assert self.machine.feeder.parked <= self.conf.integer("fetcher.queue.lookahead")

    def check_wait(self, timeout: float | None) -> None:
        """The loop waits only when nothing can begin: no free thread, or no queue that may be served."""
        now = self.clock.seconds
        machine = self.machine
        self.idle_checks += 1
        if machine.free > 0 and not self.rows.full and machine.traffic.free_at <= now:
            ready = [q.id for q in machine.queues if q.servable and q.next_fetch_time <= now]
            assert not ready, f"idle at {now} although {ready} could be served"
        slots = sum(q.in_progress for q in machine.queues)
        assert slots == machine.queues.in_progress <= len(machine.pipeline.active) <= machine.threads
        assert machine.queues.resting == sum(len(q.waiting) for q in machine.queues if q.resting)

    def go(self) -> Run:
        self.loop.run()
        self.check_end()
        return self

    def check_end(self) -> None:
        """Nothing is lost, nothing doubled, no slot leaked."""
        machine = self.machine
        assert machine.queues.in_progress == 0
        assert not machine.pipeline.active
        fetched = Counter(r["url"] for r in self.rows.rows)
        assert max(fetched.values(), default=1) == 1
        dropped = machine.sink.counters.family("dropped")
        followed = machine.sink.counters["redirects:followed"]
        assert len(fetched) + dropped == len(self.listed) + followed

    def by_status(self) -> Counter[str]:
        return Counter(r["protocol_status"] for r in self.rows.rows)

    def starts(self, host: str) -> list[float]:
        return [
            e.started for e in self.transport.log if urls.host_of(e.url) == host and not e.url.endswith("robots.txt")
        ]


def listing(web: Web, pages: int, seed: int = 0) -> list[str]:
    """A list with ``pages`` URLs, a few hosts having most of them."""
    rng = random.Random(seed)
    hosts = list(web.hosts)
    weights = [1 / (rank + 1) for rank in range(len(hosts))]
    picks = rng.choices(hosts, weights, k=pages)
    count: Counter[str] = Counter()
    listed = []
    for host in picks:
        listed.append(f"http://{host}/{count[host]}")
        count[host] += 1
    return listed


def web_of(count: int, seed: int = 1, **host: Any) -> Web:
    return Web(seed, {f"h{n}.test": Host(ip=f"192.0.2.{n % 250}", **host) for n in range(count)})


def test_a_plain_list_is_fetched_whole() -> None:
    web = web_of(20)
    run = Run(web, listing(web, 300), fetcher__server__delay=1.0).go()
    assert run.by_status() == {"success": 300}
    assert len(run.lookups.asked) == 20
    assert sum(e.url.endswith("/robots.txt") for e in run.transport.log) == 20


def test_one_host_takes_as_long_as_its_delays_and_no_longer() -> None:
    web = web_of(1, seconds=0.2)
    run = Run(web, listing(web, 50), fetcher__server__delay=1.0).go()
    starts = run.starts("h0.test")
    services = [e.ended - e.started for e in run.transport.log if not e.url.endswith("/robots.txt")]
    gaps = [b - a for a, b in pairwise(starts)]
    assert gaps == pytest.approx([s + 1.0 for s in services[:-1]])


def test_many_hosts_take_as_long_as_the_longest() -> None:
    web = web_of(50, seconds=0.05)
    listed = listing(web, 2000)
    run = Run(web, listed, fetcher__server__delay=1.0, fetcher__threads__fetch=50).go()
    largest = max(Counter(urls.host_of(u) for u in listed).values())
    ideal = largest * (1.0 + 0.05) + 0.2
    assert run.clock.seconds <= ideal * 1.05


def test_a_list_sorted_by_host_is_fetched_side_by_side() -> None:
    web = web_of(20, seconds=0.05)
    listed = [f"http://{host}/{n}" for host in web.hosts for n in range(100)]
    run = Run(web, listed, fetcher__server__delay=1.0, fetcher__threads__fetch=20).go()
    assert run.clock.seconds <= 100 * 1.05 * 1.3


def test_without_delay_threads_are_never_idle_while_something_waits() -> None:
    web = web_of(100, seconds=0.1)
    run = Run(web, listing(web, 3000), fetcher__server__delay=0.0, fetcher__threads__per__queue=5).go()
    work = sum(e.ended - e.started for e in run.transport.log)
    assert run.clock.seconds < work / 10 * 1.1 + 5


@pytest.mark.parametrize("seed", range(12))
def test_everything_at_once(seed: int) -> None:
    rng = random.Random(seed)
    web = Web(
        seed,
        {
            f"h{n}.test": Host(
                seconds=rng.choice([0.01, 0.1, 2.0]),
                robots=rng.choice([200, 404, 403, None, 302]),
                robots_body=rng.choice([b"", b"User-agent: *\nDisallow: /1\n", b"User-agent: *\nCrawl-delay: 100\n"]),
                robots_after=rng.choice([0, 0, 0, 200, 5000]),
                faults=rng.choice([0, 0, 0.1, 0.6]),
                redirects=rng.choice([0, 0.1, 0.5]),
                dns_seconds=rng.choice([0, 0.05, 3, 60]),
                resolves=rng.random() > 0.1,
                ip=f"192.0.2.{n % 7}",
            )
            for n in range(40)
        },
    )
    settings = {
        "fetcher__server__delay": rng.choice([0.0, 0.5, 5.0]),
        "fetcher__threads__fetch": rng.choice([1, 7, 30]),
        "fetcher__threads__per__queue": rng.choice([1, 1, 3]),
        "fetcher__queue__depth__multiplier": rng.choice([2, 50]),
        "fetcher__queue__lookahead": rng.choice([5, 100000]),
        "fetcher__max__exceptions__per__queue": rng.choice([-1, 2, 5]),
        "http__redirect__max": rng.choice([0, 3]),
    }
    run = Run(web, listing(web, 1500, seed), **settings).go()
    assert run.by_status()["success"] > 0
    assert run.idle_checks > 0


@pytest.mark.parametrize("seconds", [0.0, 1.0, 7.3, 60.0])
@pytest.mark.parametrize("grace", [None, 0.0, 10.0])
def test_a_stop_at_any_moment_loses_and_doubles_nothing(seconds: float, grace: float | None) -> None:
    web = web_of(30, seconds=3.0, faults=0.1, redirects=0.2)
    run = Run(web, listing(web, 800), http__redirect__max=3, fetcher__server__delay=0.5)
    run.selector.at(seconds, lambda: run.loop.stop("timelimit", grace))
    run.go()
    assert run.clock.seconds <= seconds + (grace if grace is not None else 30.0) + 1e-6
    assert run.machine.sink.counters["dropped:timelimit"] > 0


def test_a_deferred_host_is_asked_again_and_fetched() -> None:
    web = web_of(3)
    web.hosts["h1.test"].robots_after = 400.0
    run = Run(web, listing(web, 60)).go()
    assert run.by_status() == {"success": 60}
    assert min(run.starts("h1.test")) > 400.0
    asked = [e.started for e in run.transport.log if e.url == "http://h1.test/robots.txt"]
    assert len(asked) == 3
    assert max(run.starts("h0.test")) < 400.0, "other hosts do not wait for it"


def test_many_deferred_hosts_do_not_keep_the_others_waiting() -> None:
    web = web_of(300)
    for n in range(200):
        web.hosts[f"h{n}.test"].robots_after = 700.0
    listed = [f"http://{h}/{n}" for n in range(4) for h in web.hosts]
    settings = {"fetcher__threads__fetch": 5, "fetcher__queue__depth__multiplier": 10}
    run = Run(web, listed, fetcher__server__delay=1.0, **settings).go()
    assert run.by_status() == {"success": 1200}
    good = [e.ended for e in run.transport.log if e.started < 700 and not e.url.endswith("/robots.txt")]
    assert len(good) == 400
    assert max(good) < 60.0


def test_a_host_deferred_too_often_is_dropped_and_named() -> None:
    web = web_of(3)
    web.hosts["h1.test"].robots_after = 1e9
    listed = listing(web, 60)
    run = Run(web, listed).go()
    count = sum("h1.test" in u for u in listed)
    assert run.machine.sink.counters["dropped:robots_deferred"] == count
    assert run.machine.sink.dropped_queues == {"h1.test": count}
    asked = [e.started for e in run.transport.log if e.url == "http://h1.test/robots.txt"]
    assert len(asked) == 4


def test_a_failing_host_backs_off_and_is_given_up() -> None:
    web = web_of(2)
    web.hosts["h0.test"].faults = 1.0
    listed = [f"http://{h}/{n}" for n in range(20) for h in web.hosts]
    values: dict[str, Any] = {"fetcher__server__delay": 1.0, "fetcher__adaptive__delay": False}
    run = Run(web, listed, fetcher__max__exceptions__per__queue=4, **values).go()
    starts = run.starts("h0.test")
    assert len(starts) == 4
    ends = [e.ended for e in run.transport.log if "h0.test" in e.url and "robots" not in e.url]
    rests = [s - e for s, e in zip(starts[1:], ends, strict=False)]
    assert rests == pytest.approx([2.0, 3.0, 5.0])
    assert run.machine.sink.counters["dropped:exceptions"] == 16


def rests(run: Run, host: str) -> list[float]:
    """Seconds from the end of each request of a host to the next one's start."""
    pages = [e for e in run.transport.log if urls.host_of(e.url) == host and not e.url.endswith("robots.txt")]
    return [after.started - before.ended for before, after in pairwise(pages)]


class Moody(Web):
    """A web whose pages are answered as a list says, one after the other; then by 200."""

    moods: list[SimAnswer]

    def answer(self, request: Request, now: float) -> SimAnswer:
        if request.url.endswith("/robots.txt"):
            return SimAnswer(404, 0.1)
        return self.moods.pop(0) if self.moods else SimAnswer(200, 0.1)


def moody(*moods: SimAnswer, pages: int = 60, **values: Any) -> Run:
    web = Moody(0, {"h.test": Host()})
    web.moods = list(moods)
    settings = {"fetcher__server__delay": 1.0, "fetcher__exceptions__per__queue__delay": 0.0, **values}
    return Run(web, [f"http://h.test/{n}" for n in range(pages)], **settings).go()


def test_a_server_that_is_asked_too_much_is_asked_less_and_by_and_by_as_before() -> None:
    run = moody(SimAnswer(200, 0.1), SimAnswer(429, 0.1), SimAnswer(503, 0.1), SimAnswer(503, 0.1))
    found = rests(run, "h.test")
    assert found[:4] == pytest.approx([1.0, 2.0, 4.0, 8.0])
    assert found[4] > found[5] > found[6] >= 1.0, "each good answer gives some of the rate back"
    assert found[-1] == pytest.approx(1.0)
    assert min(found) >= 1.0 - 1e-9, "never faster than configured"
    slowed = [row["queue_delay"] for row in run.rows.rows if row["queue_delay"] is not None]
    assert slowed[:3] == pytest.approx([2.0, 4.0, 8.0])


def test_slowing_down_has_an_end_and_can_be_turned_off() -> None:
    down = [SimAnswer(503, 0.1)] * 8
    values = {"fetcher__max__exceptions__per__queue": -1}
    assert max(rests(moody(*down, fetcher__adaptive__delay__max=20.0, **values), "h.test")) == pytest.approx(20.0)
    assert max(rests(moody(*down, fetcher__adaptive__delay=False, **values), "h.test")) == pytest.approx(1.0)


def test_an_answer_far_slower_than_usual_slows_its_queue_down() -> None:
    quick, late = SimAnswer(200, 0.2), SimAnswer(200, 4.0)
    found = rests(moody(*[quick] * 9, late), "h.test")
    assert found[8:10] == pytest.approx([1.0, 2.0])
    assert max(rests(moody(*[late] * 60), "h.test")) == pytest.approx(1.0), "what is always slow is not in trouble"


def test_a_queue_waits_as_long_as_its_server_asks() -> None:
    until = datetime.fromtimestamp(SimClock().wall() / 1e6 + 100, UTC)
    by_seconds, by_date = (("Retry-After", value) for value in ("40", format_datetime(until, usegmt=True)))
    run = moody(SimAnswer(429, 0.1, headers=[by_seconds]), SimAnswer(503, 0.1, headers=[by_date]))
    assert rests(run, "h.test")[0] == pytest.approx(40.0)
    assert run.starts("h.test")[2] == pytest.approx(100.0, abs=1.0)
    assert run.rows.rows[0]["retry_after"] == pytest.approx((EPOCH.timestamp() + 40.2) * 1e6, abs=1e5)


def test_a_server_that_asks_for_too_much_time_is_left_for_this_run() -> None:
    run = moody(SimAnswer(503, 0.1, headers=[("Retry-After", "3600")]))
    assert run.machine.sink.counters["dropped:retry_after"] == 59
    ignoring = moody(SimAnswer(503, 0.1, headers=[("Retry-After", "3600")]), fetcher__retry__after__max=0)
    assert len(ignoring.rows.rows) == 60
    bearing = moody(SimAnswer(503, 0.1, headers=[("Retry-After", "3600")]), fetcher__retry__after__max=-1)
    assert rests(bearing, "h.test")[0] == pytest.approx(3600.0, abs=0.1)


def test_the_bandwidth_target_is_kept_on_average() -> None:
    web = web_of(50)
    for host in web.hosts.values():
        host.seconds = 0.2
    listed = [f"http://{h}/{n}" for n in range(20) for h in web.hosts]
    values: dict[str, Any] = {"fetcher__server__delay": 0.0, "fetcher__threads__fetch": 20}
    free = Run(web, listed, **values).go()
    held = Run(web, listed, fetcher__bandwidth__target=8.0, **values).go()  # 1,000 bytes a second, a page has 100
    assert free.clock.seconds < 25
    assert 90 <= held.clock.seconds <= 115


def test_the_bandwidth_target_of_a_queue_is_its_own() -> None:
    web = web_of(2)
    listed = [f"http://{h}/{n}" for n in range(10) for h in web.hosts]
    run = Run(web, listed, fetcher__server__delay=0.0, fetcher__bandwidth__target__per__queue=0.8).go()
    for host in web.hosts:
        starts = run.starts(host)
        assert [b - a for a, b in pairwise(starts)] == pytest.approx([1.0] * 9, abs=0.01), "100 bytes a second"


def test_answers_that_come_while_others_are_worked_on_end_no_earlier() -> None:
    run = Run(web_of(2), [f"http://{h}/{n}" for n in range(5) for h in ("h0.test", "h1.test")])
    step, delivered = run.transport.step, []

    def slow_step(ready: Any) -> Any:
        done = step(ready)
        run.clock.seconds += 0.5 * bool(done)
        delivered.extend((urls.host_of(output.url), run.clock.seconds) for _, output in done)
        return done

    run.transport.step = slow_step  # type: ignore[method-assign]
    run.go()
    delay = run.conf.number("fetcher.server.delay")
    for host in run.web.hosts:
        ends = [when for name, when in delivered if name == host][1:]  # the first is its robots.txt
        starts = run.starts(host)
        assert all(start - end >= delay - 1e-9 for end, start in zip(ends, starts[1:], strict=False))


def test_delays_count_from_the_end_of_a_request_where_the_transport_tells_it() -> None:
    run = Run(web_of(2), [f"http://{h}/{n}" for n in range(5) for h in ("h0.test", "h1.test")])
    step, ended = run.transport.step, []

    def slow_step(ready: Any) -> Any:
        done = [(token, replace(output, ended=run.clock.seconds)) for token, output in step(ready)]
        ended.extend((urls.host_of(output.url), run.clock.seconds) for _, output in done)
        run.clock.seconds += 0.5 * bool(done)
        return done

    run.transport.step = slow_step  # type: ignore[method-assign]
    run.go()
    delay = run.conf.number("fetcher.server.delay")
    for host in run.web.hosts:
        ends = [when for name, when in ended if name == host][1:]
        rests = [start - end for end, start in zip(ends, run.starts(host)[1:], strict=False)]
        assert all(delay - 1e-9 <= rest <= delay + 0.5 for rest in rests)
        assert min(rests) == pytest.approx(delay)


def test_robots_denials_do_not_cost_a_delay() -> None:
    web = web_of(1)
    web.hosts["h0.test"] = Host(robots=200, robots_body=b"User-agent: *\nDisallow: /\n")
    run = Run(web, [f"http://h0.test/{n}" for n in range(500)]).go()
    assert run.by_status() == {"robots_denied": 500}
    assert run.clock.seconds < 1.0


def test_a_crawl_delay_too_long_ends_the_whole_host() -> None:
    web = web_of(1)
    web.hosts["h0.test"] = Host(robots=200, robots_body=b"User-agent: *\nCrawl-delay: 31\n")
    run = Run(web, [f"http://h0.test/{n}" for n in range(50)]).go()
    assert run.by_status() == {"crawl_delay_too_long": 50}
    assert {r["status"] for r in run.rows.rows} == {"fetch_gone"}


def test_a_crawl_delay_is_kept() -> None:
    web = web_of(1)
    web.hosts["h0.test"] = Host(robots=200, robots_body=b"User-agent: *\nCrawl-delay: 9\n")
    run = Run(web, [f"http://h0.test/{n}" for n in range(10)]).go()
    starts = run.starts("h0.test")
    assert all(b - a >= 9.0 for a, b in pairwise(starts))
    assert {r["robots_delay"] for r in run.rows.rows} == {9.0}


def test_an_unreachable_robots_txt_fails_its_pages_without_asking_for_them() -> None:
    web = web_of(1)
    web.hosts["h0.test"].robots = None
    run = Run(web, [f"http://h0.test/{n}" for n in range(20)]).go()
    assert run.starts("h0.test") == []
    assert run.by_status() == {"connect_failed": 5}
    assert run.machine.sink.counters["dropped:exceptions"] == 15


def test_a_name_that_does_not_resolve() -> None:
    web = web_of(1)
    web.hosts["h0.test"].resolves = False
    run = Run(web, ["http://h0.test/1"]).go()
    assert run.by_status() == {"dns_failed": 1}
    assert run.transport.log == []


def test_a_name_server_that_does_not_answer_in_time() -> None:
    web = web_of(2)
    web.hosts["h0.test"].dns_seconds = 1000.0
    run = Run(web, ["http://h0.test/1", "http://h1.test/1"]).go()
    assert run.by_status() == {"dns_failed": 1, "success": 1}
    assert run.clock.seconds == pytest.approx(10.0)


def test_slow_name_servers_do_not_keep_other_hosts_waiting() -> None:
    web = web_of(60)
    for n in range(30):
        web.hosts[f"h{n}.test"].dns_seconds = 9.0
    listed = [f"http://{h}/{n}" for n in range(3) for h in web.hosts]
    run = Run(web, listed, fetcher__threads__fetch=5, fetcher__server__delay=0.5).go()
    assert run.by_status() == {"success": 180}
    quick = [f"h{n}.test" for n in range(40, 60)]
    ended = [e.ended for e in run.transport.log if urls.host_of(e.url) in quick]
    assert max(ended) < 4.0


def test_queues_by_address_hold_hosts_together() -> None:
    web = web_of(6)
    for host in web.hosts.values():
        host.ip = "192.0.2.9"
    run = Run(web, [f"http://{h}/{n}" for n in range(5) for h in web.hosts], fetcher__queue__mode="byIP").go()
    assert run.by_status() == {"success": 30}
    pages = sorted(e.started for e in run.transport.log if not e.url.endswith("/robots.txt"))
    assert all(b - a >= 5.0 for a, b in pairwise(pages))
    assert {tuple(e.ips) for e in run.transport.log} == {("192.0.2.9",)}


def test_an_output_that_is_behind_stops_beginnings_and_nothing_else() -> None:
    web = web_of(10)
    run = Run(web, listing(web, 200), fetcher__server__delay=0.0)

    def behind() -> None:
        run.rows.full = True
        run.selector.at(run.clock.seconds + 50.0, catch_up)

    def catch_up() -> None:
        run.rows.full = False

    run.selector.at(0.5, behind)
    run.go()
    assert run.by_status() == {"success": 200}
    quiet = [e.started for e in run.transport.log if 0.5 < e.started < 50.5]
    assert quiet == []


def test_a_redirect_goes_through_the_queue_of_its_target() -> None:
    web = web_of(2)
    web.hosts["h0.test"].redirects = 1.0
    run = Run(web, [f"http://h0.test/{n}" for n in range(30)], http__redirect__max=1, fetcher__server__delay=2.0).go()
    followed = run.machine.sink.counters["redirects:followed"]
    assert followed > 5
    targets = [r for r in run.rows.rows if "/to/" in r["url"]]
    assert len(targets) == followed


def test_a_long_list_is_simulated_fast() -> None:
    web = web_of(2000, seconds=0.2)
    run = Run(web, listing(web, 20_000), fetcher__server__delay=1.0, fetcher__threads__fetch=50)
    run.selector.on_wait = lambda _: None
    run.go()
    assert run.by_status()["success"] == 20_000


def test_slots_are_idle_for_want_of_ready_queues_and_for_no_other_reason() -> None:
    web = web_of(10, seconds=0.5)
    run = Run(web, listing(web, 2_000), fetcher__server__delay=1.0, fetcher__threads__fetch=4).go()
    spent = run.machine.slots.counters()
    assert sum(spent.values()) == pytest.approx(4_000 * run.clock.seconds, abs=5)
    assert spent["slots:late_ms"] == spent["slots:held_ms"] == 0
    asked = sum(e.ended - e.started for e in run.transport.log)
    assert spent["slots:busy_ms"] == pytest.approx(1000 * asked, rel=0.01)
    assert spent["slots:idle_ms"] > 0


def test_big_hosts_among_many_small_ones_set_the_pace_from_the_first_moment() -> None:
    sizes = [30, 25, 20, 15, 10, 8, 6, 5, 4, 3, *[1] * 1_200]
    web = web_of(len(sizes), seconds=0.1)
    rng = random.Random(1)
    spread = [((n + rng.random()) / size, f"http://h{h}.test/{n}") for h, size in enumerate(sizes) for n in range(size)]
    listed = [url for _, url in sorted(spread)]
    run = Run(web, listed, fetcher__server__delay=1.0, fetcher__threads__fetch=10, fetcher__queue__depth__multiplier=20)
    run.go()
    slots = sum(e.ended - e.started for e in run.transport.log) / 10
    assert run.clock.seconds <= 1.05 * max(30 * 1.1, slots)


TIME_LIMIT, GIVEN_UP = 300.0, 5
"""http.time.limit and fetcher.max.exceptions.per.queue, as shipped."""


class Beset(Web):
    """Good hosts that always answer alike, and hostile ones, each in its own way, that hold on to whoever asks."""

    ways = (
        SimAnswer(seconds=TIME_LIMIT, fault=ProtocolStatus.TIMEOUT),
        SimAnswer(seconds=10.0, fault=ProtocolStatus.TIMEOUT),
        SimAnswer(200, TIME_LIMIT - 1, b"x" * 1000),
        SimAnswer(503, 20.0, headers=[("Retry-After", "3")]),
        SimAnswer(seconds=0.0, fault=ProtocolStatus.CONNECT_FAILED),
        SimAnswer(seconds=0.01, fault=ProtocolStatus.BAD_RESPONSE),
    )

    def answer(self, request: Request, now: float) -> SimAnswer:
        host = urls.host_of(request.url) or ""
        number = int(host[1:].partition(".")[0])
        robots = request.url.endswith("/robots.txt")
        if host.startswith("g"):
            return SimAnswer(404 if robots else 200, 0.1)
        if robots and number % 3:
            return SimAnswer(404, 0.1)
        return self.ways[number % len(self.ways)]

    def look_up(self, host: str) -> tuple[float, Resolution]:
        slow = host.startswith("e") and host.endswith("7.test")
        return (60.0 if slow else 0.01), Resolution(("192.0.2.1",))


def good_hosts_end(good: int, evil: int, threads: int) -> dict[str, float]:
    """When each good host's last page has come."""
    names = [*(f"g{n}.test" for n in range(good)), *(f"e{n}.test" for n in range(evil))]
    web = Beset(1, {name: Host() for name in names})
    listed = [f"http://{name}/{n}" for n in range(40) for name in names]
    run = Run(web, listed, fetcher__server__delay=1.0, fetcher__threads__fetch=threads).go()
    ended = {f"g{n}.test": 0.0 for n in range(good)}
    for exchange in run.transport.log:
        host = urls.host_of(exchange.url) or ""
        if host in ended:
            ended[host] = max(ended[host], exchange.ended)
    good_pages = Counter(r["host"] for r in run.rows.rows if r["protocol_status"] == "success" and r["host"] in ended)
    assert good_pages == dict.fromkeys(ended, 40)
    return ended


def test_hostile_hosts_slow_no_one_down_while_there_are_slots_for_them() -> None:
    alone = good_hosts_end(good=20, evil=0, threads=120)
    beset = good_hosts_end(good=20, evil=90, threads=120)
    assert max(beset[host] / alone[host] for host in alone) <= 1.1


def test_hostile_hosts_that_hold_all_slots_let_go_of_them_in_time() -> None:
    """What can be expected then: each holds one slot, for a request's time limit, until it has failed too often."""
    evil, threads = 60, 20
    alone = max(good_hosts_end(good=20, evil=0, threads=threads).values())
    beset = max(good_hosts_end(good=20, evil=evil, threads=threads).values())
    assert alone * 1.1 < beset, "there are too few"
    assert beset <= alone + evil * GIVEN_UP * TIME_LIMIT / threads
