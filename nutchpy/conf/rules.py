"""Rule files: where a filter's or normalizer's rules come from, and their hash.

Knows the two folders looked in (the user's conf folder, then the shipped ``files/``), not what the rules mean.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nutchpy.core.errors import ConfigError

SHIPPED: Final = Path(__file__).parent / "files"


@dataclass(frozen=True, slots=True)
class RuleText:
    """The text of a rule file or inline setting. ``source`` is what an error message should name."""

    text: str
    source: str
    sha256: str
    shipped: bool = False
    """Whether it is the file that came with nutchpy, not the user's own."""


def inline(setting: str, text: str) -> RuleText:
    """Rules written into a setting itself."""
    return RuleText(text, f"setting {setting}", hashlib.sha256(text.encode()).hexdigest())


def find(file_name: str, conf_dir: Path | None) -> Path | None:
    """The rule file: the user's, else the shipped one. An absolute name is taken as it is."""
    folders = [folder for folder in (conf_dir, SHIPPED) if folder is not None]
    return next((path for folder in folders if (path := folder / file_name).is_file()), None)


def read(setting: str, file_name: str, conf_dir: Path | None) -> RuleText:
    """The rules of ``file_name``; ConfigError naming the places looked in when it is nowhere, or is not text."""
    path = find(file_name, conf_dir)
    if path is None:
        looked_in = f"{conf_dir or '(no conf folder)'} and {SHIPPED}"
        raise ConfigError(f"rule file {file_name!r} (setting {setting}) is not in {looked_in}")
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"rule file {path} (setting {setting}) cannot be read: {error}") from error
    return RuleText(text, str(path), hashlib.sha256(data).hexdigest(), shipped=SHIPPED in path.parents)
