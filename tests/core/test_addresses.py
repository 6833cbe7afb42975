from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nutchpy.core.addresses import GROUP_NAMES, PUBLIC_ONLY, AddressFilter, address_allowed
from nutchpy.core.errors import ConfigError


@pytest.mark.parametrize(
    ("ip", "reason"),
    [
        ("127.0.0.1", "loopback"),
        ("::1", "loopback"),
        ("169.254.169.254", "metadata"),
        ("169.254.1.1", "linklocal"),
        ("10.1.2.3", "private"),
        ("fd00::1", "private"),
        ("100.64.0.1", "cgnat"),
        ("239.1.1.1", "multicast"),
        ("0.0.0.0", "unspecified"),
        ("::", "unspecified"),
        ("::7f00:1", "reserved"),
        ("255.255.255.255", "reserved"),
        ("2001:db8::1", "reserved"),
        ("::ffff:10.0.0.1", "private"),
        ("::ffff:0:10.0.0.1", "private"),
        ("64:ff9b::7f00:1", "loopback"),
        ("64:ff9b:1::1", "reserved"),
        ("2002:a9fe:a9fe::1", "metadata"),
        ("2001:0:808:808::80ff:fffe", "reserved"),
        ("fe80::1%eth0", "linklocal"),
        ("127.1", "loopback"),
        ("0x7f.1", "loopback"),
        ("localhost", "not an address"),
        ("", "not an address"),
        ("::1]/x", "not an address"),
    ],
)
def test_refused_by_default(ip: str, reason: str) -> None:
    assert address_allowed(ip) == (False, reason)


@pytest.mark.parametrize("ip", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"])
def test_public(ip: str) -> None:
    assert address_allowed(ip) == (True, "public")


def test_empty_lists_refuse_nothing_but_names() -> None:
    anything = AddressFilter.of([])
    assert anything.refuse("127.0.0.1") is None
    assert anything.refuse("ff02::1") is None
    assert anything.refuse("localhost") == "not an address"


def test_exclude_takes_groups_addresses_and_blocks() -> None:
    some = AddressFilter.of(["Loopback", "93.184.216.0/24", "2606:4700::1"])
    assert some.refuse("127.9.9.9") == "loopback"
    assert some.refuse("93.184.216.34") == "93.184.216.0/24"
    assert some.refuse("::ffff:93.184.216.34") == "93.184.216.0/24"
    assert some.refuse("2606:4700::1") == "2606:4700::1/128"
    assert some.refuse("10.0.0.1") is None


def test_leaving_a_group_out_lets_all_of_it_pass() -> None:
    some = AddressFilter.of([name for name in GROUP_NAMES if name != "loopback"])
    assert some.refuse("::1") is None
    assert some.refuse("127.0.0.1") is None
    assert some.refuse("::ffff:127.0.0.1") is None


def test_teredo_is_judged_by_the_addresses_it_carries() -> None:
    assert AddressFilter.of(["loopback"]).refuse("2001:0:808:808::80ff:fffe") == "loopback"


def test_include_is_the_only_set_allowed_and_lifts_excluded_groups() -> None:
    intranet = AddressFilter.of([*GROUP_NAMES, "10.0.0.5"], ["10.0.0.0/8", "sitelocal"])
    assert intranet.refuse("10.0.0.4") is None
    assert intranet.refuse("192.168.1.1") is None
    assert intranet.refuse("10.0.0.5") == "10.0.0.5/32"
    assert intranet.refuse("8.8.8.8") == "not included"
    assert intranet.refuse("127.0.0.1") == "not included"


@pytest.mark.parametrize(
    ("entry", "hint"), [("loopbak", "did you mean loopback"), ("10.0.0.0/40", "groups: "), ("example.org", "groups: ")]
)
def test_unknown_entries_stop_the_run(entry: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=hint):
        AddressFilter.of([entry])


@settings(max_examples=60)
@given(st.ip_addresses(v=4))
def test_mapped_addresses_fare_as_the_address_itself(address: object) -> None:
    assert PUBLIC_ONLY.refuse(f"::ffff:{address}") == PUBLIC_ONLY.refuse(str(address))


@settings(max_examples=60)
@given(st.text(max_size=40))
def test_total(text: str) -> None:
    address_allowed(text)
