"""Refuse files with rows that have no virtual key, by their footers."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.dataset as ds
import pyarrow.parquet as pq

from pyhudi_expr.tables.keys.generators import MissingKey
from pyhudi_expr.tables.keys.key_columns import null_key_message


def require_keys(
    files: Sequence[ds.ParquetFileFragment], columns: Sequence[str], label: str
) -> None:
    """Refuse files in whose rows one of the columns is null; their footers were read already.

    Footers without numbers of nulls pass.

    Raises:
        MissingKey: A column is null in a row; the message begins with `label`.
    """
    for column in columns:
        found = [file.path for file in files if _has_nulls(file.metadata, column)]
        if found:
            raise MissingKey(null_key_message(label, column, found))


def _has_nulls(footer: pq.FileMetaData, column: str) -> bool:
    paths = [footer.schema.column(i).path for i in range(footer.num_columns)]
    if column not in paths:
        return False  # written before the column was added: reported where keys are made
    number = paths.index(column)
    chunks = (footer.row_group(group).column(number) for group in range(footer.num_row_groups))
    return any(
        chunk.statistics is not None
        and chunk.statistics.has_null_count  # type: ignore[attr-defined]
        and bool(chunk.statistics.null_count)
        for chunk in chunks
    )
