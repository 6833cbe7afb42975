"""Signatures by MD5: of the bytes as fetched, or of the text as parsed."""

from __future__ import annotations

import hashlib
from typing import Self

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Content
from nutchpy.core.parse import Parse


class MD5Signature:
    """MD5 of the body; of the URL when the body is empty, so that empty pages are not each other's duplicates."""

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """Has no settings."""
        return cls()

    def calculate(self, content: Content, parse: Parse | None) -> bytes:
        """16 bytes."""
        return digest(content.content or content.url.encode("utf-8", "surrogatepass"))


class TextMD5Signature:
    """MD5 of the parsed text, blind to markup; of the body where there is no text."""

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """Has no settings."""
        return cls()

    def calculate(self, content: Content, parse: Parse | None) -> bytes:
        """16 bytes."""
        if parse is None or not parse.text:
            return MD5Signature().calculate(content, parse)
        return digest(parse.text.encode("utf-8", "surrogatepass"))


def digest(data: bytes) -> bytes:
    """MD5 as a fingerprint, not for security."""
    return hashlib.md5(data, usedforsecurity=False).digest()
