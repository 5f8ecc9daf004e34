"""Rows at random from a table's base files, of a few columns.

Log files are left out: a layout needs to know how values are spread, not which ones there are.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi_expr.table.errors import CorruptFile
from pyhudi_expr.table.storage import Storage


def sample_file(storage: Storage, path: str, schema: pa.Schema, rows: int, seed: int) -> pa.Table:
    """Some rows of a Parquet file, at random but the same for the same seed; all if it has fewer.

    schema: the columns, with the types to read them as; one that the file does not have is null.

    Raises CorruptFile, or another HudiError.
    """
    try:
        with storage.open_input(path) as source, pq.ParquetFile(source) as file:
            there = [name for name in schema.names if name in file.schema_arrow.names]
            count = file.metadata.num_rows
            read = file.read(columns=there) if there else pa.table({})
    except (OSError, pa.ArrowException) as error:
        raise CorruptFile(f"{storage.uri}/{path}", f"it cannot be sampled: {error}") from error
    chosen = np.arange(count)
    if count > rows:
        rng = np.random.default_rng([seed, count])
        chosen = np.sort(rng.choice(count, rows, replace=False))
    columns = [
        _as(read.column(field.name).take(pa.array(chosen)), field.type)
        if field.name in there
        else pa.nulls(len(chosen), field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _as(values: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    """The values as another type; null where what an older file has cannot be such."""
    try:
        return values.cast(type_)
    except pa.ArrowException:
        return pa.chunked_array([pa.nulls(len(values), type_)])
