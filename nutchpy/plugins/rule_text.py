"""What rule files have in common: how they are cut into lines, and how an error or a counter names a line.

Shared by URL filters and normalizers; what a line means is each plugin's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from nutchpy.core import urls as url_keys
from nutchpy.core.errors import ConfigError

LONGEST_HOST: Final = 253
"""Characters a host name can have in the DNS."""
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, cut where Java cuts them and nowhere else, without a byte order mark."""
    return enumerate(_LINE_END.split(text.removeprefix("\ufeff")), start=1)


def content_lines(text: str) -> Iterator[tuple[int, str]]:
    """Stripped lines that are neither blank nor a comment, for the formats that are lists of words."""
    for number, line in numbered_lines(text):
        if (stripped := line.strip()) and not stripped.startswith("#"):
            yield number, stripped


def table_host(word: str) -> str:
    """A host in the form hosts have in the tables, lower case and ASCII; what is no host only in lower case."""
    return url_keys.host_of(f"http://{word}/") or word.lower()


def and_parents(host: str) -> list[str]:
    """A host and the domains above it, the longest first; only itself when no name server would look at it."""
    if len(host) > LONGEST_HOST:
        return [host]
    return [host, *(host[at + 1 :] for at, char in enumerate(host) if char == ".")]


def line_name(source: str, number: int) -> str:
    """What a counter calls a rule: ``regex-urlfilter.txt:12``, ``urlfilter.regex.rules:3``."""
    return f"{PurePath(source.removeprefix('setting ')).name}:{number}"


def line_error(source: str, number: int, message: str) -> ConfigError:
    """The error of a line that cannot be read."""
    return ConfigError(f"{source}:{number}: {message}")
