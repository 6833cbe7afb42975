"""Results on stdout: lines of text, or JSON. Always UTF-8, whatever the locale; nothing else ever goes there."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from nutchpy.stages.context import Outcome


def write(outcome: Outcome, as_json: bool) -> None:
    """Print what a stage gave, and its words for the person at the terminal."""
    _utf8()
    if as_json:
        _write_json(outcome)
    else:
        for line in outcome.lines:
            sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    for line in outcome.summary:
        sys.stderr.write(f"{line}\n")


def _write_json(outcome: Outcome) -> None:
    if isinstance(outcome.data, Iterator):
        for item in outcome.data:
            sys.stdout.write(f"{_json(item)}\n")
    else:
        data = dict(outcome.counters) if outcome.data is None else outcome.data
        sys.stdout.write(f"{_json(data)}\n")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _utf8() -> None:
    """File names that are not UTF-8 pass through as the bytes they are."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="surrogateescape")
