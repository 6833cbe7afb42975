"""PageSignature: the configured signature, held to its contract."""

from __future__ import annotations

import hashlib
from typing import Final

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Content
from nutchpy.core.parse import Parse
from nutchpy.extension.chains.guard import Chain
from nutchpy.extension.chains.single import signature

SIGNATURE_BYTES: Final = 16


class PageSignature(Chain):
    """``db.signature.class``. A plugin that raises, or gives anything but 16 bytes, costs that page its fingerprint:
    it gets the MD5 of its body, or of its URL when the body is empty."""

    def __init__(self, conf: Conf) -> None:
        super().__init__(conf)
        self._name = conf.text("db.signature.class")
        self._plugin = signature(conf)

    def calculate(self, content: Content, parse: Parse | None) -> bytes:
        """16 bytes, always."""
        try:
            found = self._plugin.calculate(content, parse)
            if len(found) != SIGNATURE_BYTES:
                raise ValueError(f"a signature of {len(found)} bytes")
        except MemoryError:
            raise  # the process is at its limit: that is for its owner to tell
        except Exception as error:  # noqa: BLE001  a plugin's fault costs this page its fingerprint
            self.failed(self._name, content.url, error)
            data = content.content or content.url.encode("utf-8", "surrogatepass")
            return hashlib.md5(data, usedforsecurity=False).digest()
        return found
