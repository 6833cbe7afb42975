"""The simulated web over its port, asked by plain sockets."""

from __future__ import annotations

import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from simweb import graph
from simweb.graph import Web
from simweb.server import Answers, Running, read_log, serving

WEB = Web(hosts=50, pages=2_000, zipf=0, latency=0.02, missing=0.1, busy=0.1, reset=0.1, slow=0.1, slow_seconds=0.2)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def web() -> Iterator[Running]:
    with serving(WEB) as running:
        yield running


@pytest.fixture
def proxy(web: Running) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", web.port), 5) as connection:
        yield connection


def ask(connection: socket.socket, line: str, *headers: str) -> tuple[str, bytes]:
    """Head and body of one answer; the connection lives on."""
    connection.sendall("\r\n".join((f"{line} HTTP/1.1", *headers, "", "")).encode())
    return read(connection)


def read(connection: socket.socket) -> tuple[str, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536) or pytest.fail(f"closed after {data!r}")
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
    while len(body) < length:
        body += connection.recv(65536)
    return head.decode(), body


def url_of(fate: str) -> str:
    return next(WEB.url(0, page) for page in range(1, 40) if WEB.fate(0, page) == fate)


def test_any_host_by_one_connection(web: Running, proxy: socket.socket) -> None:
    for number in (0, 49):
        head, body = ask(proxy, f"GET {WEB.url(number)}")
        assert head.startswith("HTTP/1.1 200 OK\r\n")
        assert f"Page 0 of {WEB.host(number)}".encode() in body
    head, body = ask(proxy, "GET /p/1", "Host: h3.d3.test:80")
    assert b"Page 1 of h3.d3.test" in body
    assert [(hit.host, hit.path, hit.status) for hit in web.hits[1:]] == [
        ("h49.d49.test", "/", 200),
        ("h3.d3.test", "/p/1", 200),
    ]
    assert all(hit.ended - hit.started >= WEB.latency / WEB.latency_spread for hit in web.hits)


def test_answers_by_fate(proxy: socket.socket) -> None:
    assert ask(proxy, f"GET {url_of(graph.MISSING)}")[0].startswith("HTTP/1.1 404 ")
    assert "\r\nRetry-After: 1" in ask(proxy, f"GET {url_of(graph.BUSY)}")[0]
    assert ask(proxy, "GET http://nobody.test/")[0].startswith("HTTP/1.1 502 ")
    assert ask(proxy, f"POST {WEB.url(0)}")[0].startswith("HTTP/1.1 405 ")
    proxy.sendall(f"GET {url_of(graph.RESET)} HTTP/1.1\r\n\r\n".encode())
    assert proxy.recv(100) == b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
    with pytest.raises(ConnectionResetError):
        proxy.recv(100)


def test_a_slow_page_takes_its_time_and_holds_up_no_other(web: Running, proxy: socket.socket) -> None:
    proxy.sendall(f"GET {url_of(graph.SLOW)} HTTP/1.1\r\n\r\n".encode())
    with socket.create_connection(("127.0.0.1", web.port), 5) as other:
        ask(other, f"GET {WEB.url(0)}")
    read(proxy)
    quick, slow = web.hits
    assert quick.ended < slow.ended
    assert slow.ended - slow.started >= WEB.slow_seconds


def test_requests_in_pieces_and_in_a_row(proxy: socket.socket) -> None:
    proxy.sendall(b"GET http://h1.d1.test/ HTTP/1.1\r\nA")
    proxy.sendall(b": b\r\n\r\nHEAD http://h2.d2.test/ HTTP/1.1\r\n\r\n")
    assert b"Page 0 of h1.d1.test" in read(proxy)[1]
    assert proxy.recv(65536).endswith(b"\r\n\r\n")


def test_what_is_no_request_ends_the_connection(proxy: socket.socket) -> None:
    proxy.sendall(b"hello\r\n\r\n")
    assert proxy.recv(100) == b""


def test_redirects_lead_to_pages_of_the_host() -> None:
    answers = Answers(Web(hosts=1, pages=100, zipf=0, moved=1.0))
    assert b"\r\nLocation: http://h0.d0.test/\r\n" in answers.answer("h0.d0.test", "/p/1").data
    assert {answers.answer("h0.d0.test", f"/p/{page}").status for page in range(1, 100)} == {301, 302}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=web"]
    try:
        subprocess.run([*command, "-keyout", "a.pem", "-out", "b.pem"], cwd=folder, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no openssl command to make a certificate with")
    both = folder / "both.pem"
    both.write_text((folder / "a.pem").read_text() + (folder / "b.pem").read_text())
    return both


def test_a_tunnel_leads_to_tls(certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    with serving(WEB, context) as web, socket.create_connection(("127.0.0.1", web.port), 5) as plain:
        assert ask(plain, "CONNECT h7.d7.test:443")[0].startswith("HTTP/1.1 200 ")
        with client.wrap_socket(plain, server_hostname="h7.d7.test") as tunnel:
            assert b"Page 0 of h7.d7.test" in ask(tunnel, "GET /", "Host: h7.d7.test")[1]
            assert ask(tunnel, "GET /nowhere", "Host: h7.d7.test")[0].startswith("HTTP/1.1 404 ")


def test_without_a_certificate_there_is_no_tunnel(proxy: socket.socket) -> None:
    assert ask(proxy, "CONNECT h7.d7.test:443")[0].startswith("HTTP/1.1 405 ")


def test_by_hand(tmp_path: Path, mortal: Any) -> None:
    command = [sys.executable, "-m", "tests.simweb", "--hosts", "5", "--latency", "0"]
    urls = subprocess.run([*command, "--urls", "9"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert urls.split() == [f"http://h{n}.d{n}.test/" for n in range(5)]
    log = ["--log", str(tmp_path / "hits")]
    server = mortal(subprocess.Popen([*command, *log], cwd=ROOT, stdout=subprocess.PIPE, text=True))
    with socket.create_connection(("127.0.0.1", int(server.stdout.readline())), 5) as proxy:
        assert b"Page 0 of h4" in ask(proxy, "GET http://h4.d4.test/")[1]
        server.send_signal(signal.SIGTERM)
        assert server.wait(10) == 0
    server.stdout.close()
    with (tmp_path / "hits").open() as file:
        assert [(hit.host, hit.path, hit.status) for hit in read_log(file)] == [("h4.d4.test", "/", 200)]
