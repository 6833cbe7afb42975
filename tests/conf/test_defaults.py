"""defaults.toml itself: every line explained, every name fit for the environment, every setting read by something."""

import re
from pathlib import Path

import nutchpy
from nutchpy.conf.layers import defaults

PACKAGE = Path(nutchpy.__file__).parent
TEXT = (PACKAGE / "conf" / "defaults.toml").read_text(encoding="utf-8")
SCOPED = re.compile(r"urlnormalizer\.(order|regex\.file)\.\w+")


def test_every_setting_has_a_comment() -> None:
    lines = [line for line in TEXT.splitlines() if re.match(r'"?[a-z][\w.-]*"? = ', line)]
    bare = [line for line in lines if " # " not in line and not SCOPED.match(f"urlnormalizer.{line.split(chr(34))[1]}")]
    assert lines
    assert bare == []


def test_names_do_not_collide_in_the_environment() -> None:
    names = [name.upper().replace(".", "_").replace("-", "_") for name in defaults()]
    assert len(set(names)) == len(names)


def test_every_setting_is_read_somewhere() -> None:
    """A setting that nothing reads promises what nobody does."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))

    def is_read(name: str) -> bool:
        family, _, last = name.rpartition(".")  # families are read in a row: f"{family}.{part}"
        in_a_row = f'"{family}"' in sources or f'"{family}.{{' in sources
        return f'"{name}"' in sources or (in_a_row and last in sources)

    assert [name for name in defaults() if not SCOPED.match(name) and not is_read(name)] == []
