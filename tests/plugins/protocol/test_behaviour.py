"""What transports do around a single answer: what they send, which addresses they keep from, how they break off."""

from __future__ import annotations

import base64
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from nutchpy.conf.layers import Value
from nutchpy.core.addresses import GROUP_NAMES
from nutchpy.core.content import ProtocolOutput
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.plugins.protocol.curl import CurlTransport
from nutchpy.plugins.protocol.requests import RequestsTransport
from nutchpy.testing.client import Client, PlainRequest, PlainTimeouts
from nutchpy.testing.raw_server import Action, Again, Drip, RawServer, Script, Send, Wait
from nutchpy.testing.transports import MakeTransport, transport_conf

TRANSPORTS: dict[str, MakeTransport] = {"curl": CurlTransport.from_conf, "requests": RequestsTransport.from_conf}
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"
REFUSE_PRIVATE: Mapping[str, Value] = {"http.filter.ipaddress.exclude": list(GROUP_NAMES)}

MakeClient = Callable[..., Client]
Serve = Callable[..., RawServer]


@pytest.fixture(params=sorted(TRANSPORTS))
def client(request: pytest.FixtureRequest) -> Iterator[MakeClient]:
    with ExitStack() as stack:

        def make(settings: Mapping[str, Value] | None = None) -> Client:
            return stack.enter_context(Client(TRANSPORTS[request.param](transport_conf(settings))))

        yield make


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:

        def make(script: Script, tls: ssl.SSLContext | None = None) -> RawServer:
            return stack.enter_context(RawServer(script, tls))

        yield make


def head(server: RawServer, index: int = -1) -> tuple[str, dict[str, str]]:
    """Request line and headers (lower-case names) of a request the server got."""
    line, *rest = server.requests[index].decode("utf-8").strip().split("\r\n")
    pairs = (field.partition(":") for field in rest)
    return line, {name.lower(): value.strip() for name, _, value in pairs}


def test_what_is_sent(client: MakeClient, serve: Serve) -> None:
    settings = {
        "http.agent.version": "2",
        "http.agent.description": "a test",
        "http.agent.email": "me@example.org",
        "http.accept.charset": "",
    }
    server = serve([Send(OK)])
    client(settings).fetch(PlainRequest(server.url("/a?b")))
    line, headers = head(server)
    assert line == "GET /a?b HTTP/1.1"
    assert headers.pop("host") == f"127.0.0.1:{server.port}"
    assert headers == {
        "user-agent": "testbot/2 (a test; me@example.org)",
        "accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "accept-language": "en-us,en-gb,en;q=0.7,*;q=0.3",
        "accept-encoding": "gzip, deflate, br, zstd",
    }


def test_own_headers_replace_defaults_and_cannot_smuggle(client: MakeClient, serve: Serve) -> None:
    server = serve([Send(OK)])
    own = (("ACCEPT", "text/plain"), ("If-None-Match", '"x"'), ("Cookie", "a=ü\r\nEvil: 1"))
    client().fetch(PlainRequest(server.url(), own))
    _, headers = head(server)
    assert (headers["accept"], headers["if-none-match"], headers["cookie"]) == ("text/plain", '"x"', "a=üEvil: 1")
    assert "evil" not in headers


def test_no_header_of_the_library_stays_when_ours_is_empty(client: MakeClient, serve: Serve) -> None:
    server = serve([Send(OK)])
    client({"http.accept": "", "http.accept.language": "", "http.accept.charset": ""}).fetch(PlainRequest(server.url()))
    assert sorted(head(server)[1]) == ["accept-encoding", "host", "user-agent"]


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("", "/"),
        ("?171", "/?171"),
        ("/a#fragment", "/a"),
        ("//a//b", "//a//b"),
        ("/a/../ä b", "/%C3%A4%20b"),
        ("/%7Ea%2Fb?x=%41", "/%7Ea%2Fb?x=%41"),
        ("/a;b?c=http://d/&e=[f]", "/a;b?c=http://d/&e=[f]"),
    ],
)
def test_request_target_is_the_urls(client: MakeClient, serve: Serve, path: str, target: str) -> None:
    server = serve([Send(OK)])
    assert client().fetch(PlainRequest(server.url("") + path)).protocol_status is ProtocolStatus.SUCCESS
    assert head(server)[0] == f"GET {target} HTTP/1.1"


def test_credentials_in_a_url_are_not_sent(client: MakeClient, serve: Serve) -> None:
    server = serve([Send(OK)])
    output = client().fetch(PlainRequest(server.url("/x").replace("//", "//me:secret@")))
    line, headers = head(server)
    assert (output.content, line) == (b"body", "GET /x HTTP/1.1")
    assert "authorization" not in headers


def test_output_tells_url_address_version_bytes_and_times(client: MakeClient, serve: Serve) -> None:
    server = serve([Wait(0.05), Send(OK)])
    output = client().fetch(PlainRequest(server.url("/x")))
    assert (output.url, output.ip, output.http_version) == (server.url("/x"), "127.0.0.1", "1.1")
    assert output.wire_bytes == 4
    assert 50 <= output.timings_ms["first_byte"] <= output.elapsed_ms < 2000
    assert output.timings_ms["connect"] <= output.timings_ms["first_byte"]


def test_each_answer_has_its_own_end_however_many_are_worked_on_at_once(client: MakeClient, serve: Serve) -> None:
    server = serve([Wait(0.02), Send(OK)])
    before = time.monotonic()
    fetcher = client()
    tokens = [fetcher.start(PlainRequest(server.url(f"/{n}"))) for n in range(4)]
    early = dict(fetcher.step(0.001))
    time.sleep(0.2)
    answers = {**early, **fetcher.wait([token for token in tokens if token not in early])}
    ends = [output.ended for output in answers.values()]
    assert len(set(ends)) == 4
    assert all(end is not None and before + 0.02 < end < time.monotonic() for end in ends)


def test_heads_are_kept_as_they_were_without_secrets(client: MakeClient, serve: Serve) -> None:
    answer = b"HTTP/1.1 200 Fine  indeed\r\nX-A:  1\r\nx-a: 2\r\nContent-Length: 4\r\n\r\n"
    server = serve([Send(b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + answer + b"body")])
    headers = [("Cookie", "session=secret1"), ("Authorization", "Basic secret2"), ("X-Kept", "yes")]
    both = client({"store.http.request": True, "store.http.headers": True})
    output = both.fetch(PlainRequest(server.url("/x?y"), headers))
    assert output.response_head == answer
    assert output.request_head is not None
    assert b"secret1" in server.requests[0]
    assert b"secret" not in output.request_head
    sent = [line for line in server.requests[0].split(b"\r\n") if b"secret" not in line]
    kept = [line for line in output.request_head.split(b"\r\n") if b"(not kept)" not in line]
    assert kept == sent
    neither = client({"store.http.headers": False}).fetch(PlainRequest(server.url()))
    assert (neither.request_head, neither.response_head) == (None, None)


def test_connections_are_reused_and_nothing_carries_over(client: MakeClient, serve: Serve) -> None:
    gone = b"HTTP/1.1 404 No\r\nA: b\r\nContent-Length: 2\r\n\r\nno"
    server = serve(lambda head: [Send(gone if b"/gone" in head else OK), Again()])
    fetcher = client()
    first = fetcher.fetch(PlainRequest(server.url("/gone"), (("Cookie", "x=1"),)))
    second = fetcher.fetch(PlainRequest(server.url("/ok")))
    assert (first.http_status, first.content) == (404, b"no")
    assert (second.http_status, second.content, list(second.headers)) == (200, b"body", [("Content-Length", "4")])
    assert "cookie" not in head(server)[1]
    assert server.accepted == 1


def test_connections_of_many_hosts_are_kept(client: MakeClient, serve: Serve) -> None:
    server = serve([Send(OK), Again()])
    fetcher = client({"fetcher.threads.fetch": 1})
    for number in [*range(20), *range(20)]:
        url = f"http://h{number}.invalid:{server.port}/"
        assert fetcher.fetch(PlainRequest(url, pinned_ips=("127.0.0.1",))).content == b"body"
    assert server.accepted == 20


def test_a_kept_connection_is_broken_off_in_time_and_not_kept_then(client: MakeClient, serve: Serve) -> None:
    server = serve(lambda head: [Wait(5)] if b"/late" in head else [Send(OK), Again()])
    fetcher = client()
    hurried = PlainTimeouts(first_byte=0.2)
    assert fetcher.fetch(PlainRequest(server.url("/"), timeouts=hurried)).content == b"body"
    assert fetcher.fetch(PlainRequest(server.url("/late"), timeouts=hurried)).protocol_status is ProtocolStatus.TIMEOUT
    assert fetcher.fetch(PlainRequest(server.url("/"), timeouts=hurried)).content == b"body"
    assert server.accepted == 2


def test_a_kept_connection_that_died_is_replaced(client: MakeClient, serve: Serve) -> None:
    server = serve([Send(OK)])
    fetcher = client()
    for _ in range(3):
        assert fetcher.fetch(PlainRequest(server.url())).content == b"body"
    assert server.accepted == 3


def test_a_kept_connection_that_dies_under_the_request_is_replaced(client: MakeClient, serve: Serve) -> None:
    def script(request: bytes) -> list[Action]:
        return [Send(OK), Again()] if b"/first" in request or b"/again" in request else []

    server = serve(script)
    fetcher = client()
    assert fetcher.fetch(PlainRequest(server.url("/first"))).content == b"body"
    lost = fetcher.fetch(PlainRequest(server.url("/dies")))
    assert lost.protocol_status is ProtocolStatus.EXCEPTION
    assert fetcher.fetch(PlainRequest(server.url("/again"))).content == b"body"
    assert [request.split()[1] for request in server.requests] == [b"/first", b"/dies", b"/dies", b"/again"]


def test_cookies_are_not_kept(client: MakeClient, serve: Serve) -> None:
    server = serve([Send(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n"), Again()])
    fetcher = client()
    fetcher.fetch(PlainRequest(server.url()))
    fetcher.fetch(PlainRequest(server.url()))
    assert "cookie" not in head(server)[1]


def test_redirects_are_not_followed_nor_their_bodies_read_beyond_the_limit(client: MakeClient, serve: Serve) -> None:
    server = serve([Send(b"HTTP/1.1 302 Found\r\nLocation: http://[bad\r\n\r\n"), Send(bytes(65536), -1)])
    output = client().fetch(PlainRequest(server.url(), content_limit=1000))
    assert (output.protocol_status, output.truncated) == (ProtocolStatus.TEMP_MOVED, "length")
    assert len(server.requests) == 1


def test_a_handle_that_is_used_again_has_the_addresses_it_is_given(client: MakeClient, serve: Serve) -> None:
    server = serve([Send(OK)])
    fetcher = client()

    def fetch(host: str, *ips: str) -> ProtocolOutput:
        return fetcher.fetch(PlainRequest(f"http://{host}:{server.port}/", pinned_ips=ips))

    assert fetch("www.pinned.invalid", "127.0.0.1").content == b"body"
    time.sleep(1.1)  # longer than libcurl keeps what it was given
    assert fetch("www.pinned.invalid", "127.0.0.1").content == b"body"
    assert fetch("127.0.0.1").content == b"body"
    assert fetch("www.pinned.invalid", "127.0.0.1").content == b"body"
    assert fetch("www.pinned.invalid", "127.0.0.9").protocol_status is ProtocolStatus.CONNECT_FAILED


def test_names_go_to_the_pinned_address(client: MakeClient, serve: Serve) -> None:
    server = serve([Send(OK), Again()])
    url = f"http://www.pinned.invalid:{server.port}/"
    output = client().fetch(PlainRequest(url, pinned_ips=("127.0.0.1",)))
    assert (output.content, output.ip) == (b"body", "127.0.0.1")
    assert head(server)[1]["host"] == f"www.pinned.invalid:{server.port}"


def test_the_next_address_is_tried(client: MakeClient, serve: Serve) -> None:
    server = serve([Send(OK)])
    fetcher = client({"http.filter.ipaddress.exclude": ["127.0.0.9"]})
    url = f"http://pinned.invalid:{server.port}/"
    output = fetcher.fetch(PlainRequest(url, pinned_ips=("127.0.0.9", "127.0.0.1")))
    assert (output.content, output.ip) == (b"body", "127.0.0.1")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "0x7f000001", "[::ffff:127.0.0.1]", "localhost", "0.0.0.0", "①②⑦.0.0.1", "[::1]"]
)
def test_loopback_in_any_spelling_is_refused(client: MakeClient, serve: Serve, host: str) -> None:
    server = serve([Send(OK)])
    output = client(REFUSE_PRIVATE).fetch(PlainRequest(f"http://{host}:{server.port}/"))
    assert output.protocol_status is ProtocolStatus.ADDRESS_REFUSED
    assert "is not to be connected to" in output.message
    assert server.accepted == 0


def test_a_name_that_resolves_to_a_private_address_is_refused(client: MakeClient, serve: Serve) -> None:
    server = serve([Send(OK)])
    request = PlainRequest(f"http://public.invalid:{server.port}/", pinned_ips=("127.0.0.1",))
    output = client(REFUSE_PRIVATE).fetch(request)
    assert (output.protocol_status, output.ip) == (ProtocolStatus.ADDRESS_REFUSED, "127.0.0.1")
    assert output.message == "127.0.0.1 is not to be connected to (loopback)"
    assert server.accepted == 0


def test_only_included_addresses_are_connected_to(client: MakeClient, serve: Serve) -> None:
    server = serve([Send(OK), Again()])
    fetcher = client({**REFUSE_PRIVATE, "http.filter.ipaddress.include": ["127.0.0.1"]})
    assert fetcher.fetch(PlainRequest(server.url())).content == b"body"
    refused = fetcher.fetch(PlainRequest("http://192.0.2.1/"))
    assert refused.message == "192.0.2.1 is not to be connected to (not included)"


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/", "nonsense", "http://"]
)
def test_other_schemes_are_not_requested(client: MakeClient, url: str) -> None:
    assert client().fetch(PlainRequest(url)).protocol_status is ProtocolStatus.PROTO_NOT_FOUND


def test_names_that_do_not_exist(client: MakeClient) -> None:
    output = client().fetch(PlainRequest("http://no-such-host.invalid/"))
    assert output.protocol_status is ProtocolStatus.DNS_FAILED


def test_nobody_listens(client: MakeClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    output = client().fetch(PlainRequest(f"http://127.0.0.1:{port}/"))
    assert (output.protocol_status, output.http_status) == (ProtocolStatus.CONNECT_FAILED, None)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux drops connection requests when the backlog is full")
def test_connect_deadline(client: MakeClient) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, ExitStack() as stack:
        port = listener.getsockname()[1]
        for _ in range(3):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        start = time.monotonic()
        output = client().fetch(PlainRequest(f"http://127.0.0.1:{port}/", timeouts=PlainTimeouts(connect=0.3)))
    assert output.protocol_status is ProtocolStatus.TIMEOUT
    assert 0.2 < time.monotonic() - start < 3


def test_deadlines_of_zero_are_none(client: MakeClient, serve: Serve) -> None:
    server = serve([Wait(0.2), Send(OK)])
    assert client().fetch(PlainRequest(server.url(), timeouts=PlainTimeouts(0, 0, 0, 0))).content == b"body"


def test_total_deadline_is_kept_to(client: MakeClient, serve: Serve) -> None:
    server = serve([Send(b"HTTP/1.1 200 OK\r\n\r\n"), Send(b"x" * 1000), Wait(30)])
    start = time.monotonic()
    output = client().fetch(PlainRequest(server.url(), timeouts=PlainTimeouts(total=0.5)))
    assert (output.protocol_status, output.content) == (ProtocolStatus.TIMEOUT, b"")
    assert 0.4 < time.monotonic() - start < 3
    assert "0.5 s" in output.message


def test_slow_ones_do_not_hold_up_others(client: MakeClient, serve: Serve) -> None:
    server = serve(lambda head: [Wait(10)] if b"/slow" in head else [Send(OK)])
    fetcher = client({"fetcher.threads.fetch": 30})
    slow = [fetcher.start(PlainRequest(server.url("/slow"))) for _ in range(10)]
    start = time.monotonic()
    answers = fetcher.fetch_all([PlainRequest(server.url(f"/{number}")) for number in range(20)])
    assert time.monotonic() - start < 3
    assert {answer.content for answer in answers} == {b"body"}
    for token in slow:
        fetcher.transport.cancel(token, "enough")
    assert {output.message for output in fetcher.wait(slow).values()} == {"enough"}


def test_bodies_that_find_no_room_wait_for_the_oldest(client: MakeClient, serve: Serve) -> None:
    def script(request: bytes) -> list[Action]:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n"
        if b"/oldest" in request:
            return [Send(head), Drip(bytes(400_000), 0.1, 50_000)]
        return [Wait(0.2), Send(head + bytes(400_000))]

    server, it = serve(script), client({"fetcher.bodies.memory": 400_000})
    patience = PlainTimeouts(idle=0.5)
    oldest = it.start(PlainRequest(server.url("/oldest"), timeouts=patience))
    others = [it.start(PlainRequest(server.url(f"/{n}"), timeouts=patience)) for n in range(4)]
    order: list[int] = []
    give_up = time.monotonic() + 20
    while len(order) < 5 and time.monotonic() < give_up:
        for token, output in it.step():
            assert (output.protocol_status, len(output.content), output.truncated) == ("success", 400_000, None)
            order.append(token)
    assert order[0] == oldest, "the others had all been sent long before"
    assert sorted(order[1:]) == others


def test_a_body_larger_than_all_may_be_is_cut(client: MakeClient, serve: Serve) -> None:
    server = serve([Send(b"HTTP/1.1 200 OK\r\n\r\n"), Send(bytes(65536), -1)])
    output = client({"fetcher.bodies.memory": 500_000}).fetch(PlainRequest(server.url(), content_limit=-1))
    assert (output.protocol_status, output.truncated) == ("success", "length")
    assert 400_000 < len(output.content) < 600_000


def test_cancelled_requests_complete_once_as_retry(client: MakeClient, serve: Serve) -> None:
    server = serve([Send(b"HTTP/1.1 200 OK\r\n\r\npart"), Wait(30)])
    fetcher = client()
    token = fetcher.start(PlainRequest(server.url()))
    for _ in range(5):
        assert fetcher.step(0.05) == []
    fetcher.transport.cancel(token, "shutting down")
    fetcher.transport.cancel(token, "twice")
    fetcher.transport.cancel(12345, "unknown")
    output = fetcher.wait([token])[token]
    assert (output.protocol_status, output.message) == (ProtocolStatus.RETRY, "shutting down")
    assert (output.http_status, output.content) == (None, b"")
    for _ in range(5):
        assert fetcher.step(0.05) == []


def test_environment_proxies_are_ignored(client: MakeClient, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert client().fetch(PlainRequest(serve([Send(OK)]).url())).content == b"body"


def proxied(proxy: RawServer, **more: Value) -> dict[str, Value]:
    return {**REFUSE_PRIVATE, "http.proxy.host": "127.0.0.1", "http.proxy.port": proxy.port, **more}


def test_proxy_is_exempt_and_gets_the_whole_url(client: MakeClient, serve: Serve) -> None:
    proxy = serve([Send(OK)])
    settings = proxied(proxy) | {"http.proxy.username": "me", "http.proxy.password": "p:@ss"}
    output = client(settings).fetch(PlainRequest("http://far.invalid/a?b#c", pinned_ips=("8.8.8.8",)))
    line, headers = head(proxy)
    assert (output.content, line) == (b"body", "GET http://far.invalid/a?b HTTP/1.1")
    assert headers["host"] == "far.invalid"
    assert headers["proxy-authorization"] == "Basic " + base64.b64encode(b"me:p:@ss").decode()


def test_proxy_does_not_hide_private_addresses(client: MakeClient, serve: Serve) -> None:
    proxy = serve([Send(OK)])
    fetcher = client(proxied(proxy))
    literal = fetcher.fetch(PlainRequest("http://10.0.0.1/"))
    named = fetcher.fetch(PlainRequest("http://far.invalid/", pinned_ips=("8.8.8.8", "10.0.0.1")))
    unresolved = fetcher.fetch(PlainRequest("http://far.invalid/"))
    assert literal.message == named.message == "10.0.0.1 is not to be connected to (private)"
    assert unresolved.protocol_status is ProtocolStatus.DNS_FAILED
    assert proxy.accepted == 0


def test_proxy_that_is_trusted_with_names(client: MakeClient, serve: Serve) -> None:
    proxy = serve([Send(OK)])
    fetcher = client(proxied(proxy) | {"http.proxy.resolve": "remote"})
    assert fetcher.fetch(PlainRequest("http://far.invalid/")).content == b"body"
    assert fetcher.fetch(PlainRequest("http://10.0.0.1/")).protocol_status is ProtocolStatus.ADDRESS_REFUSED


def test_proxy_exceptions(client: MakeClient, serve: Serve) -> None:
    server, proxy = serve([Send(OK)]), serve([Send(OK)])
    settings = proxied(proxy) | {"http.proxy.exception.list": ["127.*"], "http.filter.ipaddress.exclude": []}
    assert client(settings).fetch(PlainRequest(server.url())).content == b"body"
    assert (server.accepted, proxy.accepted) == (1, 0)


def test_proxy_that_is_down(client: MakeClient, serve: Serve) -> None:
    proxy = serve([])
    proxy.close()
    output = client(proxied(proxy)).fetch(PlainRequest("http://far.invalid/", pinned_ips=("8.8.8.8",)))
    assert output.protocol_status is ProtocolStatus.CONNECT_FAILED


def test_tunnel_that_the_proxy_denies(client: MakeClient, serve: Serve) -> None:
    proxy = serve([Send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")])
    output = client(proxied(proxy)).fetch(PlainRequest("https://far.invalid/", pinned_ips=("8.8.8.8",)))
    assert head(proxy)[0].startswith("CONNECT far.invalid:443 HTTP/1.")
    assert output.protocol_status is ProtocolStatus.CONNECT_FAILED


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    folder: Path = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"]
    try:
        subprocess.run(
            [*command, "-keyout", "key.pem", "-out", "cert.pem", "-addext", "subjectAltName=IP:127.0.0.1"],
            cwd=folder,
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no openssl command to make a certificate with")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


def test_unknown_certificate_is_refused(client: MakeClient, serve: Serve, certificate: ssl.SSLContext) -> None:
    server = serve([Send(OK)], certificate)
    output = client().fetch(PlainRequest(server.url()))
    assert (output.protocol_status, output.http_status) == (ProtocolStatus.TLS_FAILED, None)
    assert "certificate" in output.message
    assert server.requests == []


def test_certificates_need_not_be_checked(client: MakeClient, serve: Serve, certificate: ssl.SSLContext) -> None:
    server = serve([Send(OK), Again()], certificate)
    fetcher = client({"http.tls.certificates.check": False})
    outputs = [fetcher.fetch(PlainRequest(server.url())) for _ in range(2)]
    assert [output.content for output in outputs] == [b"body", b"body"]
    assert "tls" in outputs[0].timings_ms
    assert server.accepted == 1


def test_deadline_in_a_body_over_tls(client: MakeClient, serve: Serve, certificate: ssl.SSLContext) -> None:
    server = serve([Send(b"HTTP/1.1 200 OK\r\n\r\npart"), Wait(30)], certificate)
    settings = {"http.tls.certificates.check": False, "http.partial.truncated": True}
    output = client(settings).fetch(PlainRequest(server.url(), timeouts=PlainTimeouts(idle=0.3)))
    assert (output.content, output.truncated) == (b"part", "time")


def test_server_that_does_not_speak_tls(client: MakeClient, serve: Serve) -> None:
    with RawServer([Send(b"HTTP/1.1 400 Bad Request\r\n\r\n")], read_request=False) as server:
        output = client().fetch(PlainRequest(server.url().replace("http:", "https:")))
    assert output.protocol_status is ProtocolStatus.TLS_FAILED


def test_silent_tls_handshake(client: MakeClient) -> None:
    with RawServer([Wait(30)], read_request=False) as server:
        url = server.url().replace("http:", "https:")
        start = time.monotonic()
        output = client().fetch(PlainRequest(url, timeouts=PlainTimeouts(connect=0.3)))
    assert output.protocol_status is ProtocolStatus.TIMEOUT
    assert time.monotonic() - start < 3


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc to count descriptors in")
@pytest.mark.parametrize("name", TRANSPORTS)
def test_nothing_is_left_behind(name: str) -> None:
    """Descriptors and threads are as before, after answers and with requests in flight at the end."""

    def script(request: bytes) -> list[Action]:
        return [Wait(30)] if b"/hang" in request else [Send(OK)] if b"/close" in request else [Send(OK), Again()]

    with RawServer(script) as server:
        before = len(os.listdir("/proc/self/fd")), threading.active_count()  # noqa: PTH208
        with Client(TRANSPORTS[name](transport_conf())) as fetcher:
            paths = [f"/{'close' if number % 2 else 'keep'}" for number in range(40)]
            answers = fetcher.fetch_all([PlainRequest(server.url(path)) for path in paths])
            assert {answer.content for answer in answers} == {b"body"}
            for _ in range(5):
                fetcher.start(PlainRequest(server.url("/hang")))
            fetcher.step(0.1)
    after = len(os.listdir("/proc/self/fd")), threading.active_count()  # noqa: PTH208
    assert after[0] <= before[0] - 1  # the server's listener is gone too
    assert after[1] <= before[1]
