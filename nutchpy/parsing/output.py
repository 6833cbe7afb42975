"""Publishing parse parts: parse_text, parse_data, then crawl_parse, whose appearance says that the pages are parsed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import pyarrow as pa

from nutchpy.parsing.feed import FeedWriter
from nutchpy.storage.parts import PartName, PartWriter
from nutchpy.storage.schema import TABLES
from nutchpy.storage.segment import Segment


class ParseParts:
    """The three parts of one name: written as rows come, published together or not at all."""

    def __init__(self, segment: Segment, name: PartName) -> None:
        self._writers: dict[str, PartWriter | FeedWriter] = {}
        try:
            for table in ("parse_text", "parse_data"):
                self._writers[table] = PartWriter(segment.path / table / str(name), TABLES[table])
            self._writers["crawl_parse"] = FeedWriter(segment.path / "crawl_parse" / str(name))
        except BaseException:
            self.discard()
            raise

    def write(self, tables: Mapping[str, pa.Table]) -> Self:
        """Append rows by table."""
        for name, rows in tables.items():
            if rows.num_rows:
                self._writers[name].write(rows)
        return self

    def publish(self) -> None:
        """Make them durable, crawl_parse last."""
        try:
            for name in list(self._writers):
                self._writers[name].publish()
                del self._writers[name]
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """Leave nothing of what is not published."""
        for writer in self._writers.values():
            writer.discard()
        self._writers.clear()


def write_parts(segment: Segment, name: PartName, tables: Mapping[str, pa.Table]) -> None:
    """Publish the parse tables of one part at once."""
    ParseParts(segment, name).write(tables).publish()
