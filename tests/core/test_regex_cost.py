from __future__ import annotations

import pytest

from nutchpy.core import java_regex
from nutchpy.core.regex_cost import ENDLESS, steps

HARMLESS = [
    r"^(?:file|ftp|mailto):",
    r"(?i)\.(?:gif|jpg|js)$",
    r"(/[^/]+)/[^/]+\1/[^/]+\1/",
    r"(?i)(;?\b_?(l|j|bv_)?(sid|phpsessid|sessionid)=.*?)(\?|&|#|$)",
    r"(?<!:)/{2,}",
    r"^https?://([a-z0-9-]+\.)*example\.org/",
    r"^http://.*x.*foo",
    r"(a|b)*c",
    r"a++b",
]
ENDLESS_ONES = [
    r"(a+)+$",
    r"(a|aa)+$",
    r"(x+x+)+y",
    r"(a{0,30}){0,30}$",
    r"^(.*?,){12}P",
    r"(a*)*b",
    r"(?=(a+)+b)a",
    r"(?>(a+)+b)c",
    r".*a.*a.*a$",
]


@pytest.mark.parametrize("pattern", HARMLESS)
def test_harmless(pattern: str) -> None:
    assert steps(java_regex.parse(pattern).node, 512) <= 1 << 20


@pytest.mark.parametrize("pattern", ENDLESS_ONES)
def test_what_can_hang_is_seen(pattern: str) -> None:
    assert steps(java_regex.parse(pattern).node, 512) == ENDLESS


def test_what_an_anchor_spares() -> None:
    assert steps(java_regex.parse("^abc").node, 100) == 1
    assert steps(java_regex.parse("abc").node, 100) == 100


def test_a_repetition_that_can_stop_at_one_place_only_has_one_way() -> None:
    assert steps(java_regex.parse("^[^/]+/").node, 100) == 1
    assert steps(java_regex.parse("^[^/]+a").node, 100) == 100
