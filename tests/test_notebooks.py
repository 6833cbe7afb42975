"""The notebooks run from top to bottom on a small crawl."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from nutchpy.testing.crawls import LATER, add_fetch, add_parse, make_crawldb, make_linkdb, make_segment

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
HOME, ABOUT, GONE = "http://a.test/", "http://a.test/about", "http://b.test/gone"


def crawl(folder: Path) -> Path:
    """Two hosts, two pages, one failure, one URL that waits."""
    home = {"url": HOME, "status": "db_fetched", "fetch_time": LATER}
    gone = {"url": GONE, "status": "db_gone", "fetch_time": LATER, "depth": 1}
    db = make_crawldb(folder / "crawldb", [home, gone, {"url": ABOUT, "depth": 1}])
    make_linkdb(folder / "linkdb", [{"url": GONE, "inlinks": [{"from_url": HOME, "anchor": "gone"}]}])
    segment = make_segment(folder / "segments", [HOME, GONE], db)
    add_fetch(segment, [HOME, {"url": GONE, "status": "fetch_gone"}], content={HOME: b"<a href=/about>about</a>"})
    add_parse(segment, links={HOME: [ABOUT, GONE]}, signatures={HOME: b"0123456789abcdef"})
    return folder


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")  # of the kernel's own machinery
def test_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAWL", str(crawl(tmp_path / "抓取 目录")))
    for name in ("IPYTHONDIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(path.parent)}}).execute()
    pictures = [
        output
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]
    assert len(pictures) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_kept_without_outputs(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    assert not [cell for cell in cells if cell.cell_type == "code" and (cell.outputs or cell.execution_count)]
