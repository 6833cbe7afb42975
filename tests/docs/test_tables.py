"""docs/tables.md tells every column of every table and view, as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nutchpy import open_crawl
from nutchpy.stages.sql.views import COMPOSED
from nutchpy.storage.schema import TABLES, Table
from nutchpy.testing.crawls import make_crawldb

PAGE = (Path(__file__).parents[2] / "docs" / "tables.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """The text under a heading of the second or third level."""
    found = re.search(rf"^###? {title}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"docs/tables.md has no section {title}"
    return found[1].strip()


def described(table: Table) -> str:
    rows = [f"| `{c.name}` | {c.type}{'?' if c.nullable else ''} | {c.doc} |" for c in table.columns]
    return "\n".join([table.doc, "", "| column | type | meaning |", "|---|---|---|", *rows])


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_tables_are_described_as_declared(table: Table) -> None:
    assert section(table.name) == described(table)


@pytest.mark.parametrize("view", COMPOSED)
def test_views_are_described_with_the_columns_they_have(view: str, tmp_path: Path) -> None:
    make_crawldb(tmp_path / "crawldb", ["http://a.test/"])
    with open_crawl(tmp_path) as crawl:
        columns = crawl.sql(f"select * from {view} limit 0").column_names
    assert re.findall(r"^\| `(\w+)` \|", section(view), re.MULTILINE) == columns
