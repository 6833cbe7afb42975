"""A tiny project with our bin/ in it, which installs without a network: its build backend lies in the tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

BIN = Path(__file__).parents[2] / "bin"

BACKEND = """
import zipfile
INFO = "nutchpy-1.dist-info"
def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "nutchpy-1-py3-none-any.whl"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        wheel.writestr("nutchpy.pth", __file__.rpartition("/")[0] + "\\n")
        wheel.writestr(f"{INFO}/METADATA", "Metadata-Version: 2.1\\nName: nutchpy\\nVersion: 1\\n")
        wheel.writestr(f"{INFO}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{INFO}/RECORD", "")
    return name
build_wheel = build_editable
"""

MAIN = """
import sys
print("ran", *sys.argv[1:])
sys.exit(7 if "fail" in sys.argv else 0)
"""


def lay(root: Path) -> Path:
    """The project, at ``root``."""
    package = root / "nutchpy"
    (package / "core").mkdir(parents=True)
    shutil.copytree(BIN, root / "bin", ignore=shutil.ignore_patterns("__pycache__"))
    (package / "__init__.py").touch()
    (package / "core" / "version.py").write_text('VERSION = "1"\n')
    (package / "__main__.py").write_text(MAIN)
    (root / "backend.py").write_text(BACKEND)
    (root / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    require(root, wheel(root))
    return root


def wheel(root: Path) -> str:
    """A dependency that pip takes from the disk."""
    import zipfile

    path = root / "dep-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("dep.py", "")
        archive.writestr("dep-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: dep\nVersion: 1\n")
        archive.writestr("dep-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("dep-1.dist-info/RECORD", "")
    return f"dep @ {path.as_uri()}"


def require(root: Path, *requirements: str) -> None:
    """Write setup.cfg with these dependencies, and one extra."""
    lines = "\n    ".join(requirements)
    extra = f"dep @ {(root / 'dep-1-py3-none-any.whl').as_uri()}"
    (root / "setup.cfg").write_text(
        f"[options]\ninstall_requires =\n    {lines}\n[options.extras_require]\ntest =\n    {extra}\n", encoding="utf-8"
    )


def run(
    command: Path, *words: str, cwd: str | Path = "/", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one of the scripts with hardly any environment: no HOME, LANG=C."""
    bare = {"PATH": os.environ["PATH"], "LANG": "C", "PYTHON": sys.executable, "PIP_NO_INDEX": "1", **(env or {})}
    return subprocess.run(
        [command, *words], cwd=cwd, env=bare, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False
    )
