from __future__ import annotations

import subprocess
import sys
import time

from nutchpy.plugins.protocol.curl import CurlTransport
from nutchpy.testing.client import Client, PlainRequest
from nutchpy.testing.raw_server import Again, RawServer, Send
from nutchpy.testing.transports import transport_conf

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"


def test_without_pycurl_the_other_transport_is_named() -> None:
    program = (
        "import sys; sys.modules['pycurl'] = None\n"
        "from nutchpy.core.errors import PluginError\n"
        "from nutchpy.extension import registry\n"
        "try: registry.load('protocol', 'curl')\n"
        "except PluginError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "protocol.http=requests" in done.stdout


def test_a_request_goes_out_when_it_is_begun_and_not_when_the_loop_comes_round() -> None:
    script = [Send(OK), Again()]
    with RawServer(script) as server, Client(CurlTransport.from_conf(transport_conf(None))) as client:
        client.fetch(PlainRequest(server.url("/1")))
        token = client.start(PlainRequest(server.url("/2")))
        give_up = time.monotonic() + 10
        while len(server.requests) < 2 and time.monotonic() < give_up:
            time.sleep(0.01)
        assert len(server.requests) == 2
        assert client.wait([token])[token].content == b"body"


def test_a_request_that_fails_as_it_is_begun_ends_like_any_other() -> None:
    refusing = transport_conf({"http.filter.ipaddress.exclude": ["loopback"]})
    with RawServer([Send(OK)]) as server, Client(CurlTransport.from_conf(refusing)) as client:
        token = client.start(PlainRequest(server.url("").replace("127.0.0.1", "localhost"), pinned_ips=("127.0.0.1",)))
        assert client.wait([token], 5)[token].message == "127.0.0.1 is not to be connected to (loopback)"
