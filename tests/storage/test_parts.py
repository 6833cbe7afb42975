"""Parts: names and what they cover, writing aside, checking."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nutchpy.core.errors import DamagedError
from nutchpy.storage.parts import (
    PartName,
    PartWriter,
    bucket_number,
    check_part,
    conform,
    covered,
    database_parts,
    opened,
    read_columns,
    segment_parts,
    write_part,
    writing,
)
from nutchpy.storage.schema import SCHEMA_VERSION, TABLES
from nutchpy.testing.crawls import rows_of

TEXT = TABLES["parse_text"]
NAMES = st.builds(
    lambda number, first, more: PartName(number, first, first + more),
    st.integers(0, 99_999),
    st.integers(0, 50_000),
    st.integers(0, 40_000),
)


def rows(*urls: str) -> pa.Table:
    return rows_of("parse_text", urls)


@given(NAMES)
def test_names_read_back(name: PartName) -> None:
    assert PartName.parse(str(name)) == name


@pytest.mark.parametrize(
    "name",
    [
        "part-00000.parquet",
        "part-0-0.parquet",
        "_part-00000-00000.parquet",
        "part-00000-00000.parquet.tmp",
        "part-00000-00000-00001-00002.parquet",
        ".part-00000-00000.parquet",
    ],
)
def test_other_names_are_no_segment_parts(name: str) -> None:
    assert PartName.parse(name) is None


def test_names_sort_by_list_then_flush() -> None:
    names = [PartName(1, 0, 0), PartName(0, 10, 10), PartName(0, 2, 9)]
    assert [str(name) for name in sorted(names)] == [
        "part-00000-00002-00009.parquet",
        "part-00000-00010.parquet",
        "part-00001-00000.parquet",
    ]


@pytest.mark.parametrize(
    ("name", "applied", "whole"),
    [
        ((0, 0, 0), [(0, 0, 0)], True),
        ((0, 0, 0), [(1, 0, 0)], False),
        ((0, 1, 1), [(0, 0, 4)], True),
        ((0, 0, 2), [(0, 0, 0), (0, 1, 1), (0, 2, 2)], True),
        ((0, 0, 2), [(0, 0, 0), (0, 2, 2)], False),
        ((0, 0, 3), [(0, 0, 1), (0, 1, 3)], True),
        ((0, 0, 0), [], False),
    ],
)
def test_covered(name: tuple[int, int, int], applied: list[tuple[int, int, int]], whole: bool) -> None:
    assert covered(PartName(*name), [PartName(*part) for part in applied]) is whole


def test_a_merged_part_makes_those_it_replaces_dead(tmp_path: Path) -> None:
    names = [(0, 0, 0), (0, 1, 1), (0, 2, 2), (0, 0, 1), (1, 0, 0)]
    for name in names:
        write_part(tmp_path / str(PartName(*name)), TEXT, rows("http://a.test/"))
    (tmp_path / "_aside.parquet").touch()
    assert [name for name, _ in segment_parts(tmp_path)] == [
        PartName(0, 0, 1),
        PartName(0, 2, 2),
        PartName(1, 0, 0),
    ]
    assert segment_parts(tmp_path / "nowhere") == []


def test_database_parts(tmp_path: Path) -> None:
    slices = ["part-00000-00000.parquet", "part-00000-00001.parquet"]
    for name in ("part-00001.parquet", *reversed(slices), "_meta.json", ".in-use", "part-00000-00000-00000.parquet"):
        (tmp_path / name).touch()
    assert [path.name for path in database_parts(tmp_path)] == [*slices, "part-00001.parquet"]
    assert [bucket_number(path) for path in database_parts(tmp_path)] == [0, 0, 1]


def test_a_part_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "content" / "part-00000-00000.parquet"
    writer = PartWriter(target, TEXT, {"made_by": "a test"})
    writer.write(rows("http://a.test/"))
    writer.write(rows("http://b.test/").to_batches()[0])
    assert not target.exists()
    assert all(path.name.startswith("_") for path in target.parent.iterdir())
    assert writer.publish() == target
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    assert (writer.rows, check_part(target, TEXT)) == (2, 2)
    metadata = pq.read_metadata(target).metadata
    assert metadata[b"nutchpy.table"] == b"parse_text"
    assert metadata[b"made_by"] == b"a test"


def test_a_part_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(DamagedError, match="lack"), writing(tmp_path / "part-00000-00000.parquet", TEXT) as writer:
        writer.write(pa.table({"url": ["http://a.test/"]}))
    assert not list(tmp_path.iterdir())


def test_conform_orders_casts_and_names_what_is_missing() -> None:
    loose = pa.table({"text": pa.array(["t"], pa.large_string()), "more": [1], "url": ["http://a.test/"]})
    assert conform(loose, TEXT).schema == TEXT.schema.remove_metadata()
    with pytest.raises(DamagedError, match="lack the columns text"):
        conform(loose.drop_columns(["text"]), TEXT)


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_check_names_a_damaged_part(tmp_path: Path, damage: str) -> None:
    path = write_part(tmp_path / "part-00000-00000.parquet", TEXT, rows("http://a.test/"))
    whole = path.read_bytes()
    footer = len(whole) - 20
    path.write_bytes(
        {"cut": whole[:-5], "flipped": whole[:footer] + b"\xff" * 8 + whole[footer + 8 :], "empty": b""}[damage]
    )
    with pytest.raises(DamagedError, match=str(path)):
        check_part(path, TEXT)


def test_check_names_what_drifted(tmp_path: Path) -> None:
    path = tmp_path / "part-00000-00000.parquet"
    pq.write_table(pa.table({"url": [1], "text": ["t"]}), path)
    with pytest.raises(DamagedError, match="column url is int64, not string"):
        check_part(path, TEXT)


def test_check_takes_dictionaries_and_inner_names_as_writers_give_them(tmp_path: Path) -> None:
    table = TABLES["linkdb"]
    path = tmp_path / "part-00000.parquet"
    found = rows_of("linkdb", [{"url": "http://a.test/", "inlinks": [{"from_url": "http://b.test/", "anchor": "b"}]}])
    encoded = found.set_column(0, "url", found["url"].dictionary_encode())
    pq.write_table(encoded, path)
    assert check_part(path, table) == 1


def test_check_refuses_a_newer_schema(tmp_path: Path) -> None:
    path = tmp_path / "part-00000-00000.parquet"
    with writing(path, TEXT, {"nutchpy.schema_version": str(SCHEMA_VERSION + 1)}) as writer:
        writer.write(rows("http://a.test/"))
    with pytest.raises(DamagedError, match="newer than this nutchpy"):
        check_part(path, TEXT)


def test_a_flipped_bit_in_a_page_is_told(tmp_path: Path) -> None:
    path = tmp_path / "part-00000-00000.parquet"
    write_part(path, TABLES["parse_text"], rows_of("parse_text", [{"url": f"http://a.test/{n}"} for n in range(500)]))
    whole = path.read_bytes()
    with opened(path) as file:
        assert file.read().num_rows == 500
    start = whole.index(b"\x28\xb5\x2f\xfd") + 20  # inside the first page's zstd frame
    path.write_bytes(whole[:start] + bytes([whole[start] ^ 1]) + whole[start + 1 :])
    with pytest.raises(DamagedError, match=path.name):
        read_columns(path, ["url"])
