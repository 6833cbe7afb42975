from __future__ import annotations

from collections.abc import Callable

import pytest

from nutchpy.core.content import ProtocolOutput
from nutchpy.core.errors import ConfigError
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.fetcher.item import FetchItem
from nutchpy.fetcher.pipeline import PAUSE, PROCEED, Answer, Finish, Handler, Jump, Pipeline, ordered


class Does:
    """A handler that notes its calls and answers as told."""

    def __init__(self, calls: list[str], name: str, *answers: Answer | Callable[[FetchItem], Answer]) -> None:
        self.calls, self.name, self.answers = calls, name, list(answers)

    def handle(self, item: FetchItem, now: float) -> Answer:
        self.calls.append(self.name)
        answer = self.answers.pop(0) if self.answers else PROCEED
        return answer(item) if callable(answer) else answer


class Bench:
    def __init__(self, **handlers: list[Answer | Callable[[FetchItem], Answer]]) -> None:
        self.calls: list[str] = []
        self.ends: list[Finish] = []
        chain = [(name, Does(self.calls, name, *answers)) for name, answers in handlers.items()]
        self.pipeline = Pipeline(chain, lambda _item, finish, _now: self.ends.append(finish))
        self.item = FetchItem("http://h/", "h", "h", {})


def answered(item: FetchItem) -> Answer:
    item.output = ProtocolOutput(item.url, ProtocolStatus.SUCCESS, 200)
    return PROCEED


def broken(item: FetchItem) -> Answer:
    raise RuntimeError("oh")


def test_handlers_run_in_order_and_the_output_is_the_outcome() -> None:
    bench = Bench(a=[], b=[answered], c=[])
    bench.pipeline.begin(bench.item, 0.0)
    assert bench.calls == ["a", "b", "c"]
    assert bench.ends == [Finish(ProtocolStatus.SUCCESS)]
    assert not bench.pipeline.active


def test_a_paused_item_goes_on_with_the_same_handler() -> None:
    bench = Bench(a=[PAUSE, PAUSE, answered], b=[])
    bench.pipeline.begin(bench.item, 0.0)
    assert bench.pipeline.active == {bench.item}
    bench.pipeline.advance(bench.item, 1.0)
    bench.pipeline.advance(bench.item, 2.0)
    assert bench.calls == ["a", "a", "a", "b"]
    assert len(bench.ends) == 1


def test_finish_skips_the_rest() -> None:
    end = Finish(ProtocolStatus.ROBOTS_DENIED, "line 3")
    bench = Bench(a=[end], b=[])
    bench.pipeline.begin(bench.item, 0.0)
    assert (bench.calls, bench.ends) == (["a"], [end])


def test_jump_goes_to_the_handler_of_that_name() -> None:
    bench = Bench(a=[Jump("c")], b=[], c=[answered])
    bench.pipeline.begin(bench.item, 0.0)
    assert bench.calls == ["a", "c"]


def test_an_exception_costs_the_item_and_names_the_handler() -> None:
    bench = Bench(a=[], bad=[broken], c=[])
    bench.pipeline.begin(bench.item, 0.0)
    assert bench.calls == ["a", "bad"]
    assert bench.ends == [Finish(ProtocolStatus.FAILED, "handler bad: RuntimeError: oh")]


def test_a_jump_to_nowhere_costs_the_item() -> None:
    bench = Bench(a=[Jump("nowhere")])
    bench.pipeline.begin(bench.item, 0.0)
    assert bench.ends[0].reason is ProtocolStatus.FAILED


def test_no_answer_at_the_end_is_a_failure() -> None:
    bench = Bench(a=[])
    bench.pipeline.begin(bench.item, 0.0)
    assert bench.ends[0].reason is ProtocolStatus.FAILED


def test_an_item_ends_once() -> None:
    bench = Bench(a=[PAUSE, answered])
    bench.pipeline.begin(bench.item, 0.0)
    bench.pipeline.finish(bench.item, Finish(ProtocolStatus.RETRY), 1.0)
    bench.pipeline.advance(bench.item, 2.0)
    bench.pipeline.finish(bench.item, Finish(ProtocolStatus.TIMEOUT), 3.0)
    assert bench.ends == [Finish(ProtocolStatus.RETRY)]
    assert bench.calls == ["a"]


def test_the_order_is_the_settings() -> None:
    known: dict[str, Handler | None] = {"a": Does([], "a"), "b": None, "c": Does([], "c")}
    assert [name for name, _ in ordered(["c", "b", "a"], known)] == ["c", "a"]
    with pytest.raises(ConfigError, match="no handler x"):
        ordered(["a", "x"], known)
    with pytest.raises(ConfigError, match="a stands there twice"):
        ordered(["a", "a"], known)
