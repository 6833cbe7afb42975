"""The ftp transport: ``ftp:`` URLs by libcurl, in the terms of HTTP. A folder (its URL ends in /) is a page of links.

Addresses are judged as elsewhere, those of data connections included. It goes by no proxy.
"""

from __future__ import annotations

from dataclasses import replace
from email.utils import formatdate
from typing import Final, Self

import pycurl

from nutchpy.conf.layers import Conf
from nutchpy.core.content import ProtocolOutput, header
from nutchpy.core.http_date import http_date
from nutchpy.core.protocol_status import ProtocolStatus
from nutchpy.plugins.protocol import listing
from nutchpy.plugins.protocol.admission import Target
from nutchpy.plugins.protocol.curl import CurlTransport
from nutchpy.plugins.protocol.curl_transfer import Transfer
from nutchpy.plugins.protocol.exchange import Exchange
from nutchpy.plugins.protocol.hosts import secret
from nutchpy.plugins.protocol.settings import TransportSettings

_OK: Final = 200
_ANSWERS: Final = {
    pycurl.E_REMOTE_FILE_NOT_FOUND: (ProtocolStatus.NOTFOUND, 404),
    pycurl.E_FTP_COULDNT_RETR_FILE: (ProtocolStatus.NOTFOUND, 404),
    pycurl.E_REMOTE_ACCESS_DENIED: (ProtocolStatus.NOTFOUND, 404),
    pycurl.E_LOGIN_DENIED: (ProtocolStatus.ACCESS_DENIED, 401),
}
"""libcurl's errors that are an FTP server's no."""


class FtpTransfer(Transfer):
    """An easy handle for FTP."""

    def __init__(self, settings: TransportSettings, username: str, password: str) -> None:
        super().__init__(settings)
        setopt = self.handle.setopt
        setopt(pycurl.PROTOCOLS, pycurl.PROTO_FTP)
        setopt(pycurl.USERNAME, username)
        setopt(pycurl.PASSWORD, password)
        setopt(pycurl.OPT_FILETIME, 1)
        setopt(pycurl.FTP_FILEMETHOD, pycurl.FTPMETHOD_SINGLECWD)

    def prepare(self, exchange: Exchange, target: Target) -> None:
        """As for HTTP; a condition on the time is libcurl's to judge."""
        super().prepare(exchange, target)
        since = header(exchange.request.headers, "if-modified-since")
        seconds = http_date(since) if since is not None else None
        condition = pycurl.TIMECONDITION_NONE if seconds is None else pycurl.TIMECONDITION_IFMODSINCE
        self.handle.setopt(pycurl.TIMECONDITION, condition)
        self.handle.setopt(pycurl.TIMEVALUE, seconds or 0)

    def finish(self, error: tuple[int, str] | None, now: float) -> ProtocolOutput:
        """The outcome, as an HTTP server would have put it."""
        if error is not None and error[0] in _ANSWERS:
            status, code = _ANSWERS[error[0]]
            return replace(self.exchange.lose(self.failed(status, error[1]), now), http_status=code)
        if error is None and self.handle.getinfo(pycurl.CONDITION_UNMET):
            unchanged = self.failed(ProtocolStatus.NOTMODIFIED, "")
            return replace(self.exchange.lose(unchanged, now), http_status=304)
        output = super().finish(error, now)
        if output.http_status != _OK:
            return output
        if self._target.path.endswith("/"):
            return _listed(output)
        seconds = self.handle.getinfo(pycurl.INFO_FILETIME)
        known = [("Last-Modified", formatdate(seconds, usegmt=True))] if seconds >= 0 else []
        return replace(output, headers=known)

    def _begin(self) -> None:
        """There is no head: a body, or its end, is a yes."""
        if not self._begun:
            self._begun = True
            self.exchange.begin(_OK, [], None)

    def _take_lines(self, line: bytes) -> None:
        """An FTP server's replies are of no interest."""


class FtpTransport(CurlTransport):
    """Transport over FTP."""

    ports = {"ftp:": 21}  # noqa: RUF012  # as the class it stands in for has it

    def __init__(self, settings: TransportSettings, username: str, password: str) -> None:
        super().__init__(replace(settings, proxy=None))
        self._login = username, password

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """Build it from the ``http.*`` settings, and ``ftp.username`` and ``ftp.password``."""
        username, password = (secret(conf.text(name), name) for name in ("ftp.username", "ftp.password"))
        return cls(TransportSettings.from_conf(conf), username, password)

    def new_transfer(self) -> Transfer:
        """One for FTP."""
        return FtpTransfer(self._settings, *self._login)


def _listed(output: ProtocolOutput) -> ProtocolOutput:
    """A folder as a page."""
    entries = listing.ftp_entries(output.content.decode("utf-8", "surrogateescape"))
    headers = [("Content-Type", listing.LISTING_TYPE)]
    return replace(output, headers=headers, content=listing.page(output.url, entries))
