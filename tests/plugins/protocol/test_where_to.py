"""Where requests may go: no spelling, scheme, proxy or name leads a transport to an address that is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from nutchpy.conf.layers import Value
from nutchpy.core.addresses import GROUP_NAMES
from nutchpy.plugins.protocol.curl import CurlTransport
from nutchpy.plugins.protocol.requests import RequestsTransport
from nutchpy.testing.client import Client, PlainRequest
from nutchpy.testing.raw_server import RawServer, Send
from nutchpy.testing.transports import MakeTransport, transport_conf

TRANSPORTS: dict[str, MakeTransport] = {"curl": CurlTransport.from_conf, "requests": RequestsTransport.from_conf}
REFUSE: Mapping[str, Value] = {"http.filter.ipaddress.exclude": list(GROUP_NAMES)}
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"

V4 = (
    *("127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7F.1", "0x7f.0x0.0x0.0x1"),
    *("0177.0.0.1", "0177.1", "017700000001", "00000177.0.0.1", "127.0.0.1.", "127.1.", "0", "0x0", "0.0.0.0"),
    *("①②⑦.0.0.1", "127。0。0。1", "127．0．0．1", "１２７.0.0.1", "%31%32%37.0.0.1", "127%2e0%2e0%2e1"),
    "127.0.0.1\u00ad",
)
CLOUD = ("169.254.169.254", "0xa9fea9fe", "2852039166", "0251.0376.0251.0376", "[::ffff:a9fe:a9fe]", "[fd00:ec2::254]")
V6 = (
    *("[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:0:127.0.0.1]"),
    *("[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[fe80::1]"),
)
OTHERS_IN_FRONT = ("me@127.0.0.1", "8.8.8.8@127.0.0.1", "8.8.8.8:80@127.0.0.1", "8.8.8.8%40@127.0.0.1", "a:b@c:d@[::1]")
NO_HOSTS = (
    "[fe80::1%25lo]",
    "[::1%25lo]",
    "[::1%lo]",
    "256.0.0.1",
    "127.0.0.1.1",
    "4294967296",
    "[::1].x",
    "[127.0.0.1]",
)
LOCALHOST = ("localhost", "LOCALHOST", "localhost.", "foo.localhost", "loc\u00adalhost")


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with RawServer([Send(OK)]) as running:
        yield running


@pytest.fixture(scope="module")
def proxy() -> Iterator[RawServer]:
    with RawServer([Send(OK)]) as running:
        yield running


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("by", ["nothing", "local", "remote"])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_no_spelling_of_an_address(transport: str, by: str, scheme: str, server: RawServer, proxy: RawServer) -> None:
    settings = {"http.proxy.host": "127.0.0.1", "http.proxy.port": proxy.port, "http.proxy.resolve": by}
    with Client(TRANSPORTS[transport](transport_conf({**REFUSE, **(settings if by != "nothing" else {})}))) as client:

        def status(host: str) -> str:
            return client.fetch(PlainRequest(f"{scheme}://{host}:{server.port}/")).protocol_status

        refused = {host: status(host) for host in (*V4, *CLOUD, *V6, *OTHERS_IN_FRONT)}
        assert set(refused.values()) == {"address_refused"}, refused
        not_urls = {host: status(host) for host in NO_HOSTS}
        assert set(not_urls.values()) == {"proto_not_found"}, not_urls
        names = {host: status(host) for host in LOCALHOST}
        assert set(names.values()) <= {"address_refused", "dns_failed"}, names
    assert (server.accepted, proxy.accepted) == (0, 0)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_looks_like_a_refused_address_but_is_none(transport: str, server: RawServer) -> None:
    """The host ends at the first slash, backslash, question mark or number sign."""
    settings = {"http.filter.ipaddress.exclude": [*(name for name in GROUP_NAMES if name != "loopback"), "127.0.0.9"]}
    here = f"127.0.0.1:{server.port}"
    with Client(TRANSPORTS[transport](transport_conf(settings))) as client:
        for tail in ("/@127.0.0.9/", "\\@127.0.0.9/", "?@127.0.0.9/", "#@127.0.0.9/", "/http://127.0.0.9/"):
            output = client.fetch(PlainRequest(f"http://{here}{tail}"))
            assert (output.protocol_status, output.ip) == ("success", "127.0.0.1"), tail
        for front in (f"http://{here}@127.0.0.9/", f"http://{here}%2f@127.0.0.9/"):
            assert client.fetch(PlainRequest(front)).protocol_status == "address_refused", front


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("kept", [False, True])
def test_a_name_that_changes_its_address_afterwards(transport: str, kept: bool) -> None:
    """Rebinding: the address that is connected to is judged, each time."""
    answer = OK if kept else OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    only = {"http.filter.ipaddress.include": ["127.0.0.1"]}
    with RawServer([Send(answer)]) as server, Client(TRANSPORTS[transport](transport_conf(only))) as client:
        url = f"http://rebinding.invalid:{server.port}/"
        assert client.fetch(PlainRequest(url, pinned_ips=("127.0.0.1",))).protocol_status == "success"
        for ips in (("127.0.0.2",), ("::1", "169.254.169.254"), ("0.0.0.0",)):
            output = client.fetch(PlainRequest(url, pinned_ips=ips))
            assert output.protocol_status == "address_refused", ips
            assert output.ip == ips[-1]
        assert client.fetch(PlainRequest(url, pinned_ips=("127.0.0.2", "127.0.0.1"))).protocol_status == "success"
