from __future__ import annotations

import pytest

from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.extension.points import Request
from nutchpy.fetcher.item import FetchItem, Timeouts
from nutchpy.fetcher.robots import RobotsAnswer, RobotsRules, RobotsSettings
from nutchpy.fetcher.traffic import Traffic
from nutchpy.testing.simulated import SimAnswer, SimClock, SimTransport

DENY = b"User-agent: bot\nDisallow: /x\n"


class Asking:
    """RobotsRules over answers by URL; what is not listed is a 404."""

    def __init__(self, answers: dict[str, SimAnswer], **settings: object) -> None:
        self.clock = SimClock()
        self.answers = answers
        self.transport = SimTransport(self.clock, self.answer)
        self.traffic = Traffic(self.transport)
        self.resumed: list[FetchItem] = []
        values = {"redirects": 5, "keep": 100.0, "allow_forbidden": True, "defer_errors": True, **settings}
        made = RobotsSettings(("bot",), Timeouts(1, 1, 1, 1), 1000, **values)  # type: ignore[arg-type]
        self.rules = RobotsRules(made, self.traffic, self.resumed.append, self.clock.monotonic, self.clock.wall)

    def answer(self, request: Request, now: float) -> SimAnswer:
        return self.answers.get(request.url, SimAnswer(404))

    def ask(self, origin: str) -> RobotsAnswer:
        item = FetchItem(f"{origin}/", "h", "h", {}, ips=("192.0.2.1",))
        self.rules.ask(origin, item)
        while not self.resumed:
            self.clock.seconds = self.transport.deadline() or 0.0
            self.traffic.step(())
        assert self.resumed.pop() is item
        assert item.robots is not None
        return item.robots

    def allowed(self, origin: str, path: str = "/x") -> bool:
        return self.rules.verdict(self.ask(origin), origin + path).allowed

    def asked(self) -> list[str]:
        return [exchange.url for exchange in self.transport.log]


def moved(target: str, status: int = 301) -> SimAnswer:
    return SimAnswer(status, headers=[("Location", target)])


@pytest.mark.parametrize(
    ("status", "settings", "allowed"),
    [
        (200, {}, False),
        (204, {}, False),
        (404, {}, True),
        (410, {}, True),
        (401, {}, True),
        (403, {}, True),
        (403, {"allow_forbidden": False}, False),
        (503, {"defer_errors": False}, True),
        (429, {"defer_errors": False}, True),
    ],
)
def test_what_an_answer_means(status: int, settings: dict[str, bool], allowed: bool) -> None:
    asking = Asking({"http://a.test/robots.txt": SimAnswer(status, body=DENY)}, **settings)
    assert asking.allowed("http://a.test") is allowed
    assert asking.rules.known("http://a.test", "a.test") is not None


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_server_in_trouble_is_put_off_and_not_remembered(status: int) -> None:
    asking = Asking({"http://a.test/robots.txt": SimAnswer(status)})
    assert asking.ask("http://a.test").deferred == f"robots.txt answers {status}"
    assert asking.rules.known("http://a.test", "a.test") is None


@pytest.mark.parametrize("fault", [ProtocolStatus.TIMEOUT, ProtocolStatus.BAD_ENCODING, ProtocolStatus.ADDRESS_REFUSED])
def test_one_that_cannot_be_read_fails_the_page_and_is_not_remembered(fault: ProtocolStatus) -> None:
    asking = Asking({"http://a.test/robots.txt": SimAnswer(fault=fault)})
    answer = asking.ask("http://a.test")
    assert answer.failure is not None
    assert answer.failure.reason is fault
    assert asking.rules.known("http://a.test", "a.test") is None


def test_rules_hold_for_an_origin_and_for_a_while() -> None:
    asking = Asking({"http://a.test/robots.txt": SimAnswer(body=DENY)})
    asking.ask("http://a.test")
    assert asking.rules.known("http://a.test:8080", "a.test") is None
    assert asking.rules.known("https://a.test", "a.test") is None
    asking.clock.seconds += 99.0
    assert asking.rules.known("http://a.test", "a.test") is not None
    asking.clock.seconds += 2.0
    assert asking.rules.known("http://a.test", "a.test") is None


def test_items_that_ask_meanwhile_wait_for_the_same_answer() -> None:
    asking = Asking({})
    items = [FetchItem(f"http://a.test/{n}", "a.test", "a.test", {}) for n in range(3)]
    for item in items:
        asking.rules.ask("http://a.test", item)
    asking.clock.seconds = 1.0
    asking.traffic.step(())
    assert asking.resumed == items
    assert len(asking.asked()) == 1


def test_redirects_are_followed_up_to_a_limit() -> None:
    hops = {f"http://a.test/{n}": moved(f"/{n + 1}") for n in range(1, 9)}
    chain = {"http://a.test/robots.txt": moved("/1"), **hops}
    asking = Asking({**chain, "http://a.test/5": SimAnswer(body=DENY)})
    assert not asking.allowed("http://a.test")
    endless = Asking(chain)
    assert endless.allowed("http://a.test"), "one too many: there is no robots.txt"
    assert len(endless.asked()) == 6


def test_a_redirect_to_another_host_s_robots_txt_is_that_host_s_too() -> None:
    asking = Asking({"http://a.test/robots.txt": moved("http://b.test/robots.txt")})
    asking.answers["http://b.test/robots.txt"] = SimAnswer(body=DENY)
    assert not asking.allowed("http://a.test")
    assert asking.rules.known("http://b.test", "b.test") is not None
    assert [exchange.ips for exchange in asking.transport.log] == [("192.0.2.1",), ()]
    elsewhere = Asking({"http://a.test/robots.txt": moved("http://b.test/other")})
    elsewhere.ask("http://a.test")
    assert elsewhere.rules.known("http://b.test", "b.test") is None


def test_a_redirect_to_no_web_url_is_no_robots_txt() -> None:
    assert Asking({"http://a.test/robots.txt": moved("file:///etc/passwd")}).allowed("http://a.test")


def test_hosts_of_the_allowlist_are_not_asked() -> None:
    asking = Asking({}, allowlist=("a.test",))
    for host in ("a.test", "www.a.test"):
        assert asking.rules.known(f"http://{host}", host) is not None
    assert asking.rules.known("http://ba.test", "ba.test") is None


def test_a_server_in_trouble_says_when_to_ask_again() -> None:
    asking = Asking({"http://h/robots.txt": SimAnswer(503, headers=[("Retry-After", "30")])})
    assert asking.ask("http://h").retry_after == 30.0
