from __future__ import annotations

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import ConfigError
from nutchpy.plugins.protocol.settings import Proxy, TransportSettings, request_headers, user_agent


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"name": "Bot", "version": "1"}, "Bot/1"),
        ({"name": "Bot", "version": ""}, "Bot"),
        ({"name": "Bot", "version": "1", "url": "http://b.example/"}, "Bot/1 (http://b.example/)"),
        ({"name": "B", "version": "1", "description": "d", "url": "u", "email": "e@f"}, "B/1 (d; u; e@f)"),
    ],
)
def test_user_agent(values: dict[str, str], expected: str) -> None:
    conf = defaults().with_values({f"http.agent.{name}": value for name, value in values.items()})
    assert user_agent(conf) == expected


def test_own_headers_replace_by_name() -> None:
    merged = request_headers((("A", "1"), ("B", "2")), (("a", "3"), ("C", "x\r\nD: y\0")))
    assert merged == [("B", "2"), ("a", "3"), ("C", "xD: y")]


@pytest.mark.parametrize(
    ("pattern", "host", "excepted"),
    [
        ("a.example", "a.example", True),
        ("A.example", "A.EXAMPLE", True),
        ("a.example", "b.a.example", False),
        ("*.example", "b.a.example", True),
        ("10.*", "10.1.2.3", True),
        ("*intern*", "www.internal.example", True),
        ("*", "anything", True),
        ("", "anything", False),
    ],
)
def test_proxy_exceptions(pattern: str, host: str, excepted: bool) -> None:
    conf = defaults().with_values({"http.proxy.host": "p", "http.proxy.exception.list": [pattern]})
    proxy = TransportSettings.from_conf(conf).proxy
    assert proxy is not None
    assert proxy.serves(host) is not excepted


@pytest.mark.parametrize(
    ("socks", "remote", "url"),
    [(False, True, "http://p:1"), (True, False, "socks5://p:1"), (True, True, "socks5h://p:1")],
)
def test_proxy_url(socks: bool, remote: bool, url: str) -> None:
    assert Proxy("p", 1, "me", "secret", socks, remote, ()).url == url


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("http.proxy.type", "FTP"),
        ("http.proxy.resolve", "maybe"),
        ("http.filter.ipaddress.exclude", ["lopback"]),
        ("http.filter.ipaddress.include", ["10.0.0.0/99"]),
    ],
)
@pytest.mark.parametrize("proxy", ["", "p"])
def test_settings_that_make_no_sense(name: str, value: str | list[str], proxy: str) -> None:
    conf = defaults().with_values({"http.proxy.host": proxy, name: value})
    with pytest.raises(ConfigError, match=name):
        TransportSettings.from_conf(conf)


def test_shipped_settings_refuse_what_is_not_public() -> None:
    settings = TransportSettings.from_conf(defaults())
    assert settings.verify
    assert settings.proxy is None
    assert settings.addresses.refuse("127.0.0.1") == "loopback"
    assert settings.addresses.refuse("8.8.8.8") is None
