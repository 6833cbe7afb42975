"""GuardedAdapter: requests' adapter, with connections that are judged and can be broken off.

Of what requests and urllib3 do for every request, it leaves out what nothing here depends on: of 50 threads that wait
for one another, each such thing is paid for twice.
"""

from __future__ import annotations

import functools
import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final

import certifi
import requests
import requests.adapters
from requests.cookies import RequestsCookieJar, extract_cookies_to_jar
from requests.structures import CaseInsensitiveDict
from urllib3.util.ssl_ import create_urllib3_context

from nutchpy.plugins.protocol.hosts import Certificate
from nutchpy.plugins.protocol.requests_connections import Job, pools
from nutchpy.plugins.protocol.settings import TransportSettings

_DESCRIPTORS: Final = 2
"""Of a connection: its socket's, and that of its grip."""


class Answer(requests.Response):
    """requests' own, whose headers and cookies are made when they are asked for: they rarely are."""

    def __init__(self, request: requests.PreparedRequest, raw: Any, adapter: GuardedAdapter) -> None:
        # Not through the base class: half of what its constructor makes is thrown away.
        self._content = False  # type: ignore[assignment]  # as requests says: not read yet
        self._content_consumed = False
        self._next = None
        self.status_code = raw.status
        self.reason = raw.reason
        self.raw = raw
        self.url = request.url or ""
        self.request = request
        self.connection = adapter
        self.encoding = None
        self.history = []

    @functools.cached_property
    def headers(self) -> CaseInsensitiveDict[str]:  # type: ignore[override]
        """The answer's headers."""
        return CaseInsensitiveDict(self.raw.headers)

    @functools.cached_property
    def cookies(self) -> RequestsCookieJar:  # type: ignore[override]
        """The cookies it sets."""
        jar = RequestsCookieJar()
        extract_cookies_to_jar(jar, self.request, self.raw)  # type: ignore[no-untyped-call]
        return jar


class GuardedAdapter(requests.adapters.HTTPAdapter):
    """An adapter whose connections judge addresses and can be broken off. Mount another one and it is your watch."""

    def __init__(
        self, current: Callable[[], Job], settings: TransportSettings, certificate: Certificate | None = None
    ) -> None:
        """``current`` gives the job that the calling thread works on."""
        self._current = current
        self._connection_pools = pools(current)
        self._context = _tls_context(settings.verify, certificate)
        self._tls = {"ssl_context": self._context, "cert_reqs": "CERT_REQUIRED" if settings.verify else "CERT_NONE"}
        self._socks = settings.proxy is not None and settings.proxy.socks
        kept = settings.kept_connections(_DESCRIPTORS)
        self._known_pool = functools.lru_cache(kept)(self._pool_key)
        super().__init__(pool_connections=kept, pool_maxsize=settings.threads)

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        """As requests' own, with our pools."""
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = self._connection_pools

    def build_connection_pool_key_attributes(self, *arguments: Any, **options: Any) -> Any:
        """As requests' own, with one TLS context for all: reading the certificates takes 10 ms of each connection."""
        host, _ = super().build_connection_pool_key_attributes(*arguments, **options)
        return host, self._tls

    def cert_verify(self, *arguments: Any, **options: Any) -> None:
        """Nothing more to set: the context knows."""

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """As requests' own, with our pools unless they are those of a SOCKS proxy."""
        manager = super().proxy_manager_for(proxy, **options)
        if proxy.startswith("http"):
            manager.pool_classes_by_scheme = self._connection_pools
        return manager

    def get_connection_with_tls_context(
        self,
        request: requests.PreparedRequest,
        verify: Any,
        proxies: Mapping[str, str] | None = None,
        cert: Any = None,
    ) -> Any:
        """The pool of the job's host; its key is not made anew each time."""
        if proxies:
            return super().get_connection_with_tls_context(request, verify, proxies, cert)
        target = self._current().target
        key, context = self._known_pool(target.scheme, target.host, target.port)
        return self.poolmanager.connection_from_pool_key(key, dict(context))

    def request_url(self, request: requests.PreparedRequest, proxies: Mapping[str, str] | None) -> str:
        """What stands in the request line: the connection writes the job's own."""
        return super().request_url(request, proxies) if proxies else self._current().target.path

    def send(self, request: requests.PreparedRequest, *arguments: Any, **options: Any) -> requests.Response:
        """As requests' own; our connections need no time-out, which would cost a look at the socket for each read."""
        if not (self._socks and options.get("proxies")):
            options["timeout"] = None
        return super().send(request, *arguments, **options)

    def build_response(self, req: requests.PreparedRequest, resp: Any) -> requests.Response:
        """The answer, as far as it is of use."""
        return Answer(req, resp, self)

    def _pool_key(self, scheme: str, host: str, port: int) -> tuple[Any, dict[str, Any]]:
        manager = self.poolmanager
        context = {**manager.connection_pool_kw, "scheme": scheme, "host": host.strip("[]"), "port": port, **self._tls}
        return manager.key_fn_by_scheme[scheme](dict(context)), context


def _tls_context(verify: bool, certificate: Certificate | None) -> ssl.SSLContext:
    context = create_urllib3_context()
    if certificate is not None:
        context.load_cert_chain(certificate.file, certificate.key, certificate.password or None)
    if verify:
        context.load_verify_locations(certifi.where())
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
