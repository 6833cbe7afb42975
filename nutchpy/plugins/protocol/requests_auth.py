"""Digest authentication for the requests transport: the answer to a challenge, by requests' own arithmetic."""

from __future__ import annotations

from typing import Final

import requests
from requests.auth import HTTPDigestAuth
from requests.utils import parse_dict_header

from nutchpy.plugins.protocol.hosts import Credentials

_UNAUTHORIZED: Final = 401
_DIGEST: Final = "digest "


def digest_answer(credentials: Credentials | None, response: requests.Response, url: str) -> str | None:
    """The Authorization header that a challenge asks for; None when there is none, or nobody to answer it."""
    if credentials is None or response.status_code != _UNAUTHORIZED:
        return None
    challenge = response.headers.get("www-authenticate", "")
    at = challenge.lower().find(_DIGEST)
    if at < 0:
        return None
    auth = HTTPDigestAuth(credentials.username, credentials.password)
    auth.init_per_thread_state()
    chal = parse_dict_header(challenge[at + len(_DIGEST) :])  # type: ignore[no-untyped-call]
    auth._thread_local.chal = chal  # type: ignore[attr-defined]
    answer: str | None = auth.build_digest_header("GET", url)  # type: ignore[no-untyped-call]
    return answer
