"""Which of a statement's input files is damaged: asked only when the statement failed, since it reads them all."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from nutchpy.core.errors import DamagedError
from nutchpy.engine.base import Files, Inputs
from nutchpy.storage.parts import check_part


def find_damage(inputs: Inputs) -> None:
    """Raise DamagedError naming the first part that is missing, cut, of another schema, or unreadable inside."""
    files = [
        (path, relation.table) for relation in inputs.values() if isinstance(relation, Files) for path in relation.paths
    ]
    for path, table in files:
        check_part(path, table)
    for path, _ in files:
        try:
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    file.read_row_group(group)
        except (OSError, pa.ArrowException) as error:
            raise DamagedError(f"{path} cannot be read as Parquet: {error}") from error
