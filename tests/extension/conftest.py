"""Distributions made on the spot: modules with entry points on sys.path, as pip would leave them."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from nutchpy.extension import registry

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """``install("dist", {"urlfilter": "mine = pkg.mod:Class"}, {"pkg/mod.py": source})``."""

    def install(name: str, entries: Mapping[str, str], files: Mapping[str, str]) -> Path:
        root = tmp_path / name
        info = root / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            "".join(f"[nutchpy.{point}]\n{lines}\n" for point, lines in entries.items())
        )
        for path, source in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(source)
        monkeypatch.syspath_prepend(str(root))
        registry.forget()
        return root

    yield install
    registry.forget()
