"""Small Hudi tables with real rows, written without Spark: base files and one commit."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.tables.tables import TinyTable

_INSTANT = "20240101000000000"
_AVRO = {pa.int64(): '"long"', pa.string(): '"string"'}


def written(path: Path, partitions: Mapping[str, list[pa.Table]]) -> str:
    """Writes a copy-on-write table with these files by partition; returns its base path."""
    some = next(iter(partitions.values()))[0]
    fields = ", ".join(
        f'{{"name": "{one.name}", "type": ["null", {_AVRO[one.type]}], "default": null}}'
        for one in some.schema
    )
    schema = f'{{"type": "record", "name": "tiny", "fields": [{fields}]}}'
    table = TinyTable.create(
        path,
        hoodie__table__type="COPY_ON_WRITE",
        hoodie__table__create__schema=schema.replace(":", "\\:"),
    )
    table.complete(_INSTANT, "20240101000001000", "commit")
    for partition, files in partitions.items():
        for number, rows in enumerate(files):
            name = table.base(f"{partition}-{number:04d}", _INSTANT, partition)
            pq.write_table(rows, path / partition / name)
    return str(path)


def rows(count: int, seed: int = 1) -> pa.Table:
    """Rows of two independent columns and a constant one: a is skewed, b has a common prefix."""
    rng = np.random.default_rng(seed)
    urls = [f"https://www.example.com/{n:06d}" for n in rng.integers(0, 10**6, count)]
    return pa.table(
        {
            "a": (1e6 * rng.lognormal(0, 3, count)).astype(np.int64),
            "b": pa.array(urls, pa.string()),
            "c": pa.array(np.full(count, 7, np.int64)),
            "n": pa.array([None] * count, pa.int64()),
        }
    )


def split(table: pa.Table, files: int) -> list[pa.Table]:
    """Splits the rows into files of equal size, in their order."""
    edges = np.linspace(0, table.num_rows, files + 1).astype(int)
    return [table.slice(start, end - start) for start, end in pairwise(edges)]
