"""One libcurl easy handle and the exchange it is working on: options in, callbacks and error codes out."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Sequence
from typing import Any, Final

import certifi
import pycurl

from nutchpy.core.content import Headers, ProtocolOutput
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.plugins.protocol.admission import Target
from nutchpy.plugins.protocol.exchange import Exchange, Failure, headers_of, is_bare
from nutchpy.plugins.protocol.hosts import HostOptions
from nutchpy.plugins.protocol.settings import TransportSettings

_STATUS_LINE: Final = re.compile(rb"HTTP/(\d(?:\.\d)?)[ \t]+(\d{3})")
_ABORT: Final = -1
_NO_LIMIT_MS: Final = 2**31 - 1
_TIMINGS: Final = {
    "dns": pycurl.NAMELOOKUP_TIME,
    "connect": pycurl.CONNECT_TIME,
    "tls": pycurl.APPCONNECT_TIME,
    "first_byte": pycurl.STARTTRANSFER_TIME,
}
_STATUSES: Final = {
    ProtocolStatus.DNS_FAILED: (pycurl.E_COULDNT_RESOLVE_HOST, pycurl.E_COULDNT_RESOLVE_PROXY),
    ProtocolStatus.CONNECT_FAILED: (pycurl.E_COULDNT_CONNECT, pycurl.E_INTERFACE_FAILED, 97),
    ProtocolStatus.TIMEOUT: (pycurl.E_OPERATION_TIMEDOUT,),
    ProtocolStatus.TLS_FAILED: (
        pycurl.E_SSL_CONNECT_ERROR,
        pycurl.E_PEER_FAILED_VERIFICATION,
        pycurl.E_SSL_CERTPROBLEM,
        pycurl.E_SSL_CIPHER,
        pycurl.E_SSL_CACERT_BADFILE,
        pycurl.E_SSL_ISSUER_ERROR,
        pycurl.E_SSL_INVALIDCERTSTATUS,
        pycurl.E_SSL_SHUTDOWN_FAILED,
        pycurl.E_USE_SSL_FAILED,
    ),
    ProtocolStatus.BAD_RESPONSE: (
        pycurl.E_UNSUPPORTED_PROTOCOL,
        pycurl.E_FTP_WEIRD_SERVER_REPLY,
        pycurl.E_BAD_CONTENT_ENCODING,
        pycurl.E_HTTP2,
        92,
    ),
    ProtocolStatus.HEADERS_TOO_LARGE: (100,),
    ProtocolStatus.FAILED: (pycurl.E_URL_MALFORMAT, pycurl.E_OUT_OF_MEMORY, pycurl.E_FAILED_INIT),
}
"""libcurl's error codes by what they mean; those not listed are an ``exception``. 92, 97, 100: pycurl has no names."""
_BY_CODE: Final = {code: status for status, codes in _STATUSES.items() for code in codes}


class _Lent(socket.socket):
    """A socket for pycurl, which duplicates the descriptor and lets go of the object."""

    def __del__(self) -> None:
        self.close()


class Transfer:
    """An easy handle, used for one exchange after the other."""

    def __init__(self, settings: TransportSettings) -> None:
        self._settings = settings
        self._lines_of: tuple[HostOptions, list[bytes]] | None = None
        """The headers of the last request that had none of its own: most are alike."""
        self._set: dict[int, object] = {}
        """What options of the handle stand at."""
        self._lines: list[bytes] = []
        self._header_bytes = 0
        self._head_ended = False
        self._begun = False
        self._no_answer = False
        self._target: Target
        self.exchange: Exchange
        self.handle = pycurl.Curl()
        for option, value in _constant_options(settings):
            self.handle.setopt(option, value)
        self.handle.setopt(pycurl.HEADERFUNCTION, self._header)
        self.handle.setopt(pycurl.WRITEFUNCTION, self._write)
        self.handle.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)
        if settings.keep_request:
            self.handle.setopt(pycurl.VERBOSE, 1)
            self.handle.setopt(pycurl.DEBUGFUNCTION, self._debug)

    def prepare(self, exchange: Exchange, target: Target) -> None:
        """Make the handle ready for a request."""
        self.exchange = exchange
        self._forget()
        self._target = target
        request = exchange.request
        self.handle.setopt(pycurl.URL, target.url)
        self._setopt(pycurl.HTTPHEADER, self._header_lines(target.options, request.headers))
        self._setopt(pycurl.IGNORE_CONTENT_LENGTH, 0)
        if target.options.identified:
            self._identify(target.options)
        self._setopt(pycurl.CONNECTTIMEOUT_MS, _milliseconds(request.timeouts.connect))
        self._pin([] if target.literal else _pins(target, request.pinned_ips))
        if self._settings.proxy is not None:
            self._setopt(pycurl.PROXY, self._settings.proxy.url if target.proxied else "")

    def _forget(self) -> None:
        """Be as before the first byte of an answer."""
        self._lines = []
        self._header_bytes = 0
        self._head_ended = self._begun = self._no_answer = False

    def to_be_read_to_its_end(self, error: tuple[int, str] | None) -> bool:
        """Whether libcurl found a Content-Length that is no number; then the handle is ready to ask once more.

        Browsers read such an answer until the connection closes. libcurl does so only when told before it begins.
        """
        if error is None or error[0] != pycurl.E_FTP_WEIRD_SERVER_REPLY or "Content-Length" not in error[1]:
            return False
        if self._set[pycurl.IGNORE_CONTENT_LENGTH] == 1:
            return False
        self._forget()
        lines = self._header_lines(self._target.options, self.exchange.request.headers)
        self._setopt(pycurl.HTTPHEADER, [*lines, b"Connection: close"])
        self._setopt(pycurl.IGNORE_CONTENT_LENGTH, 1)
        return True

    def _pin(self, pins: list[str]) -> None:
        """Give libcurl the addresses of the host, if it has to look for any."""
        if pins or self._set.get(pycurl.RESOLVE):
            self._set[pycurl.RESOLVE] = pins
            self.handle.setopt(pycurl.RESOLVE, pins)
        self._setopt(pycurl.DNS_CACHE_TIMEOUT, _cache_seconds(self._target, bool(pins)))

    def _setopt(self, option: int, value: object) -> None:
        """Set an option, unless it stands at that."""
        if option not in self._set or self._set[option] != value:
            self._set[option] = value
            self.handle.setopt(option, value)

    def _header_lines(self, options: HostOptions, own: Headers) -> list[bytes]:
        if own or self._settings.hosts.rotates:
            return _header_lines(self._settings.lines(options, own))
        if self._lines_of is None or self._lines_of[0] is not options:
            self._lines_of = options, _header_lines(self._settings.lines(options, own))
        return self._lines_of[1]

    def _identify(self, options: HostOptions) -> None:
        """Show what this host wants to see. It cannot be taken off again: the handle serves no one else."""
        handle, certificate, digest = self.handle, options.certificate, options.digest
        if digest is not None:
            handle.setopt(pycurl.HTTPAUTH, pycurl.HTTPAUTH_DIGEST)
            handle.setopt(pycurl.USERNAME, digest.username)
            handle.setopt(pycurl.PASSWORD, digest.password)
        if certificate is not None:
            handle.setopt(pycurl.SSLCERT, certificate.file)
            handle.setopt(pycurl.SSLKEY, certificate.key)
            if certificate.password:
                handle.setopt(pycurl.KEYPASSWD, certificate.password)

    def finish(self, error: tuple[int, str] | None, now: float) -> ProtocolOutput:
        """The outcome, now that libcurl is done with the transfer."""
        exchange = self.exchange
        judged = exchange.ip
        self._conclude()
        if error is not None and error[0] == pycurl.E_COULDNT_CONNECT:
            exchange.ip = judged or exchange.ip  # libcurl's may be that of a kept connection which had died
        if error is None:
            cut = self._lines and not self._head_ended
            failure = Failure(ProtocolStatus.BAD_RESPONSE, "headers end early") if cut else None
        else:
            failure = self._failure(*error)
        return exchange.end(failure, now)

    def expire(self, failure: Failure, now: float) -> ProtocolOutput:
        """The outcome of a transfer that has passed a deadline."""
        self._conclude()
        return self.exchange.end(failure, now)

    def _conclude(self) -> None:
        """Hand over what has not been yet. Before TLS stands, all headers are the proxy's."""
        if not self._in_tunnel_mouth():
            self._begin()
        self._take_notes()

    @property
    def reusable(self) -> bool:
        """Whether another exchange may use the handle."""
        return not self._target.options.identified

    def _in_tunnel_mouth(self) -> bool:
        return self._target.tunnelled and self.handle.getinfo(pycurl.APPCONNECT_TIME) == 0

    def _failure(self, code: int, message: str) -> Failure | None:
        if code == pycurl.E_WRITE_ERROR and (self.exchange.sated or self.exchange.too_large):
            return None
        if code == pycurl.E_WRITE_ERROR and self._no_answer:
            return Failure(ProtocolStatus.BAD_RESPONSE, "no status line")
        status = _BY_CODE.get(code, ProtocolStatus.EXCEPTION)
        if code == pycurl.E_RECV_ERROR:
            status = ProtocolStatus.CONNECT_FAILED if self._in_tunnel_mouth() else _receive_error(message)
        return Failure(status, f"{message} (libcurl error {code})")

    def _header(self, line: bytes) -> int | None:
        """A header line of any block: interim answers, a proxy's, the final one, trailers."""
        self.exchange.deadlines.received(time.monotonic())
        self._header_bytes += len(line)
        if self._header_bytes > self._settings.header_limit:
            self.exchange.too_large = True
            return _ABORT
        self._take_lines(line)
        return None

    def _take_lines(self, line: bytes) -> None:
        if self._head_ended and line[:5] == b"HTTP/":
            self._lines = []
            self._head_ended = False
        if not self._head_ended:
            self._lines.append(line)
            self._head_ended = line in (b"\r\n", b"\n")

    @staticmethod
    def failed(status: ProtocolStatus, message: str) -> Failure:
        """What ended it, in words."""
        return Failure(status, message)

    def _debug(self, kind: int, data: bytes) -> None:
        """Of all that libcurl tells: the request's head. Behind a proxy's own comes the server's."""
        if kind == pycurl.INFOTYPE_HEADER_OUT:
            self.exchange.request_head = self._target.options.masked(data)

    def _write(self, data: bytes) -> int | None:
        self._begin()
        if not (self._begun or self._lines) and is_bare(data):
            self._begun = True
            self.exchange.begin(200, (), "0.9")
        if not self._begun:
            self._no_answer = True
            return _ABORT
        exchange = self.exchange
        exchange.deadlines.received(time.monotonic())
        if not exchange.budget.room(exchange.token, len(data)):
            exchange.budget.waiting.add(exchange.token)
            return int(pycurl.WRITEFUNC_PAUSE)
        return None if exchange.body(data) else _ABORT

    def _begin(self) -> None:
        """Hand the head over, once: it is the last block before the body, or before the end."""
        if self._begun or not self._head_ended:
            return
        match = _STATUS_LINE.match(self._lines[0])
        code = int(match[2]) if match else 0
        if match and (code >= 200 or code == 101):
            self._begun = True
            head = b"".join(self._lines) if self._settings.keep_response else None
            self.exchange.begin(code, headers_of(self._lines[1:]), match[1].decode(), head)

    def _take_notes(self) -> None:
        """Note address and timings. A step that did not take place has none."""
        getinfo = self.handle.getinfo
        self.exchange.ip = getinfo(pycurl.PRIMARY_IP) or self.exchange.ip
        seconds = {name: getinfo(info) for name, info in _TIMINGS.items()}
        self.exchange.timings_ms = {name: round(value * 1000) for name, value in seconds.items() if value > 0}

    def _open_socket(self, _purpose: int, address: Any) -> socket.socket | int:
        """Open the socket for an address that libcurl wants to connect to, unless it is one to keep away from."""
        family, kind, protocol, name = address
        ip = name[0].decode() if isinstance(name[0], bytes) else str(name[0])
        if not self._target.proxied and not self.exchange.admits(ip):
            return int(pycurl.SOCKET_BAD)
        return _Lent(family, kind, protocol)


def _constant_options(settings: TransportSettings) -> list[tuple[int, Any]]:
    """Options that hold for all requests of a transport."""
    http = pycurl.CURL_HTTP_VERSION_2TLS if settings.http2 else pycurl.CURL_HTTP_VERSION_1_1
    options = [
        (pycurl.NOSIGNAL, 1),
        (pycurl.FOLLOWLOCATION, 0),
        (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
        (pycurl.HTTP_VERSION, http),
        (pycurl.HTTP09_ALLOWED, 1),
        (pycurl.PATH_AS_IS, 1),
        (pycurl.BUFFERSIZE, 65536),
        (pycurl.CAINFO, certifi.where()),
        (pycurl.SSL_VERIFYPEER, 1 if settings.verify else 0),
        (pycurl.SSL_VERIFYHOST, 2 if settings.verify else 0),
        # An empty proxy, not an unset one: that would be the environment's.
        (pycurl.PROXY, ""),
        (pycurl.NOPROXY, ""),
    ]
    if settings.proxy is not None and settings.proxy.username:
        options.append((pycurl.PROXYUSERNAME, settings.proxy.username))
        options.append((pycurl.PROXYPASSWORD, settings.proxy.password))
    return options


def _header_lines(headers: list[tuple[str, str]]) -> list[bytes]:
    """Headers for libcurl; ``Name;`` is its way to write an empty one, ``Accept:`` to leave its own out."""
    lines = [f"{name}: {value}" if value else f"{name};" for name, value in headers]
    if not any(name.lower() == "accept" for name, _ in headers):
        lines.append("Accept:")
    return [line.encode() for line in lines]


def _pins(target: Target, ips: Sequence[str]) -> list[str]:
    """The resolver's answer, for libcurl's cache; ``+`` lets it age there."""
    if not ips:
        return []
    addresses = ",".join(f"[{ip}]" if ":" in ip else ip for ip in ips)
    return [f"+{target.host}:{target.port}:{addresses}"]


def _cache_seconds(target: Target, pinned: bool) -> int:
    """How long libcurl keeps addresses: for each request it looks through all that it keeps.

    One that it has been given it uses at once; others it has looked up itself, a proxy's for instance.
    """
    if target.proxied or not (target.literal or pinned):
        return 60
    return 1 if pinned else 0


def _milliseconds(seconds: float) -> int:
    """A libcurl time limit. Its 0 is 300 s for connecting, so no limit is a very long one."""
    return max(1, round(seconds * 1000)) if seconds > 0 else _NO_LIMIT_MS


def _receive_error(message: str) -> ProtocolStatus:
    """libcurl has one code for a lost connection and for an answer it will not read."""
    if "chunk" in message:
        return ProtocolStatus.BAD_RESPONSE
    return ProtocolStatus.HEADERS_TOO_LARGE if "headers" in message else ProtocolStatus.EXCEPTION
