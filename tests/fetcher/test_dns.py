from __future__ import annotations

import threading
import time

import pytest

from nutchpy.fetcher.dns import Resolution, Resolver, ThreadedLookups, is_address, system_lookup
from nutchpy.fetcher.item import FetchItem

GOOD = Resolution(("192.0.2.1",))


class Answers:
    def __init__(self) -> None:
        self.started: list[str] = []
        self.ready: list[tuple[str, Resolution]] = []

    def start(self, host: str) -> None:
        self.started.append(host)

    def done(self) -> list[tuple[str, Resolution]]:
        ready, self.ready = self.ready, []
        return ready

    def close(self) -> None:
        pass


def item(host: str) -> FetchItem:
    return FetchItem(f"http://{host}/", host, host, {})


def resolver() -> tuple[Resolver, Answers, list[FetchItem]]:
    answers, resumed = Answers(), []
    return Resolver(answers, keep=100.0, timeout=10.0, resume=resumed.append), answers, resumed


def test_a_host_is_asked_for_once_and_all_who_wait_go_on() -> None:
    it, answers, resumed = resolver()
    first, second = item("a.test"), item("a.test")
    it.ask("a.test", first, 0.0)
    it.ask("a.test", second, 1.0)
    assert answers.started == ["a.test"]
    answers.ready.append(("a.test", GOOD))
    it.step(2.0)
    assert resumed == [first, second]
    assert first.resolution == GOOD
    assert it.resolution("a.test", 101.9) == GOOD
    assert it.resolution("a.test", 102.0) is None


def test_failures_are_kept_for_a_shorter_while() -> None:
    it, answers, _ = resolver()
    it.ask("a.test", item("a.test"), 0.0)
    answers.ready.append(("a.test", Resolution((), "no such host")))
    it.step(0.0)
    assert it.resolution("a.test", 29.9) is not None
    assert it.resolution("a.test", 30.0) is None


def test_an_answer_that_is_late_is_given_up_and_kept_when_it_comes() -> None:
    it, answers, resumed = resolver()
    late = item("a.test")
    it.ask("a.test", late, 0.0)
    assert it.deadline() == 10.0
    it.step(9.9)
    assert resumed == []
    it.step(10.0)
    assert resumed == [late]
    assert late.resolution is not None
    assert "no answer" in late.resolution.error
    assert it.deadline() is None
    answers.ready.append(("a.test", GOOD))
    it.step(12.0)
    assert it.resolution("a.test", 13.0) == GOOD


@pytest.mark.parametrize(
    ("host", "yes"), [("127.0.0.1", True), ("[::1]", True), ("a.test", False), ("a1", False), ("x.1", True)]
)
def test_is_address(host: str, yes: bool) -> None:
    assert is_address(host) is yes


def test_the_system_knows_localhost_and_says_what_it_does_not_know() -> None:
    assert "127.0.0.1" in system_lookup("localhost").addresses
    unknown = system_lookup("no-such-name.invalid")
    assert unknown.addresses == ()
    assert "no-such-name.invalid" in unknown.error
    assert system_lookup("x" * 300).addresses == ()


def test_threads_are_bounded_and_wake_the_loop() -> None:
    running, most, lock = 0, 0, threading.Lock()
    woken = threading.Semaphore(0)

    def look_up(host: str) -> Resolution:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1
        return Resolution((host,))

    lookups = ThreadedLookups(3, woken.release, look_up)
    for n in range(10):
        lookups.start(f"h{n}")
    for _ in range(10):
        assert woken.acquire(timeout=5)
    assert sorted(lookups.done()) == sorted((f"h{n}", Resolution((f"h{n}",))) for n in range(10))
    assert most == 3
    lookups.close()
