"""file: URLs: what is read, and what is not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.content import header
from nutchpy.core.errors import ConfigError
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.plugins.protocol.file import FileTransport
from nutchpy.testing.client import Client, PlainRequest


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / "a b.html").write_bytes(b"<title>A</title>")
    (folder / "sub" / "ü.txt").write_bytes(b"words")
    (folder / ".hidden").write_bytes(b"no")
    (tmp_path / "outside.txt").write_bytes(b"secret")
    (folder / "leak").symlink_to(tmp_path / "outside.txt")
    (folder / "inner").symlink_to(folder / "sub")
    os.mkfifo(folder / "pipe")
    return folder


@pytest.fixture
def client(root: Path) -> Iterator[Client]:
    with Client(FileTransport(root)) as it:
        yield it


def test_a_file_is_a_page(client: Client, root: Path) -> None:
    output = client.fetch(PlainRequest((root / "a b.html").as_uri()))
    assert (output.protocol_status, output.http_status, output.content) == ("success", 200, b"<title>A</title>")
    assert output.truncated is None
    again = client.fetch(
        PlainRequest(
            (root / "a b.html").as_uri(),
            [("If-Modified-Since", header(output.headers, "last-modified") or "")],
        )
    )
    assert (again.protocol_status, again.http_status, again.content) == ("notmodified", 304, b"")


def test_the_limit_holds(client: Client, root: Path) -> None:
    (root / "large").write_bytes(bytes(5000))
    output = client.fetch(PlainRequest((root / "large").as_uri(), content_limit=1000))
    assert (len(output.content), output.truncated) == (1000, "length")
    whole = client.fetch(PlainRequest((root / "large").as_uri(), content_limit=-1))
    assert (len(whole.content), whole.truncated) == (5000, None)


def test_a_folder_is_a_page_of_links(client: Client, root: Path) -> None:
    moved = client.fetch(PlainRequest(root.as_uri()))
    assert (moved.protocol_status, header(moved.headers, "location")) == ("moved", f"{root.as_uri()}/")
    output = client.fetch(PlainRequest(f"{root.as_uri()}/"))
    text = output.content.decode()
    assert header(output.headers, "content-type") == "text/html; charset=utf-8"
    for href in ("./a%20b.html", "./sub/", "./inner/", "./leak"):
        assert f'href="{href}"' in text
    assert ".hidden" not in text


@pytest.mark.parametrize("path", ["../outside.txt", "leak", "%2e%2e/outside.txt", "sub/../../outside.txt", "pipe"])
def test_nothing_else_is_read(client: Client, root: Path, path: str) -> None:
    output = client.fetch(PlainRequest(f"file://{root}/{path}"))
    assert (output.protocol_status, output.content) == ("access_denied", b""), output.message


def test_what_is_not_there(client: Client, root: Path) -> None:
    assert client.fetch(PlainRequest(f"file://{root}/none")).protocol_status is ProtocolStatus.NOTFOUND
    assert client.fetch(PlainRequest("file://far.test/etc/passwd")).protocol_status is ProtocolStatus.PROTO_NOT_FOUND
    assert client.fetch(PlainRequest("http://far.test/")).protocol_status is ProtocolStatus.PROTO_NOT_FOUND


def test_cancelled_requests_complete_once(client: Client, root: Path) -> None:
    token = client.start(PlainRequest((root / "a b.html").as_uri()))
    client.transport.cancel(token, "enough")
    assert client.wait([token])[token].protocol_status is ProtocolStatus.RETRY
    assert client.step(0.1) == []


def test_without_a_folder_there_is_no_reading() -> None:
    with pytest.raises(ConfigError, match=r"file\.root"):
        FileTransport.from_conf(defaults())
