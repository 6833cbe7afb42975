"""What each host gets besides, from settings; by both transports, over real connections."""

from __future__ import annotations

import base64
import hashlib
import logging
import re
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from nutchpy.conf.layers import Conf, load
from nutchpy.core.errors import ConfigError
from nutchpy.plugins.protocol.curl import CurlTransport
from nutchpy.plugins.protocol.hosts import Hosts, secret
from nutchpy.plugins.protocol.requests import RequestsTransport
from nutchpy.plugins.protocol.settings import TransportSettings
from nutchpy.testing.client import Client, PlainRequest
from nutchpy.testing.raw_server import Action, Again, RawServer, Reset, Send, Wait
from nutchpy.testing.transports import MakeTransport

TRANSPORTS: dict[str, MakeTransport] = {"curl": CurlTransport.from_conf, "requests": RequestsTransport.from_conf}
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"
OTHER = "other.invalid"

MakeConf = Callable[..., Conf]


@pytest.fixture
def conf(tmp_path: Path) -> MakeConf:
    def make(site: str = "", *overrides: str, **files: str) -> Conf:
        (tmp_path / "nutchpy-site.toml").write_text(site)
        for name, text in files.items():
            (tmp_path / f"{name}.txt").write_text(text)
        base = ["http.agent.name=bot", "http.filter.ipaddress.exclude=", *overrides]
        return load(tmp_path, None, {}, base)

    return make


@pytest.fixture(params=sorted(TRANSPORTS))
def client(request: pytest.FixtureRequest) -> Iterator[Callable[[Conf], Client]]:
    with ExitStack() as stack:
        yield lambda conf: stack.enter_context(Client(TRANSPORTS[request.param](conf)))


def headers(head: bytes) -> dict[str, str]:
    pairs = (line.partition(":") for line in head.decode().split("\r\n")[1:])
    return {name.lower(): value.strip() for name, _, value in pairs}


def test_headers_go_to_their_host_alone(
    conf: MakeConf, client: Callable[[Conf], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", "s3cret")
    site = """
        [http]
        "request.headers" = ["DNT: 1"]
        [host."127.0.0.1"]
        "http.request.headers" = ["X-Key: env:SHOP_KEY", "Accept-Language: de"]
        "http.auth.scheme" = "basic"
        "http.auth.username" = "me"
        "http.auth.password" = "env:SHOP_KEY"
    """
    with RawServer([Send(OK)]) as server:
        fetcher = client(conf(site, "store.http.request=true"))
        output = fetcher.fetch(PlainRequest(server.url()))
        fetcher.fetch(PlainRequest(f"http://{OTHER}:{server.port}/", pinned_ips=("127.0.0.1",)))
    mine, others = (headers(head) for head in server.requests)
    assert (mine["x-key"], mine["accept-language"]) == ("s3cret", "de")
    assert mine["authorization"] == "Basic " + base64.b64encode(b"me:s3cret").decode()
    assert "dnt" not in mine, "the host's table stands in place of the setting"
    assert (others["dnt"], others["accept-language"][:2]) == ("1", "en")
    assert not {"x-key", "authorization"} & set(others)
    assert output.request_head is not None
    assert b"X-Key: (not kept)" in output.request_head
    assert b"s3cret" not in output.request_head
    assert b"Basic" not in output.request_head


def digest(head: bytes) -> list[Action]:
    """A server that knows one user, and wants MD5 with qop."""
    given = headers(head).get("authorization", "")
    if not given:
        challenge = b'WWW-Authenticate: Digest realm="r", nonce="n1", qop="auth", algorithm=MD5\r\n'
        return [Send(b"HTTP/1.1 401 No\r\n" + challenge + b"Content-Length: 5\r\n\r\nno go"), Again()]
    field = dict(re.findall(r'(\w+)="?([^",]+)"?', given))
    ha1, ha2 = (hashlib.md5(text.encode()).hexdigest() for text in ("me:r:pw", f"GET:{field['uri']}"))
    whole = f"{ha1}:n1:{field['nc']}:{field['cnonce']}:auth:{ha2}"
    right = field["response"] == hashlib.md5(whole.encode()).hexdigest()
    return [Send(OK if right else b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")]


def test_digest(conf: MakeConf, client: Callable[[Conf], Client]) -> None:
    table = """
        [host."127.0.0.1"]
        "http.auth.scheme" = "digest"
        "http.auth.username" = "me"
        "http.auth.password" = "PASSWORD"
    """
    with RawServer(digest) as server:
        right = client(conf(table.replace("PASSWORD", "pw"))).fetch(PlainRequest(server.url("/a?b=c")))
        wrong = client(conf(table.replace("PASSWORD", "no"))).fetch(PlainRequest(server.url("/a?b=c")))
        fetcher = client(conf(table))
        fetcher.fetch(PlainRequest(server.url("/")))
        other = fetcher.fetch(PlainRequest(f"http://{OTHER}:{server.port}/", pinned_ips=("127.0.0.1",)))
    assert (right.http_status, right.content) == (200, b"body")
    assert wrong.http_status == 403
    assert other.http_status == 401, "another host's challenge is not answered"


def test_cookies_of_a_file(conf: MakeConf, client: Callable[[Conf], Client]) -> None:
    made = conf(
        "", "http.agent.host.cookie.file=cookies.txt", cookies="# host\tcookie\n127.0.0.1\ta=1; b=2\nother\tc=3\n"
    )
    with RawServer([Send(OK)]) as server:
        fetcher = client(made)
        fetcher.fetch(PlainRequest(server.url()))
        fetcher.fetch(PlainRequest(server.url(), [("Cookie", "own=1")]))
        fetcher.fetch(PlainRequest(f"http://{OTHER}:{server.port}/", pinned_ips=("127.0.0.1",)))
        client(made.with_values({"http.enable.cookie.header": False})).fetch(PlainRequest(server.url()))
    assert [headers(head).get("cookie") for head in server.requests] == ["a=1; b=2", "own=1", None, None]


def test_agents_take_turns(conf: MakeConf, client: Callable[[Conf], Client]) -> None:
    made = conf("", "http.agent.rotate=true", agents="# ours\nOne/1 (x)\n\nTwo/2\n")
    with RawServer([Send(OK)]) as server:
        fetcher = client(made)
        for _ in range(3):
            fetcher.fetch(PlainRequest(server.url()))
    assert [headers(head)["user-agent"] for head in server.requests] == ["One/1 (x)", "Two/2", "One/1 (x)"]


def test_an_agent_keeps_its_turn_when_a_connection_has_gone_stale(
    conf: MakeConf, client: Callable[[Conf], Client]
) -> None:
    """The second request goes out on a connection that nobody reads any more, and then on another."""
    made = conf("", "http.agent.rotate=true", agents="One\nTwo\nThree\n")
    with RawServer([Send(OK), Wait(0.3), Reset()]) as server:
        fetcher = client(made)
        for _ in range(2):
            fetcher.fetch(PlainRequest(server.url()))
    assert [headers(head)["user-agent"] for head in server.requests] == ["One", "Two"]


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("pems")
    for name in ("server", "client"):
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-days", "2", "-subj", f"/CN={name}"]
        password = ["-passout", "pass:locked"] if name == "client" else ["-nodes"]
        files = ["-keyout", f"{name}.key", "-out", f"{name}.pem"]
        try:
            subprocess.run([*command, *password, *files], cwd=folder, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("no openssl command to make a certificate with")
    return folder


def test_client_certificates(
    conf: MakeConf, client: Callable[[Conf], Client], pems: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_PASSWORD", "locked")
    site = f"""
        [host."127.0.0.1"]
        "http.tls.client.certificate" = "{pems / "client.pem"}"
        "http.tls.client.key" = "{pems / "client.key"}"
        "http.tls.client.key.password" = "env:KEY_PASSWORD"
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pems / "server.pem", pems / "server.key")
    context.load_verify_locations(pems / "client.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with RawServer([Send(OK)], context) as server:
        fetcher = client(conf(site, "http.tls.certificates.check=false"))
        assert fetcher.fetch(PlainRequest(server.url())).content == b"body"
        other = PlainRequest(f"https://{OTHER}:{server.port}/", pinned_ips=("127.0.0.1",))
        assert fetcher.fetch(other).http_status is None, "no other host gets to see it"


@pytest.mark.parametrize(
    ("site", "overrides", "said"),
    [
        ("", ["http.auth.scheme=basic"], "who is to get it"),
        ('[host."a.test"]\n"http.auth.scheme" = "ntlm"', [], "neither basic nor digest"),
        ('[host."a.test"]\n"http.auth.password" = "env:NOT_THERE"', [], "NOT_THERE"),
        ('[http]\n"request.headers" = ["Host: x"]', [], "Host"),
        ('[http]\n"request.headers" = ["no colon"]', [], "no colon"),
        ('[host."a.test"]\n"http.tls.client.certificate" = "/nowhere.pem"', [], "/nowhere.pem"),
        ("", ["http.agent.rotate=true", "http.agent.rotate.file=none.txt"], "none.txt"),
    ],
)
def test_what_makes_no_sense_is_said_at_once(conf: MakeConf, site: str, overrides: Sequence[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Hosts.from_conf(conf(site, *overrides))


def test_a_rotation_needs_names(conf: MakeConf) -> None:
    with pytest.raises(ConfigError, match="names no agent"):
        Hosts.from_conf(conf("", "http.agent.rotate=true", agents="# none\n"))


def test_secrets_do_not_show(conf: MakeConf, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    site = """
        [host."127.0.0.1"]
        "http.auth.scheme" = "digest"
        "http.auth.username" = "me"
        "http.auth.password" = "s3cret"
        "http.request.headers" = ["X-Key: s3cret"]
    """
    settings = TransportSettings.from_conf(conf(site, "http.proxy.host=p", "http.proxy.password=s3cret"))
    assert "s3cret" not in repr(settings) + repr(settings.hosts.of("127.0.0.1")) + caplog.text
    assert secret("env:X", "it", {"X": "value"}) == "value"


class Socks(threading.Thread):
    """A SOCKS5 proxy for one connection: notes what it is asked for, and connects to ``port`` here instead."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.target = port
        self.asked: tuple[int, bytes] | None = None
        self.start()

    def run(self) -> None:
        connection, _ = self.listener.accept()
        with connection, socket.create_connection(("127.0.0.1", self.target)) as server:
            count = connection.recv(2)[1]
            connection.recv(count)
            connection.sendall(b"\x05\x00")
            kind = connection.recv(4)[3]
            size = {1: 4, 4: 16}.get(kind) or connection.recv(1)[0]
            self.asked = kind, connection.recv(size)
            connection.recv(2)
            connection.sendall(b"\x05\x00\x00\x01" + bytes(6))
            server.sendall(connection.recv(65536))
            while data := server.recv(65536):
                connection.sendall(data)


@pytest.mark.parametrize(("resolve", "asked"), [("local", (1, bytes([8, 8, 8, 8]))), ("remote", (3, b"far.invalid"))])
def test_socks_proxy(conf: MakeConf, resolve: str, asked: tuple[int, bytes]) -> None:
    with RawServer([Send(OK)]) as server:
        proxy = Socks(server.port)
        settings = ["http.proxy.host=127.0.0.1", f"http.proxy.port={proxy.port}", "http.proxy.type=SOCKS"]
        made = conf("", *settings, f"http.proxy.resolve={resolve}")
        with Client(CurlTransport.from_conf(made)) as fetcher:
            output = fetcher.fetch(PlainRequest("http://far.invalid/", pinned_ips=("8.8.8.8",)))
        proxy.listener.close()
    assert output.content == b"body", output.message
    assert proxy.asked == asked
