"""Pipeline: the ordered handlers every item goes through, and the one door at which each of them leaves.

A handler answers *proceed*, *finish* (with the reason), *jump* (to a handler by name) or *pause*: then what it waits
for is on its way, and the same handler gets the item again when it has come. Whatever happens, an exception included,
an item ends in ``settle`` exactly once; what comes for it later is ignored.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final, Protocol

from nutchpy.core.errors import ConfigError
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.fetcher.item import FetchItem

_log = logging.getLogger(__name__)


class Step(Enum):
    """The answers that need no words."""

    PROCEED = "proceed"
    PAUSE = "pause"


class Unrecorded(StrEnum):
    """Reasons to end an attempt without a crawl_fetch row: the URL stays due."""

    DEFERRED = "robots_deferred"
    """Not now: back into its queue, which rests."""
    UNRESOLVED = "unresolved"
    """Back into its queue, which is held until its host's address is known."""
    MOVED = "moved"
    """It belongs into another queue: into that of ``item.queue_id``."""
    INTERRUPTED = "interrupted"
    """We gave it up ourselves."""


@dataclass(frozen=True, slots=True)
class Jump:
    """Go on with the handler of that name."""

    name: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The item has come to its end."""

    reason: ProtocolStatus | Unrecorded
    message: str = ""


Answer = Step | Jump | Finish

PROCEED: Final = Step.PROCEED
PAUSE: Final = Step.PAUSE


class Handler(Protocol):
    """One step of the pipeline. Runs in the loop: it never blocks and never computes for long."""

    def handle(self, item: FetchItem, now: float) -> Answer:
        """Do this step's work on the item, or find that it has been done since the last call."""
        ...


class Pipeline:
    """``begin`` an item, ``advance`` one that was paused; ``active`` are those under way."""

    def __init__(
        self, handlers: Sequence[tuple[str, Handler]], settle: Callable[[FetchItem, Finish, float], None]
    ) -> None:
        self._handlers = [handler for _, handler in handlers]
        self._names = [name for name, _ in handlers]
        self._positions = {name: position for position, name in enumerate(self._names)}
        self._settle = settle
        self.active: set[FetchItem] = set()

    def begin(self, item: FetchItem, now: float) -> None:
        """Send an item down the pipeline from its first handler."""
        item.began = now
        item.position = 0
        item.settled = False
        self.active.add(item)
        self.advance(item, now)

    def advance(self, item: FetchItem, now: float) -> None:
        """Send an item on from where it stands, unless it has ended meanwhile."""
        if item.settled:
            return
        try:
            finish = self._run(item, now)
        except Exception as error:  # noqa: BLE001  one item's fault, a handler's bug included, costs that item
            finish = self._failure(item, error)
        if finish is not None:
            self.finish(item, finish, now)

    def finish(self, item: FetchItem, finish: Finish, now: float) -> None:
        """End an item, wherever it stands; only the first end counts."""
        if item.settled:
            return
        item.settled = True
        self.active.discard(item)
        self._settle(item, finish, now)

    def handler_of(self, item: FetchItem) -> str:
        """The name of the handler that has an item under way."""
        return self._names[item.position]

    def _run(self, item: FetchItem, now: float) -> Finish | None:
        handlers = self._handlers
        while item.position < len(handlers):
            answer = handlers[item.position].handle(item, now)
            if answer is PROCEED:
                item.position += 1
            elif answer is PAUSE:
                return None
            elif isinstance(answer, Finish):
                return answer
            elif isinstance(answer, Jump):
                item.position = self._positions[answer.name]
        if item.output is None:
            return Finish(ProtocolStatus.FAILED, "no handler of fetcher.pipeline asked for the page")
        return Finish(item.output.protocol_status, item.output.message)

    def _failure(self, item: FetchItem, error: Exception) -> Finish:
        name = self._names[item.position]
        _log.warning("handler %s raised on %s: %r", name, item.url, error, exc_info=error)
        return Finish(ProtocolStatus.FAILED, f"handler {name}: {type(error).__name__}: {error}")


def ordered(names: Sequence[str], known: dict[str, Handler | None]) -> list[tuple[str, Handler]]:
    """The handlers in the order of the setting; None stands for one that these settings leave nothing to do."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ConfigError(f"fetcher.pipeline: no handler {', '.join(unknown)}; there are {', '.join(known)}")
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ConfigError(f"fetcher.pipeline: {', '.join(sorted(twice))} stands there twice")
    chosen = [(name, known[name]) for name in names]
    return [(name, handler) for name, handler in chosen if handler is not None]
