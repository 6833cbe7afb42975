"""The requests transport with adapters and auth of one's own."""

from __future__ import annotations

import base64
import threading
from typing import Any

import pytest
import requests
import requests.adapters

from nutchpy.core.errors import PluginError
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.plugins.protocol.requests import RequestsTransport
from nutchpy.plugins.protocol.requests_adapter import GuardedAdapter
from nutchpy.testing.client import Client, PlainRequest, PlainTimeouts
from nutchpy.testing.raw_server import RawServer, Send
from nutchpy.testing.transports import transport_conf

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"


class WithAuth(RequestsTransport):
    def make_session(self) -> requests.Session:
        session = super().make_session()
        session.auth = ("me", "secret")
        return session


class StuckAdapter(requests.adapters.BaseAdapter):
    """Blocks in a way that no socket can break off, as a name look-up may."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()

    def send(self, *arguments: Any, **options: Any) -> requests.Response:
        self.released.wait(20)
        raise requests.exceptions.ConnectionError("late")

    def close(self) -> None:
        self.released.set()


class WithStuckAdapter(RequestsTransport):
    def make_session(self) -> requests.Session:
        session = super().make_session()
        session.mount("http://stuck.invalid", StuckAdapter())
        return session


def test_auth_of_a_session_is_sent() -> None:
    with RawServer([Send(OK)]) as server, Client(WithAuth.from_conf(transport_conf())) as client:
        assert client.fetch(PlainRequest(server.url())).content == b"body"
        assert b"Basic " + base64.b64encode(b"me:secret") in server.requests[0]


class WithLookingAdapter(RequestsTransport):
    """Has an adapter that looks at answers before their bodies are read."""

    def make_session(self) -> requests.Session:
        session = super().make_session()
        session.mount("http://", LookingAdapter(self._current, self._settings))
        return session


class LookingAdapter(GuardedAdapter):
    seen: list[tuple[int, str, dict[str, str], str]]

    def build_response(self, req: requests.PreparedRequest, resp: Any) -> requests.Response:
        answer = super().build_response(req, resp)
        type(self).seen = [(answer.status_code, answer.headers["x-a"], answer.cookies.get_dict(), answer.url)]
        return answer


def test_an_adapter_of_ones_own_sees_what_requests_would_show_it() -> None:
    answer = b"HTTP/1.1 200 OK\r\nX-A: b\r\nSet-Cookie: c=d\r\nContent-Length: 4\r\n\r\nbody"
    with RawServer([Send(answer)]) as server, Client(WithLookingAdapter.from_conf(transport_conf())) as client:
        assert client.fetch(PlainRequest(server.url("/x"))).content == b"body"
        assert LookingAdapter.seen == [(200, "b", {"c": "d"}, server.url("/x"))]


def test_a_thread_that_cannot_be_woken_is_left_behind_and_replaced() -> None:
    transport = WithStuckAdapter.from_conf(transport_conf())
    with RawServer([Send(OK)]) as server, Client(transport) as client:
        stuck = PlainRequest("http://stuck.invalid/", timeouts=PlainTimeouts(total=0.2))
        tokens = [client.start(stuck) for _ in range(3)]
        assert client.fetch(PlainRequest(server.url())).content == b"body"
        outputs = client.wait(tokens)
        assert {output.protocol_status for output in outputs.values()} == {ProtocolStatus.TIMEOUT}
        assert client.fetch(PlainRequest(server.url())).content == b"body"
        adapter = transport._session.get_adapter("http://stuck.invalid")
        adapter.close()
        assert [client.step(0.05) for _ in range(4)] == [[]] * 4, "a late answer is nobody's"


def test_socks_proxy_needs_its_library_and_remote_names() -> None:
    socks = {"http.proxy.host": "127.0.0.1", "http.proxy.type": "SOCKS"}
    with pytest.raises(PluginError, match=r"http\.proxy\.resolve=remote"):
        RequestsTransport.from_conf(transport_conf(socks))
