"""Several transports as one: each URL goes where its scheme belongs, and the loop sees one transport."""

from __future__ import annotations

from pathlib import Path

from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.extension import chains
from nutchpy.extension.schemes import Routed
from nutchpy.testing.client import Client, PlainRequest
from nutchpy.testing.raw_server import RawServer, Send, Wait
from nutchpy.testing.transports import transport_conf


def test_each_scheme_has_its_transport(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("file")
    conf = transport_conf({"protocol.file": "file", "file.root": str(tmp_path), "protocol.ftp": "ftp"})
    assert chains.schemes(conf) == {"http", "https", "file", "ftp"}
    transport = chains.transport(conf)
    assert isinstance(transport, Routed)
    with RawServer([Send(b"HTTP/1.1 200 OK\r\n\r\nhttp")]) as server, Client(transport) as client:
        wanted = [server.url(), (tmp_path / "x.txt").as_uri(), "ftp://127.0.0.1:1/", server.url("/2")]
        outputs = client.fetch_all([PlainRequest(url) for url in wanted])
    assert [output.content for output in outputs] == [b"http", b"file", b"", b"http"]
    assert outputs[2].protocol_status is ProtocolStatus.CONNECT_FAILED


def test_cancelling_reaches_the_one_who_has_it() -> None:
    transport = chains.transport(transport_conf({"protocol.ftp": "ftp"}))
    with RawServer([Wait(30)]) as server, Client(transport) as client:
        token = client.start(PlainRequest(server.url()))
        client.step(0.1)
        transport.cancel(token, "enough")
        assert client.wait([token])[token].message == "enough"


def test_alone_the_transport_is_itself() -> None:
    conf = transport_conf()
    assert chains.schemes(conf) == {"http", "https"}
    transport = chains.transport(conf)
    assert not isinstance(transport, Routed)
    transport.close()
