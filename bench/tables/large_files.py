"""Tables of large base files whose rows ascend, written by pyarrow much as Hudi writes them."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.tables.plain_files import WITHOUT_META_FIELDS, file_name, write_metadata
from devtools.runtime import WORK
from pyhudi_expr.arrays import arrow_buffer

GROUP_ROWS = 1_000_000
"""Rows of a row group, which has about 128 MB."""

_DIRECTORY = WORK / "bench" / "large-files"
_INSTANT = "20260101000000000"
_PAYLOAD_BYTES = 96
_CITIES = 1_000
_FIELDS = (
    ("id", pa.int64(), "long"),
    ("ts", pa.timestamp("us", "UTC"), {"type": "long", "logicalType": "timestamp-micros"}),
    ("city", pa.string(), "string"),
    ("amount", pa.float64(), "double"),
    ("payload", pa.binary(), "bytes"),
)
_SCHEMA = pa.schema([pa.field(name, type_) for name, type_, _ in _FIELDS])


def ensure_written(name: str, files: int, groups: int) -> Path:
    """Return a copy-on-write table without a metadata table; write it if it is missing.

    Row `n` of the table has the id `n`, and the time of `n` seconds since 2020.

    Args:
        name: The table's name.
        files: The number of its files.
        groups: The number of row groups of each.
    """
    path = _DIRECTORY / f"{name}-{files}-{groups}"
    if not (path / ".hoodie").is_dir():
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        for number in range(files):
            _write_file(path, number, groups)
        _write_metadata(path, name)
    return path


def ensure_one_row() -> Path:
    """Return a directory with a Parquet file of the same columns and one row, id -1."""
    path = _DIRECTORY / "one-row"
    if not path.is_dir():
        path.mkdir(parents=True)
        values = [[-1], [0], ["city"], [0.0], [b""]]
        pq.write_table(pa.table(values, schema=_SCHEMA), path / "one.parquet")
    return path


def _write_file(path: Path, number: int, groups: int) -> None:
    with pq.ParquetWriter(
        path / file_name(number, _INSTANT),
        _SCHEMA,
        compression="snappy",
        write_page_index=True,
        data_page_size=1 << 20,
        # Hudi's writer gives a dictionary up if its first page has too many values.
        use_dictionary=["city"],  # type: ignore[arg-type]
    ) as writer:
        for group in _groups(number * groups, groups):
            writer.write_table(group, row_group_size=GROUP_ROWS)


def _groups(first: int, groups: int) -> Iterator[pa.Table]:
    for group in range(first, first + groups):
        random = np.random.default_rng(group)
        ids = np.arange(group * GROUP_ROWS, (group + 1) * GROUP_ROWS)
        payload = random.integers(0, 256, GROUP_ROWS * _PAYLOAD_BYTES, np.uint8)
        offsets = np.arange(GROUP_ROWS + 1, dtype=np.int32) * _PAYLOAD_BYTES
        cities = pa.array([f"city {number}" for number in range(_CITIES)])
        yield pa.table(
            [
                pa.array(ids),
                pa.array(1_577_836_800_000_000 + ids * 1_000_000, _SCHEMA.field("ts").type),
                cities.take(pa.array(random.integers(0, _CITIES, GROUP_ROWS))),
                pa.array(random.random(GROUP_ROWS)),
                pa.Array.from_buffers(
                    pa.binary(), GROUP_ROWS, [None, arrow_buffer(offsets), arrow_buffer(payload)]
                ),
            ],
            schema=_SCHEMA,
        )


def _write_metadata(path: Path, name: str) -> None:
    fields = [
        {"name": column, "type": ["null", avro], "default": None} for column, _, avro in _FIELDS
    ]
    schema = {"type": "record", "name": name, "fields": fields}
    write_metadata(path, _INSTANT, schema, name, WITHOUT_META_FIELDS)
