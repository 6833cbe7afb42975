"""Runs a stage as every caller should: settings settled, one log line before and one after, one line in ``runs.jsonl``.

Also holds a crawl's settings together over time: rules that are not those of its last run are a warning, and rules
that were the user's and would now be the shipped ones (cron runs in another folder) end the run before it works.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from nutchpy.conf.layers import Conf
from nutchpy.core.errors import ConfigError, Interrupted, exit_code
from nutchpy.core.version import VERSION
from nutchpy.stages.context import Context, Outcome
from nutchpy.stages.options import Options
from nutchpy.storage import runs

_log = logging.getLogger(__name__)

RECORDED: Final = frozenset(
    {"inject", "generate", "fetch", "parse", "updatedb", "invertlinks", "dedup", "rebucket", "expire", "upgrade"}
)
"""Stages that change a crawl, and so leave a line in its ``runs.jsonl``."""
_LONG_AGO: Final = timedelta(days=30)


def run_stage(name: str, options: Options, ctx: Context, level: int = logging.INFO) -> Outcome:
    """Run the stage that ``options`` belong to; errors pass through, recorded. ``level``: of the lines in the log."""
    ctx = _surroundings(options, ctx)
    settled = options.settled(ctx.conf)
    if name not in RECORDED or not settled.recorded():
        return _run(settled, ctx)
    rules = _rules(ctx.conf)
    _compare_with_last(ctx, rules)
    _log.log(level, "%s: start; options %s; %s", name, settled.shown(), described(ctx.conf))
    start = ctx.monotonic()
    record = {
        "stage": name,
        "version": VERSION,
        "start": ctx.now.isoformat(),
        "options": settled.shown(),
        "conf_dir": _folder(ctx.conf),
        "rules": rules,
    }
    try:
        outcome = _run(settled, ctx)
    except Exception as error:
        seconds = ctx.monotonic() - start
        with suppress(OSError):  # a disk too full to note it on: what ended the run is the news
            _append(ctx, {**record, "exit": exit_code(error), "message": str(error)}, seconds)
        raise
    seconds = ctx.monotonic() - start
    _log.log(level, "%s: end after %.1f s; %s", name, seconds, _counted(outcome))
    _append(ctx, {**record, "exit": outcome.exit_code, "counters": dict(outcome.counters)}, seconds)
    return outcome


def described(conf: Conf) -> str:
    """Where the settings are from, and which rules are in force."""
    return f"conf folder {_folder(conf)}; rules {_brief(_rules(conf))}"


def _surroundings(options: Options, ctx: Context) -> Context:
    """The context with the options' settings on top, and the crawl folder they name."""
    crawl_dir = options.crawl_dir() or ctx.crawl_dir
    overlay = options.overlay()
    if not overlay and crawl_dir == ctx.crawl_dir:
        return ctx
    return replace(ctx, conf=ctx.conf.with_values(overlay), crawl_dir=crawl_dir)


def _run(options: Options, ctx: Context) -> Outcome:
    """The stage's own ``run``. An error that is only a stage's way to stop at a signal is Interrupted."""
    ctx.stop.watched = False
    try:
        outcome: Outcome = _stage(options).run(options, ctx)
    except KeyboardInterrupt as signal:
        raise Interrupted(f"stopped by {ctx.stop.reason or 'a signal'}") from signal
    except Exception as error:
        if ctx.stop.reason is not None and not ctx.stop.watched:
            raise Interrupted(f"stopped by {ctx.stop.reason}") from error
        raise
    return outcome


def _stage(options: Options) -> Any:
    """The module whose ``run`` takes these options: theirs, or the package it belongs to."""
    module = import_module(type(options).__module__)
    return module if hasattr(module, "run") else import_module(module.__name__.rpartition(".")[0])


def _rules(conf: Conf) -> dict[str, dict[str, Any]]:
    """The rules in force, as ``runs.jsonl`` keeps them."""
    texts = conf.rule_texts()
    return {name: {"sha256": t.sha256, "source": t.source, "shipped": t.shipped} for name, t in texts.items()}


def _compare_with_last(ctx: Context, rules: Mapping[str, Mapping[str, Any]]) -> None:
    last = runs.last_run(ctx.crawl_dir) if ctx.crawl_dir is not None else None
    if last is None:
        return
    _check_clock(ctx.now, last)
    if last.get("conf_dir", folder := _folder(ctx.conf)) != folder:
        _log.warning("settings were read from %s in this crawl's last run, now from %s", last["conf_dir"], folder)
    before = last.get("rules", {})
    for name, rule in rules.items():
        was = before.get(name)
        if was is None or was["sha256"] == rule["sha256"]:
            continue
        change = f"{name}: {_change(was, rule)}"
        if rule["shipped"] and not was["shipped"] and not ctx.accept_conf_change:
            raise ConfigError(
                f"{change}; set NUTCHPY_CONF_DIR, put the rules into {ctx.crawl_dir}/conf, or say --accept-conf-change"
            )
        _log.warning("rules changed since this crawl's last run: %s", change)


def _change(was: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    if was["source"] == now["source"]:
        return f"the content of {now['source']} (sha256 {was['sha256'][:12]}, now {now['sha256'][:12]})"
    return f"the last run used {was['source']}, this one {now['source']}"


def _check_clock(now: datetime, last: Mapping[str, Any]) -> None:
    try:
        then = datetime.fromisoformat(last["start"])
    except (KeyError, TypeError, ValueError):
        return
    if now < then or now - then > _LONG_AGO:
        _log.warning("the clock says %s; this crawl's last run began at %s. Is the clock right?", now, then)


def _append(ctx: Context, record: Mapping[str, Any], seconds: float) -> None:
    if ctx.crawl_dir is not None and ctx.crawl_dir.is_dir():
        end = datetime.now(UTC).isoformat()
        runs.append_run(ctx.crawl_dir, {**record, "end": end, "seconds": round(seconds, 3)})


def _folder(conf: Conf) -> str | None:
    return str(Path(conf.conf_dir).absolute()) if conf.conf_dir is not None else None


def _brief(rules: Mapping[str, Mapping[str, Any]]) -> str:
    return ", ".join(f"{name} {rule['sha256'][:12]}" for name, rule in rules.items()) or "none"


def _counted(outcome: Outcome) -> str:
    return ", ".join(f"{name} {count}" for name, count in outcome.counters.items()) or "nothing counted"
