"""What each host gets besides: headers of its own, credentials, a client certificate, cookies; and who we say we are.

Settings of ``[host."example.org"]`` tables hold for that host and those under it. Whatever is secret may be written as
``env:NAME``: it is then read from the environment, and never shown, logged or stored.
"""

from __future__ import annotations

import base64
import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Headers
from nutchpy.core.errors import ConfigError

_FROM_ENVIRONMENT: Final = "env:"
_ALWAYS_SECRET: Final = ("authorization", "proxy-authorization", "cookie")
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_OURS: Final = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "te", "upgrade"}
)
_SCHEMES: Final = ("", "basic", "digest")


@dataclass(frozen=True, slots=True)
class Credentials:
    """For digest authentication, which is an answer to a challenge; basic is a header like any other."""

    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A client certificate: PEM files, one may hold both."""

    file: str
    key: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class HostOptions:
    """What requests to one host carry."""

    headers: Headers = field(default=(), repr=False)
    digest: Credentials | None = None
    certificate: Certificate | None = None
    secrets: re.Pattern[bytes] = field(default_factory=lambda: _masking(()))

    @property
    def identified(self) -> bool:
        """Whether the host is shown more than headers."""
        return self.digest is not None or self.certificate is not None

    def masked(self, head: bytes) -> bytes:
        """A request's head as it may be kept."""
        return self.secrets.sub(rb"\1 (not kept)", head)


class Hosts:
    """``of(host)`` gives its options; ``agent`` the next name to go by, when they take turns."""

    def __init__(self, of: Callable[[str], HostOptions], agents: Sequence[str] = ()) -> None:
        self.of = of
        self._agents: Iterator[str] | None = itertools.cycle(agents) if agents else None

    @classmethod
    def from_conf(cls, conf: Conf, env: Mapping[str, str] = os.environ) -> Hosts:
        """Read the settings of all hosts; ConfigError when one makes no sense, whichever host it is for."""
        if conf.text("http.auth.scheme"):
            raise ConfigError('http.auth.scheme stands outside of a [host."example.org"] table: who is to get it?')
        cookies = _cookies(conf)
        usual = _options(conf, env, None)
        named = {host for layer in conf.layers for host in layer.hosts} | set(cookies)
        for host in named:
            _options(conf.for_host(host), env, cookies.get(host))

        @lru_cache(maxsize=10_000)
        def of(host: str) -> HostOptions:
            own = conf.for_host(host)
            cookie = cookies.get(host)
            return usual if own is conf and cookie is None else _options(own, env, cookie)

        return cls(of if named else lambda _host: usual, _agents(conf))

    @property
    def rotates(self) -> bool:
        """Whether each request goes by another name."""
        return self._agents is not None

    def agent(self) -> str | None:
        """The next User-Agent of the rotation; None when there is none."""
        return next(self._agents) if self._agents is not None else None


def secret(value: str, setting: str, env: Mapping[str, str] = os.environ) -> str:
    """A setting's value, or that of the environment's variable it names."""
    if not value.startswith(_FROM_ENVIRONMENT):
        return value
    name = value.removeprefix(_FROM_ENVIRONMENT)
    if name not in env:
        raise ConfigError(f"{setting} is env:{name}, and the environment has no {name}")
    return env[name]


def _options(conf: Conf, env: Mapping[str, str], cookie: str | None) -> HostOptions:
    headers, secrets = _headers(conf, env)
    scheme = conf.text("http.auth.scheme").lower()
    if scheme not in _SCHEMES:
        raise ConfigError(f"http.auth.scheme: {scheme!r} is neither basic nor digest")
    username = secret(conf.text("http.auth.username"), "http.auth.username", env)
    password = secret(conf.text("http.auth.password"), "http.auth.password", env)
    if scheme == "basic":
        pair = base64.b64encode(f"{username}:{password}".encode()).decode()
        headers.append(("Authorization", f"Basic {pair}"))
    if cookie is not None and conf.flag("http.enable.cookie.header"):
        headers.append(("Cookie", cookie))
    return HostOptions(
        headers=tuple(headers),
        digest=Credentials(username, password) if scheme == "digest" else None,
        certificate=_certificate(conf, env),
        secrets=_masking(secrets),
    )


def _headers(conf: Conf, env: Mapping[str, str]) -> tuple[list[tuple[str, str]], list[str]]:
    """``http.request.headers``, and the names of those whose values come from the environment."""
    headers, secrets = [], []
    for line in conf.words("http.request.headers"):
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not _TOKEN.fullmatch(name) or name.lower() in _OURS:
            raise ConfigError(
                f"http.request.headers: {name!r} is not the beginning of a header to be set, as in Name: value"
            )
        if value.startswith(_FROM_ENVIRONMENT):
            secrets.append(name)
        headers.append((name, secret(value, f"http.request.headers, {name},", env)))
    return headers, secrets


def _certificate(conf: Conf, env: Mapping[str, str]) -> Certificate | None:
    file = conf.text("http.tls.client.certificate")
    if not file:
        return None
    key = conf.text("http.tls.client.key") or file
    for path in (file, key):
        if not os.path.isfile(path):  # noqa: PTH113  a text that goes to libraries as it is
            raise ConfigError(f"http.tls.client.certificate or .key: there is no file {path}")
    return Certificate(
        file, key, secret(conf.text("http.tls.client.key.password"), "http.tls.client.key.password", env)
    )


def _cookies(conf: Conf) -> dict[str, str]:
    """Nutch's file: ``host TAB cookie`` a line; lines with ``#`` in them are passed over."""
    if not conf.text("http.agent.host.cookie.file"):
        return {}
    found = {}
    for line in conf.rules("http.agent.host.cookie.file").text.splitlines():
        host, tab, cookie = line.partition("\t")
        if tab and "#" not in line:
            found[host.strip().lower()] = cookie.strip()
    return found


def _agents(conf: Conf) -> list[str]:
    """The rotation's names, one a line; none when it is off."""
    if not conf.flag("http.agent.rotate"):
        return []
    rules = conf.rules("http.agent.rotate.file")
    lines = [line.strip() for line in rules.text.splitlines()]
    names = [line for line in lines if line and not line.startswith("#")]
    if not names:
        raise ConfigError(f"http.agent.rotate is on, and {rules.source} names no agent")
    return names


def _masking(names: Sequence[str]) -> re.Pattern[bytes]:
    every = "|".join(re.escape(name) for name in (*_ALWAYS_SECRET, *names))
    return re.compile(rf"^((?:{every}):)[^\r\n]*".encode(), re.IGNORECASE | re.MULTILINE)
