"""The JavaScript parser: strings that are URLs, as outlinks. Off by default: such strings often lead nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final, Self

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Content
from nutchpy.core.parse import Parse
from nutchpy.plugins.parse.document import Reading, Reference

_STRING: Final = re.compile(r"""(["'`])((?:https?:)?(?:\\?/){1,2}[^\s"'`<>{}|^*]{1,2000}|\.{1,2}/[^\s"'`<>{}|^*]{1,2000}|[\w./-]{1,200}\.(?:html?|php|aspx?|jsp|pdf)(?:\?[^\s"'`<>{}|^*]{0,2000})?)\1""")  # fmt: skip # noqa: E501
_ESCAPED: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))")


class JavaScriptParser:
    """Parses scripts."""

    mime_types: ClassVar[tuple[str, ...]] = (
        "text/javascript",
        "application/javascript",
        "application/x-javascript",
        "text/ecmascript",
        "application/ecmascript",
    )

    def __init__(self, reading: Reading | None = None) -> None:
        self._reading = reading or Reading()

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """The parser with the charset and names of the settings."""
        return cls(Reading.from_conf(conf))

    def parse(self, content: Content) -> Parse:
        """No text: a program is not for reading."""
        decoded = self._reading.decode(content)
        return self._reading.parse(content, decoded, links=_strings(decoded.text))


def _strings(text: str) -> Iterator[Reference]:
    for match in _STRING.finditer(text):
        reference = _ESCAPED.sub(_character, match[2])
        if reference.strip("./"):
            yield reference, "", "script"


def _character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return chr(int(code, 16)) if code else escape[3]
