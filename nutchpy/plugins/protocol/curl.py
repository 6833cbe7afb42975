"""The curl transport: one libcurl multi handle, driven by the loop's selector. No thread, no wake-up, no polling.

libcurl asks for sockets to be watched and timers to be set; ``step`` tells it what is ready. Addresses are judged when
a socket is opened for them, so every try is; a connection is reused only within this transport, hence within one
address filter. Bodies come as they were coded, for the decoder both transports share.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Mapping, Sequence
from selectors import BaseSelector, SelectorKey
from typing import ClassVar, Final, Self

from nutchpy.conf.layers import Conf
from nutchpy.core.content import ProtocolOutput
from nutchpy.core.errors import PluginError
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.extension.points import Request
from nutchpy.plugins.protocol.admission import WEB_PORTS, admit
from nutchpy.plugins.protocol.budget import BodyBudget
from nutchpy.plugins.protocol.deadlines import Agenda, Deadlines
from nutchpy.plugins.protocol.exchange import Exchange, Failure
from nutchpy.plugins.protocol.settings import TransportSettings

try:
    import pycurl

    from nutchpy.plugins.protocol.curl_transfer import Transfer
except ImportError as error:
    raise PluginError("plugin curl: pycurl cannot be loaded here; set protocol.http=requests") from error

_EVENTS: Final = {
    pycurl.POLL_IN: selectors.EVENT_READ,
    pycurl.POLL_OUT: selectors.EVENT_WRITE,
    pycurl.POLL_INOUT: selectors.EVENT_READ | selectors.EVENT_WRITE,
}


class CurlTransport:
    """Transport over libcurl. Handles are recycled, connections kept."""

    ports: ClassVar[Mapping[str, int]] = WEB_PORTS
    """The schemes it carries, with the port of each."""

    def __init__(self, settings: TransportSettings) -> None:
        self._settings = settings
        self._selector: BaseSelector | None = None
        self._watched: dict[int, int] = {}
        """Sockets in the selector, with what is waited for."""
        self._timer: float | None = None
        self._agenda = Agenda()
        self._budget = BodyBudget(settings.bodies_memory)
        self._room_made = False
        self._in_flight: dict[int, Transfer] = {}
        self._by_handle: dict[pycurl.Curl, Transfer] = {}
        self._idle: list[Transfer] = []
        self._done: list[tuple[int, ProtocolOutput]] = []
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, settings.kept_connections())

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """Build it from the ``http.*`` settings."""
        return cls(TransportSettings.from_conf(conf))

    def attach(self, selector: BaseSelector, wake: Callable[[], None]) -> None:
        """Take the selector; nothing here needs to wake it."""
        self._selector = selector

    def start(self, token: int, request: Request) -> None:
        """Begin a request, or note at once that it may not be made."""
        if self._selector is None:
            raise RuntimeError("the transport is not attached to a selector")
        # libcurl minds the connect deadline: it alone knows when the connection stands.
        deadlines = Deadlines(request.timeouts, time.monotonic(), connected=True)
        exchange = Exchange(token, request, self._settings, deadlines, self._budget)
        target = admit(request, self._settings, self.ports)
        if isinstance(target, Failure):
            self._done.append((token, exchange.end(target, deadlines.started)))
            return
        recycled = self._idle and not target.options.identified
        transfer = self._idle.pop() if recycled else self.new_transfer()
        transfer.prepare(exchange, target)
        self._in_flight[token] = transfer
        self._budget.enter(token)
        self._by_handle[transfer.handle] = transfer
        self._schedule(exchange, deadlines.started)
        self._multi.add_handle(transfer.handle)
        # It goes out now, and not when all that can be begun at this time have been.
        self._run_timers()

    def new_transfer(self) -> Transfer:
        """A handle more."""
        return Transfer(self._settings)

    def step(self, ready: Sequence[tuple[SelectorKey, int]]) -> list[tuple[int, ProtocolOutput]]:
        """Pass ready sockets and due timers to libcurl, and collect what is finished."""
        for key, events in ready:
            read = pycurl.CSELECT_IN if events & selectors.EVENT_READ else 0
            write = pycurl.CSELECT_OUT if events & selectors.EVENT_WRITE else 0
            self._act(key.fd, read | write)
        if self._timer is not None and self._timer <= time.monotonic():
            self._run_timers()
        now = time.monotonic()
        self._collect(now)
        self._expire(now)
        self._let_go_on(now)
        done, self._done = self._done, []
        return done

    def deadline(self) -> float | None:
        """The earliest of libcurl's timer and our deadlines; now, when something is finished already."""
        if self._done:
            return time.monotonic()
        instants = (self._timer, self._agenda.next(self._in_flight))
        return min((instant for instant in instants if instant is not None), default=None)

    def cancel(self, token: int, reason: str) -> None:
        """Break a transfer off."""
        transfer = self._in_flight.get(token)
        if transfer is not None:
            output = transfer.exchange.give_up(reason, time.monotonic())
            self._release(transfer)
            self._done.append((token, output))

    def close(self) -> None:
        """Drop all transfers, close all connections."""
        for transfer in list(self._in_flight.values()):
            self._release(transfer)
        for transfer in self._idle:
            transfer.handle.close()
        self._idle.clear()
        self._multi.close()

    def _watch(self, what: int, descriptor: int, _multi: object, _data: object) -> None:
        """libcurl's wish to have a socket watched, for these events or no more."""
        selector = self._selector
        if selector is None:
            return
        watched = self._watched.get(descriptor)
        if what == pycurl.POLL_REMOVE:
            if watched is not None:
                del self._watched[descriptor]
                selector.unregister(descriptor)
            return
        events = _EVENTS.get(what, watched)
        if events is None or events == watched:
            return
        self._watched[descriptor] = events
        (selector.register if watched is None else selector.modify)(descriptor, events, self)

    def _set_timer(self, milliseconds: int) -> None:
        self._timer = None if milliseconds < 0 else time.monotonic() + milliseconds / 1000

    def _run_timers(self) -> None:
        self._timer = None
        self._act(pycurl.SOCKET_TIMEOUT, 0)

    def _act(self, descriptor: int, events: int) -> None:
        """Let libcurl work, and take what that completed: what ended first need not wait for others to be noticed."""
        _, running = self._multi.socket_action(descriptor, events)
        if running < len(self._in_flight):
            self._collect(time.monotonic())

    def _collect(self, now: float) -> None:
        more = 1
        while more:
            more, whole, failed = self._multi.info_read()
            for handle in whole:
                self._complete(self._by_handle[handle], None, now)
            for handle, code, message in failed:
                self._complete(self._by_handle[handle], (code, message), now)

    def _complete(self, transfer: Transfer, error: tuple[int, str] | None, now: float) -> None:
        if transfer.to_be_read_to_its_end(error):
            self._multi.remove_handle(transfer.handle)
            self._multi.add_handle(transfer.handle)
            return
        output = transfer.finish(error, now)
        self._release(transfer)
        self._done.append((transfer.exchange.token, output))

    def _release(self, transfer: Transfer) -> None:
        self._multi.remove_handle(transfer.handle)
        del self._by_handle[transfer.handle]
        del self._in_flight[transfer.exchange.token]
        self._budget.leave(transfer.exchange.token)
        self._room_made = True
        if transfer.reusable:
            self._idle.append(transfer)
        else:
            transfer.handle.close()

    def _let_go_on(self, now: float) -> None:
        """Read on those that wait for room, the oldest first; who still finds none waits again."""
        if not self._room_made:
            return
        self._room_made = False
        for token in sorted(self._budget.waiting):
            self._budget.waiting.discard(token)
            transfer = self._in_flight[token]
            transfer.exchange.deadlines.received(now)
            transfer.handle.pause(pycurl.PAUSE_CONT)

    def _schedule(self, exchange: Exchange, now: float) -> None:
        look = exchange.deadlines.next_look(now)
        if look is not None:
            self._agenda.add(look, exchange.token)

    def _expire(self, now: float) -> None:
        """Break off what has passed a deadline; look again later at what has moved on meanwhile."""
        for token in self._agenda.due(now):
            transfer = self._in_flight.get(token)
            if transfer is None:
                continue
            if token in self._budget.waiting:
                transfer.exchange.deadlines.received(now)
            expiry = transfer.exchange.deadlines.expiry()
            if expiry is None or expiry[0] > now:
                self._schedule(transfer.exchange, now)
                continue
            output = transfer.expire(Failure(ProtocolStatus.TIMEOUT, expiry[1]), now)
            self._release(transfer)
            self._done.append((token, output))
