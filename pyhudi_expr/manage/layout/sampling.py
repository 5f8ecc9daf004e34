"""Sample rows of a few columns from a table's base files.

Log files are left out: a layout needs the distribution of values, not every value.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi_expr.arrays import AnyChunkedArray, arrow_nulls
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.storage import Storage


def sample_file(storage: Storage, path: str, schema: pa.Schema, rows: int, seed: int) -> pa.Table:
    """Return random rows of a Parquet file, the same ones for the same seed; at most all.

    Args:
        storage: The table's storage.
        path: The file.
        schema: The columns with the types to read; a column that the file does not have is null.
        rows: The number of rows.
        seed: The seed.

    Raises:
        HudiError: The file is damaged (CorruptFile) or cannot be read.
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
        _as(read.column(field.name).take(chosen), field.type)
        if field.name in there
        else pa.nulls(len(chosen), field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _as(values: AnyChunkedArray, type_: pa.DataType) -> AnyChunkedArray:
    """Return the values as another type; null for values of an older file that do not fit."""
    try:
        return values.cast(type_)
    except pa.ArrowException:
        return pa.chunked_array([arrow_nulls(len(values), type_)])
