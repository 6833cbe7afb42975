"""Content-Type headers read by the MIME Sniffing and Fetch standards: essence, parameters, several headers combined.

Pure text work; which charset a label names is decided where bodies are decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

_HTTP_SPACE: Final = " \t\r\n"
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE: Final = re.compile("[\t\x20-\x7e\x80-\xff]*")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)(\\?)(?:"|$)', re.DOTALL)
_NAME_END: Final = re.compile("[;=]")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_PIECE: Final = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*(?:"|\\?$))*', re.DOTALL)


@dataclass(frozen=True, slots=True)
class MimeType:
    """A parsed Content-Type; ``essence`` is ``type/subtype`` in lower case."""

    essence: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def charset(self) -> str | None:
        """The label of the charset parameter, as written."""
        return self.parameters.get("charset")

    def __str__(self) -> str:
        return self.essence + "".join(f";{name}={_serialised(value)}" for name, value in self.parameters.items())


def parse(text: str) -> MimeType | None:
    """One Content-Type value; None when its type or subtype is none."""
    essence, _, rest = text.strip(_HTTP_SPACE).partition(";")
    kind, slash, subtype = essence.rstrip(_HTTP_SPACE).partition("/")
    if not slash or not _TOKEN.fullmatch(kind) or not _TOKEN.fullmatch(subtype):
        return None
    return MimeType(f"{kind}/{subtype}".lower(), _parameters(rest))


def extract(values: Sequence[str]) -> MimeType | None:
    """The type of a response with these headers: the last valid one; a charset is carried on within one essence."""
    found: MimeType | None = None
    charset: str | None = None
    for piece in split(values):
        parsed = parse(piece)
        if parsed is None or parsed.essence == "*/*":
            continue
        if found is None or parsed.essence != found.essence:
            charset = parsed.charset
        elif parsed.charset is None and charset is not None:
            parsed = MimeType(parsed.essence, {**parsed.parameters, "charset": charset})
        found = parsed
        charset = parsed.charset or charset
    return found


def split(values: Iterable[str]) -> list[str]:
    """Header values joined by commas and cut at those outside quotes (Fetch's *get, decode and split*)."""
    text = ", ".join(values)
    pieces: list[str] = []
    position = 0
    while position <= len(text):
        match = _PIECE.match(text, position)
        end = match.end() if match else position
        pieces.append(text[position:end].strip(" \t"))
        position = end + 1
    return pieces


def _parameters(text: str) -> dict[str, str]:
    """Name and value of each valid parameter; the first of a name wins."""
    parameters: dict[str, str] = {}
    position = 0
    while position < len(text):
        name, position = _name(text, position)
        if position >= len(text) or text[position - 1] == ";":
            continue
        value, position = _value(text, position)
        if value is not None and name not in parameters and _TOKEN.fullmatch(name) and _VALUE.fullmatch(value):
            parameters[name] = value
    return parameters


def _name(text: str, position: int) -> tuple[str, int]:
    """The name at ``position``, and the place behind the ``=`` or ``;`` that ends it."""
    match = _NAME_END.search(text, position)
    end = match.start() if match else len(text)
    return text[position:end].lstrip(_HTTP_SPACE).lower(), end + 1


def _value(text: str, position: int) -> tuple[str | None, int]:
    """The value at ``position`` (None when empty and not quoted), and the place behind the ``;`` that ends it."""
    quoted = _QUOTED.match(text, position)
    end = text.find(";", quoted.end() if quoted else position)
    end = len(text) if end < 0 else end
    if quoted:
        return _ESCAPE.sub(r"\1", quoted[1]) + quoted[2], end + 1
    return text[position:end].rstrip(_HTTP_SPACE) or None, end + 1


def _serialised(value: str) -> str:
    if _TOKEN.fullmatch(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
