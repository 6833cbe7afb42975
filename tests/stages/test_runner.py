"""run_stage: settings settled, records written, rules watched, signals turned into Interrupted."""

import hashlib
import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nutchpy.conf.layers import load
from nutchpy.core.counters import Counters
from nutchpy.core.errors import ConfigError, EngineError, Interrupted, NothingDue
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options, argument, setting
from nutchpy.stages.runner import run_stage
from nutchpy.storage.runs import last_run, read_runs

NOW = datetime(2026, 5, 1, tzinfo=UTC)


@dataclass(frozen=True)
class SampleOptions(Options):
    crawldb: Path = argument("The crawldb.")
    topn: int = setting("generate.topN", "Best N.", "-topN")


Behaviour = Callable[[SampleOptions, Context], Outcome]
SampleOptions.__module__ = "sample_stage"


@pytest.fixture
def stage() -> Iterator[Callable[[Behaviour], None]]:
    """A module ``sample_stage`` whose ``run`` the test gives."""
    module = type(sys)("sample_stage")
    sys.modules["sample_stage"] = module
    yield lambda behaviour: setattr(module, "run", behaviour)
    del sys.modules["sample_stage"]


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    (tmp_path / "crawl").mkdir()
    return tmp_path / "crawl"


def context(conf_dir: Path | None = None, now: datetime = NOW, **more: Any) -> Context:
    return Context(load(conf_dir, None, {}, []), now, **more)


def done(options: SampleOptions, ctx: Context) -> Outcome:
    return Outcome(Counters({"rows": 3}))


def test_options_lie_over_the_settings_for_the_stage(stage: Callable[[Behaviour], None], crawl: Path) -> None:
    seen: list[Any] = []

    def look(options: SampleOptions, ctx: Context) -> Outcome:
        seen.append((options.topn, ctx.conf["generate.topN"], ctx.crawl_dir))
        return Outcome()

    stage(look)
    run_stage("generate", SampleOptions(crawl / "crawldb", topn=5), context())
    run_stage("generate", SampleOptions(crawl / "crawldb"), context())
    assert seen == [(5, 5, crawl), (-1, -1, crawl)]


def test_a_run_leaves_a_line_in_the_crawl_and_two_in_the_log(
    stage: Callable[[Behaviour], None], crawl: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage(done)
    with caplog.at_level(logging.INFO):
        run_stage("generate", SampleOptions(crawl / "crawldb", topn=5), context())
    [record] = read_runs(crawl)
    assert record["stage"] == "generate"
    assert record["exit"] == 0
    assert record["counters"] == {"rows": 3}
    assert record["options"] == {"crawldb": str(crawl / "crawldb"), "topn": 5}
    assert record["start"] == NOW.isoformat()
    assert record["seconds"] >= 0
    assert record["version"]
    start, end = (r.getMessage() for r in caplog.records if r.levelno == logging.INFO)
    assert start.startswith("generate: start; options {")
    assert "conf folder None" in start
    assert end.endswith("rows 3")


def test_a_reading_command_leaves_none(stage: Callable[[Behaviour], None], crawl: Path) -> None:
    stage(done)
    run_stage("readdb", SampleOptions(crawl / "crawldb"), context())
    assert list(crawl.iterdir()) == []


def test_a_stage_on_a_missing_crawl_creates_nothing(stage: Callable[[Behaviour], None], tmp_path: Path) -> None:
    stage(done)
    run_stage("generate", SampleOptions(tmp_path / "none" / "crawldb"), context())
    assert not (tmp_path / "none").exists()


def test_a_failure_is_recorded_and_passes(stage: Callable[[Behaviour], None], crawl: Path) -> None:
    def fail(options: SampleOptions, ctx: Context) -> Outcome:
        raise NothingDue("nothing due until tomorrow")

    stage(fail)
    with pytest.raises(NothingDue):
        run_stage("generate", SampleOptions(crawl / "crawldb"), context())
    record = last_run(crawl)
    assert record is not None
    assert (record["exit"], record["message"]) == (1, "nothing due until tomorrow")


def test_a_signal_interrupts_a_stage_that_does_not_look(stage: Callable[[Behaviour], None], crawl: Path) -> None:
    def signalled(options: SampleOptions, ctx: Context) -> Outcome:
        ctx.stop.set("SIGINT")
        raise KeyboardInterrupt

    stage(signalled)
    with pytest.raises(Interrupted, match="stopped by SIGINT"):
        run_stage("generate", SampleOptions(crawl / "crawldb"), context())
    assert last_run(crawl)["exit"] == 5  # type: ignore[index]


def test_an_error_that_the_signal_caused_is_interrupted_too(stage: Callable[[Behaviour], None], crawl: Path) -> None:
    def interrupted_query(options: SampleOptions, ctx: Context) -> Outcome:
        ctx.stop.set("SIGTERM")
        raise EngineError("Query interrupted")

    stage(interrupted_query)
    with pytest.raises(Interrupted, match="SIGTERM"):
        run_stage("generate", SampleOptions(crawl / "crawldb"), context())


def test_each_stage_of_a_run_must_look_for_itself(stage: Callable[[Behaviour], None], crawl: Path) -> None:
    watched: list[bool] = []

    def look(options: SampleOptions, ctx: Context) -> Outcome:
        watched.append(ctx.stop.watched)
        ctx.stop.is_set()
        return Outcome()

    stage(look)
    ctx = context()
    for _ in range(2):
        run_stage("generate", SampleOptions(crawl / "crawldb"), ctx)
    assert watched == [False, False]


def rules_in(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "regex-urlfilter.txt").write_text(text)
    return folder


def test_changed_rules_are_a_warning(
    stage: Callable[[Behaviour], None], crawl: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage(done)
    options = SampleOptions(crawl / "crawldb")
    run_stage("generate", options, context(rules_in(tmp_path / "mine", "+.\n")))
    run_stage("generate", options, context(tmp_path / "mine"))
    assert "rules changed" not in caplog.text
    run_stage("generate", options, context(rules_in(tmp_path / "mine", "-.\n")))
    (said,) = [record.getMessage() for record in caplog.records if "rules changed" in record.getMessage()]
    path = tmp_path / "mine" / "regex-urlfilter.txt"
    before, after = (hashlib.sha256(rules).hexdigest()[:12] for rules in (b"+.\n", b"-.\n"))
    change = f"the content of {path} (sha256 {before}, now {after})"
    assert said == f"rules changed since this crawl's last run: urlfilter.regex.file: {change}"
    run_stage("generate", options, context(rules_in(tmp_path / "other", "+.\n")))
    assert f"the last run used {path}, this one {tmp_path / 'other' / path.name}" in caplog.text


def test_falling_back_to_shipped_rules_stops_unless_accepted(
    stage: Callable[[Behaviour], None], crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nutchpy.conf import rules

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rules, "SHIPPED", rules_in(tmp_path / "shipped", "+shipped\n"))
    stage(done)
    options = SampleOptions(crawl / "crawldb")
    run_stage("generate", options, context(rules_in(tmp_path / "mine", "+.\n")))
    with pytest.raises(ConfigError, match=r"mine/regex-urlfilter\.txt, this one .*shipped.*--accept-conf-change"):
        run_stage("generate", options, context())
    run_stage("generate", options, context(accept_conf_change=True))
    run_stage("generate", options, context())


def test_a_clock_that_jumped_is_a_warning(
    stage: Callable[[Behaviour], None], crawl: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage(done)
    options = SampleOptions(crawl / "crawldb")
    ctx = context()
    for days, warned in ((0, False), (29, False), (28, True), (90, True)):
        caplog.clear()
        run_stage("generate", options, replace(ctx, now=NOW + timedelta(days=days)))
        assert ("Is the clock right?" in caplog.text) is warned, days
