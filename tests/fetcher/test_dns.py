from __future__ import annotations

import threading
import time

import pytest

from nutchpy.fetcher.dns import Resolution, Resolver, ThreadedLookups, is_address, system_lookup

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


class Asking:
    def __init__(self, most: int = 2) -> None:
        self.answers = Answers()
        self.resolved: list[tuple[str, float]] = []
        self.it = Resolver(self.answers, most, 100.0, 10.0, lambda queue, now: self.resolved.append((queue, now)))


def test_a_host_is_asked_for_once_and_all_queues_that_wait_hear_of_it() -> None:
    asking = Asking()
    asking.it.ask("a.test", "q1", 0.0)
    asking.it.ask("a.test", "q2", 1.0)
    assert asking.answers.started == ["a.test"]
    asking.answers.ready.append(("a.test", GOOD))
    asking.it.step(2.0)
    assert asking.resolved == [("q1", 2.0), ("q2", 2.0)]
    assert asking.it.resolution("a.test", 101.9) == GOOD
    assert asking.it.resolution("a.test", 102.0) is None


def test_failures_are_kept_for_a_shorter_while() -> None:
    asking = Asking()
    asking.it.ask("a.test", "q", 0.0)
    asking.answers.ready.append(("a.test", Resolution((), "no such host")))
    asking.it.step(0.0)
    assert asking.it.resolution("a.test", 29.9) is not None
    assert asking.it.resolution("a.test", 30.0) is None


def test_an_answer_that_is_late_is_given_up_and_kept_when_it_comes() -> None:
    asking = Asking()
    asking.it.ask("a.test", "q", 0.0)
    assert asking.it.deadline() == 10.0
    asking.it.step(9.9)
    assert asking.resolved == []
    asking.it.step(10.0)
    assert asking.resolved == [("q", 10.0)]
    given_up = asking.it.resolution("a.test", 10.0)
    assert given_up is not None
    assert "no answer" in given_up.error
    assert asking.it.deadline() is None
    asking.it.ask("a.test", "q", 50.0)
    assert asking.it.deadline() == 60.0
    assert asking.answers.started == ["a.test"], "it is still being looked up"
    asking.answers.ready.append(("a.test", GOOD))
    asking.it.step(52.0)
    assert asking.resolved[1:] == [("q", 52.0)]
    assert asking.it.resolution("a.test", 53.0) == GOOD


def test_look_ups_wait_for_their_turn_and_their_time_begins_with_it() -> None:
    asking = Asking(most=2)
    for n in range(3):
        asking.it.ask(f"h{n}", f"q{n}", 0.0)
    assert asking.answers.started == ["h0", "h1"]
    asking.it.step(10.0)
    assert [queue for queue, _ in asking.resolved] == ["q0", "q1"]
    assert asking.answers.started == ["h0", "h1"], "both still sit in the pool"
    asking.answers.ready.append(("h0", GOOD))
    asking.it.step(12.0)
    assert asking.answers.started == ["h0", "h1", "h2"]
    assert asking.it.deadline() == 22.0


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
