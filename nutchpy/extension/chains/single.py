"""Extension points of which one plugin works: fetch schedule, signature, transport."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import Any, cast

from nutchpy.conf.layers import Conf
from nutchpy.extension import registry
from nutchpy.extension.points import FetchSchedule, Signature, Transport
from nutchpy.extension.schemes import Routed

_log = logging.getLogger(__name__)


def schedule(conf: Conf) -> FetchSchedule:
    """The schedule that ``db.fetch.schedule.class`` names."""
    return cast("FetchSchedule", _single("schedule", conf))


def signature(conf: Conf) -> Signature:
    """The signature that ``db.signature.class`` names."""
    return cast("Signature", _single("signature", conf))


def transport(conf: Conf) -> Transport:
    """The transport that ``protocol.http`` names, together with those for other schemes."""
    if _wants_missing_curl(conf):
        _log.warning("pycurl is not installed here: fetching with requests, which takes more processor time")
        conf = conf.with_values({"protocol.http": "requests"})
    usual = cast("Transport", _single("protocol", conf))
    others = {scheme: registry.load("protocol", name).from_conf(conf) for scheme, name in _others(conf).items()}
    return Routed(usual, others) if others else usual


def schemes(conf: Conf) -> frozenset[str]:
    """The schemes that can be fetched."""
    return frozenset({"http", "https", *_others(conf)})


def _others(conf: Conf) -> dict[str, str]:
    """The plugins for schemes besides http and https."""
    named = {scheme: conf.text(f"protocol.{scheme}") for scheme in ("file", "ftp")}
    return {scheme: name for scheme, name in named.items() if name}


def _wants_missing_curl(conf: Conf) -> bool:
    """By default only: who asked for curl by name gets an error that says what is missing."""
    by_default = len(conf.origin("protocol.http")) == 1
    return by_default and conf.text("protocol.http") == "curl" and find_spec("pycurl") is None


def _single(point: str, conf: Conf) -> Any:
    return registry.load(point, conf.text(registry.SINGLE[point])).from_conf(conf)
