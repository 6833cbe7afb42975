"""The requests transport: a thread for each request in flight, for those who bring their own adapters or auth.

The loop's thread hands jobs over by a queue and gets outcomes back by another, woken for each. It also keeps the
deadlines, in ``step``: it shuts the socket of a job that has passed one, whatever its thread is blocked in. A thread
that does not come back even then (a name look-up cannot be broken off) is left behind and replaced.
"""

from __future__ import annotations

import importlib.util
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from selectors import BaseSelector, SelectorKey
from typing import Any, Final, Self
from urllib.parse import quote

import requests
import urllib3.exceptions
from requests.structures import CaseInsensitiveDict

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Headers, ProtocolOutput
from nutchpy.core.errors import PluginError
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.extension.points import Request
from nutchpy.plugins.protocol.admission import admit
from nutchpy.plugins.protocol.budget import BodyBudget
from nutchpy.plugins.protocol.deadlines import Agenda, Deadlines
from nutchpy.plugins.protocol.exchange import Exchange, Failure
from nutchpy.plugins.protocol.hosts import Certificate, HostOptions
from nutchpy.plugins.protocol.requests_adapter import GuardedAdapter
from nutchpy.plugins.protocol.requests_auth import digest_answer
from nutchpy.plugins.protocol.requests_connections import Job
from nutchpy.plugins.protocol.requests_errors import failure_of
from nutchpy.plugins.protocol.settings import Proxy, TransportSettings

_READ: Final = 65536
_GRACE: Final = 1.0
"""Seconds a thread has to come back once its socket is shut."""


class RequestsTransport:
    """Transport over requests. Subclass it and override ``make_session`` to bring adapters or auth."""

    def __init__(self, settings: TransportSettings) -> None:
        self._settings = settings
        self._wake: Callable[[], None] = _nobody
        self._local = threading.local()
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._finished: SimpleQueue[tuple[Job, ProtocolOutput]] = SimpleQueue()
        self._in_flight: dict[int, Job] = {}
        self._done: list[tuple[int, ProtocolOutput]] = []
        self._agenda = Agenda()
        self._budget = BodyBudget(settings.bodies_memory)
        self._threads: list[threading.Thread] = []
        self._workers = 0
        self._closing = False
        self._session = self.make_session()
        self._last_headers: tuple[HostOptions, CaseInsensitiveDict[Any]] | None = None
        """Those of the last request that had none of its own: most are alike."""
        self._certified: dict[Certificate, GuardedAdapter] = {}
        self._certified_lock = threading.Lock()

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """Build it from the ``http.*`` settings."""
        settings = TransportSettings.from_conf(conf)
        if not settings.verify:
            warnings.simplefilter("ignore", urllib3.exceptions.InsecureRequestWarning)
        if settings.proxy is not None and settings.proxy.socks:
            _need_socks(settings.proxy)
        return cls(settings)

    def make_session(self) -> requests.Session:
        """The session whose adapters carry the requests. It sends no headers of its own and keeps no cookies."""
        session = requests.Session()
        session.trust_env = False
        session.headers.clear()
        adapter = GuardedAdapter(self._current, self._settings)
        session.mount("http://", adapter)
        session.mount("https://", adapter)
        return session

    def attach(self, selector: BaseSelector, wake: Callable[[], None]) -> None:
        """Take the call that wakes the loop; there are no sockets to watch."""
        self._wake = wake

    def start(self, token: int, request: Request) -> None:
        """Hand a request to a thread."""
        deadlines = Deadlines(request.timeouts, time.monotonic())
        exchange = Exchange(token, request, self._settings, deadlines, self._budget)
        target = admit(request, self._settings)
        if isinstance(target, Failure):
            self._done.append((token, exchange.end(target, exchange.deadlines.started)))
            return
        job = self._in_flight[token] = Job(exchange, target)
        self._budget.enter(token)
        self._schedule(exchange, exchange.deadlines.started)
        if len(self._in_flight) > self._workers:
            self._hire()
        self._jobs.put(job)

    def step(self, ready: Sequence[tuple[SelectorKey, int]]) -> list[tuple[int, ProtocolOutput]]:
        """Collect what threads have finished, and shut what has passed a deadline."""
        while not self._finished.empty():
            job, output = self._finished.get()
            if self._in_flight.get(job.exchange.token) is job:
                self._conclude(job, output)
        self._expire(time.monotonic())
        done, self._done = self._done, []
        return done

    def deadline(self) -> float | None:
        """The earliest deadline of a request; now, when something is finished already."""
        return time.monotonic() if self._done else self._agenda.next(self._in_flight)

    def cancel(self, token: int, reason: str) -> None:
        """Break a request off; its thread ends when it finds out."""
        job = self._in_flight.get(token)
        if job is not None:
            self._abandon(job, job.exchange.give_up(reason, time.monotonic()))

    def close(self) -> None:
        """Shut all sockets and end all threads but those that cannot be woken."""
        self._closing = True
        for job in self._in_flight.values():
            job.shut(None)
        self._budget.wake()
        self._in_flight.clear()
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(_GRACE)
        self._session.close()
        for adapter in self._certified.values():
            adapter.close()

    def _hire(self) -> None:
        self._workers += 1
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=self._work, name="requests", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _conclude(self, job: Job, output: ProtocolOutput) -> None:
        del self._in_flight[job.exchange.token]
        self._budget.leave(job.exchange.token)
        self._done.append((job.exchange.token, output))

    def _abandon(self, job: Job, output: ProtocolOutput) -> None:
        """Answer for a job whose thread is left behind."""
        job.shut(None)
        self._budget.wake()
        self._workers -= 1
        self._conclude(job, output)

    def _schedule(self, exchange: Exchange, now: float) -> None:
        look = exchange.deadlines.next_look(now)
        if look is not None:
            self._agenda.add(look, exchange.token)

    def _expire(self, now: float) -> None:
        for token in self._agenda.due(now):
            job = self._in_flight.get(token)
            if job is None:
                continue
            if token in self._budget.waiting:
                job.exchange.deadlines.received(now)
            expiry = job.exchange.deadlines.expiry()
            if job.expired is not None:
                self._abandon(job, job.exchange.lose(job.expired, now))
            elif expiry is None or expiry[0] > now:
                self._schedule(job.exchange, now)
            else:
                job.shut(Failure(ProtocolStatus.TIMEOUT, expiry[1]))
                self._budget.wake()
                self._agenda.add(now + _GRACE, token)

    def _current(self) -> Job:
        job: Job = self._local.job
        return job

    def _work(self) -> None:
        """A worker thread: one job after the other, until told to end or left behind."""
        while (job := self._jobs.get()) is not None:
            self._local.job = job
            output = self._run(job)
            job.release()
            if self._closing:
                return
            self._finished.put((job, output))
            self._wake()
            if job.abandoned:
                return

    def _run(self, job: Job) -> ProtocolOutput:
        failure = self._try(job)
        while failure is not None and job.stale:
            failure = self._try(job)
        # A body that ends with its connection looks whole when we have shut it ourselves.
        return job.exchange.end(job.expired or failure, time.monotonic())

    def _try(self, job: Job) -> Failure | None:
        try:
            self._carry(job)
        except Exception as error:  # noqa: BLE001  # worker boundary: whatever ends a request is an outcome
            return failure_of(error)
        return None

    def _carry(self, job: Job) -> None:
        """Send the request, read the answer until its end or until it is enough."""
        exchange = job.exchange
        response = self._respond(job)
        try:
            while data := response.raw.read1(_READ, decode_content=False):
                exchange.deadlines.received(time.monotonic())
                self._budget.wait(exchange.token, len(data), lambda: job.wanted)
                exchange.deadlines.received(time.monotonic())
                if not exchange.body(data) or response.raw.length_remaining == 0:
                    break
        finally:
            response.close()

    def _respond(self, job: Job) -> requests.Response:
        """The answer up to its body; to a challenge that we have an answer to, the one after that."""
        prepared = self._prepared(job)
        response = self._send(job, prepared)
        answer = digest_answer(job.target.options.digest, response, job.target.url)
        if answer is None:
            return response
        response.close()
        prepared.headers["Authorization"] = answer
        return self._send(job, prepared)

    def _send(self, job: Job, prepared: requests.PreparedRequest) -> requests.Response:
        times = job.exchange.request.timeouts
        response: requests.Response = self._adapter(job).send(
            prepared,
            stream=True,
            timeout=(_limit(times.connect), _limit(times.total)),
            verify=self._settings.verify,
            proxies={"http": url, "https": url} if (url := self._proxy_url(job)) else {},
        )
        return response

    def _adapter(self, job: Job) -> Any:
        """The session's; one of its own for hosts that want to see a certificate."""
        certificate = job.target.options.certificate
        if certificate is None:
            return self._session.get_adapter(job.target.url)
        with self._certified_lock:
            if certificate not in self._certified:
                self._certified[certificate] = GuardedAdapter(self._current, self._settings, certificate)
            return self._certified[certificate]

    def _prepared(self, job: Job) -> requests.PreparedRequest:
        """The request as it is to be sent: not by requests' own preparation, which rewrites the URL."""
        prepared = requests.PreparedRequest()
        prepared.method = "GET"
        prepared.url = job.target.url
        if job.headers is None:
            job.headers = self._headers(job.target.options, job.exchange.request.headers)
        prepared.headers = job.headers.copy()
        if self._session.auth:
            prepared.prepare_auth(self._session.auth, job.target.url)
        return prepared

    def _headers(self, options: HostOptions, own: Headers) -> CaseInsensitiveDict[Any]:
        """The headers of a request, to be copied: adapters and auth may change them."""
        if own or self._settings.hosts.rotates:
            return _as_sent(self._settings.lines(options, own))
        last = self._last_headers
        if last is None or last[0] is not options:
            last = self._last_headers = options, _as_sent(self._settings.lines(options, own))
        return last[1]

    def _proxy_url(self, job: Job) -> str:
        proxy = self._settings.proxy
        return _with_credentials(proxy) if proxy is not None and job.target.proxied else ""


def _as_sent(headers: Headers) -> CaseInsensitiveDict[Any]:
    return CaseInsensitiveDict({name: value.encode() for name, value in headers})


def _limit(seconds: float) -> float | None:
    return seconds if seconds > 0 else None


def _with_credentials(proxy: Proxy) -> str:
    if not proxy.username:
        return proxy.url
    user = f"{quote(proxy.username, safe='')}:{quote(proxy.password, safe='')}"
    return proxy.url.replace("://", f"://{user}@", 1)


def _need_socks(proxy: Proxy) -> None:
    if not proxy.remote_names:
        # PySocks would resolve the name once more: to another address, if the name's owner likes.
        raise PluginError("a SOCKS proxy with protocol.http=requests needs http.proxy.resolve=remote; or use curl")
    if importlib.util.find_spec("socks") is None:
        raise PluginError("http.proxy.type=SOCKS with protocol.http=requests needs PySocks: pip install PySocks")


def _nobody() -> None:
    """Nobody to wake, before a loop has come."""
