"""ftp: URLs, from a small server of our own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from nutchpy.conf.layers import Value
from nutchpy.core.addresses import GROUP_NAMES
from nutchpy.core.content import header
from nutchpy.plugins.protocol.ftp import FtpTransport
from nutchpy.plugins.protocol.listing import ftp_entries, page
from nutchpy.testing.client import Client, PlainRequest
from nutchpy.testing.transports import transport_conf

LIST = b"drwxr-xr-x 2 ftp ftp 4096 Jan  1 12:00 pub\r\n-rw-r--r-- 1 ftp ftp 5 Jan  1  2020 a b.txt\r\ntotal 2\r\n"
FILES = {"/a b.txt": b"words", "/pub/large": bytes(300_000)}


class FtpServer(threading.Thread):
    """Files and folders over passive FTP; ``commands`` holds what it was told."""

    def __init__(self, *, login: bool = True) -> None:
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.login = login
        self.commands: list[str] = []
        self.start()

    def url(self, path: str) -> str:
        return f"ftp://127.0.0.1:{self.port}{path}"

    def run(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as lines:
            self.folder, self.data = "/", None
            connection.sendall(b"220 here\r\n")
            for line in lines:
                command, _, argument = line.decode().strip().partition(" ")
                self.commands.append(command)
                connection.sendall(self.reply(connection, command, argument).encode() + b"\r\n")

    def reply(self, connection: socket.socket, command: str, argument: str) -> str:
        match command:
            case "USER":
                return "331 and the password"
            case "PASS":
                return "230 in" if self.login else "530 no"
            case "PWD":
                return '257 "/"'
            case "EPSV":
                self.data = socket.create_server(("127.0.0.1", 0))
                return f"229 (|||{self.data.getsockname()[1]}|)"
            case "CWD":
                self.folder = argument if argument.startswith("/") else f"{self.folder.rstrip('/')}/{argument}"
                return "250 ok" if self.folder.rstrip("/") in ("", "/pub") else "550 none"
            case "TYPE":
                return "200 ok"
            case "MDTM":
                return "213 20200102030405" if self.path(argument) in FILES else "550 none"
            case "SIZE":
                return f"213 {len(FILES[self.path(argument)])}" if self.path(argument) in FILES else "550 none"
            case "LIST":
                return self.send(connection, LIST)
            case "RETR":
                body = FILES.get(self.path(argument))
                return "550 none" if body is None else self.send(connection, body)
            case "QUIT":
                return "221 bye"
        return "502 what?"

    def path(self, name: str) -> str:
        return f"{self.folder.rstrip('/')}/{name}"

    def send(self, connection: socket.socket, body: bytes) -> str:
        assert self.data is not None
        connection.sendall(b"150 it comes\r\n")
        peer, _ = self.data.accept()
        with self.data, peer, suppress(OSError):
            peer.sendall(body)
        return "226 done"


@pytest.fixture
def server() -> Iterator[FtpServer]:
    it = FtpServer()
    yield it
    it.listener.close()


def client(**settings: Value) -> Client:
    return Client(FtpTransport.from_conf(transport_conf({k.replace("__", "."): v for k, v in settings.items()})))


def test_a_file_is_a_page(server: FtpServer) -> None:
    with client() as it:
        output = it.fetch(PlainRequest(server.url("/a%20b.txt")))
        assert (output.protocol_status, output.http_status, output.content) == ("success", 200, b"words")
        assert header(output.headers, "last-modified") == "Thu, 02 Jan 2020 03:04:05 GMT"
        assert (output.ip, output.truncated) == ("127.0.0.1", None)
        same = it.fetch(
            PlainRequest(server.url("/a%20b.txt"), [("If-Modified-Since", "Thu, 02 Jan 2020 03:04:05 GMT")])
        )
        assert (same.protocol_status, same.http_status, same.content) == ("notmodified", 304, b"")
        newer = it.fetch(
            PlainRequest(server.url("/a%20b.txt"), [("If-Modified-Since", "Wed, 01 Jan 2020 03:04:05 GMT")])
        )
        assert newer.content == b"words"


def test_a_folder_is_a_page_of_links(server: FtpServer) -> None:
    with client() as it:
        output = it.fetch(PlainRequest(server.url("/")))
    assert header(output.headers, "content-type") == "text/html; charset=utf-8"
    text = output.content.decode()
    assert 'href="./pub/"' in text
    assert 'href="./a%20b.txt"' in text


def test_limits_hold_and_the_next_request_is_served(server: FtpServer) -> None:
    with client() as it:
        output = it.fetch(PlainRequest(server.url("/pub/large"), content_limit=1000))
        assert (output.protocol_status, len(output.content), output.truncated) == ("success", 1000, "length")
        assert it.fetch(PlainRequest(server.url("/a%20b.txt"))).content == b"words"


def test_what_is_not_there(server: FtpServer) -> None:
    with client() as it:
        for path in ("/none.txt", "/none/x.txt"):
            output = it.fetch(PlainRequest(server.url(path)))
            assert (output.protocol_status, output.http_status, output.content) == ("notfound", 404, b"")


def test_who_is_not_let_in() -> None:
    server = FtpServer(login=False)
    with client() as it:
        output = it.fetch(PlainRequest(server.url("/a%20b.txt")))
    server.listener.close()
    assert (output.protocol_status, output.http_status) == ("access_denied", 401)


def test_addresses_are_judged(server: FtpServer) -> None:
    with client(http__filter__ipaddress__exclude=list(GROUP_NAMES)) as it:
        output = it.fetch(PlainRequest(server.url("/a%20b.txt")))
        assert it.fetch(PlainRequest("http://127.0.0.1/")).protocol_status == "proto_not_found"
    assert output.protocol_status == "address_refused"
    assert not server.commands


def test_lists_of_both_kinds() -> None:
    dos = "01-02-20  12:00PM       <DIR>          a folder\n01-02-2020  12:00   12 a file\n"
    link = "lrwxrwxrwx   1 ftp      ftp             3 Jan  1 12:00 link -> pub\n"
    assert ftp_entries(dos + link) == [("a folder", True), ("a file", False), ("link", False)]


def test_names_are_names_and_nothing_else() -> None:
    text = page('ftp://h/"<x>', [('"><script>', False), ("javascript:x", False), ("\udcff", True)])
    assert b"<script>" not in text
    assert b'href="./javascript%3Ax"' in text
    assert b'href="./%FF/"' in text
