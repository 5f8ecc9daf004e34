"""Tables whose files have many row groups and small pages, with columns of all types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.tables.plain_files import file_name, write_metadata

GROUP_ROWS = 1_000
FILE_ROWS = 6_000
FILES = 3
_META_FIELDS = (
    *("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key"),
    *("_hoodie_partition_path", "_hoodie_file_name"),
)
_INSTANT = "20260101000000000"
_DAY, _CLOCK = date(2000, 1, 1), datetime(2020, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Column:
    """A column: how Arrow and Avro name its type."""

    type: pa.DataType
    avro: Any


def _nullable(avro: Any) -> Any:
    return ["null", avro]


def _logical(base: str, name: str, **more: int) -> dict[str, Any]:
    return {"type": base, "logicalType": name, **more}


_STRUCT = {
    "type": "record",
    "name": "inner",
    "fields": [
        {"name": "a", "type": _nullable("int"), "default": None},
        {"name": "t", "type": _nullable("string"), "default": None},
    ],
}
COLUMNS: Mapping[str, Column] = {
    "id": Column(pa.int64(), "long"),
    "i": Column(pa.int32(), "int"),
    "l": Column(pa.int64(), "long"),
    "f": Column(pa.float32(), "float"),
    "d": Column(pa.float64(), "double"),
    "b": Column(pa.bool_(), "boolean"),
    "s": Column(pa.string(), "string"),
    "word": Column(pa.string(), "string"),
    "x": Column(pa.binary(), "bytes"),
    "m": Column(pa.decimal128(9, 2), _logical("bytes", "decimal", precision=9, scale=2)),
    "w": Column(pa.decimal128(38, 10), _logical("bytes", "decimal", precision=38, scale=10)),
    "day": Column(pa.date32(), _logical("int", "date")),
    "at": Column(pa.timestamp("us", "UTC"), _logical("long", "timestamp-micros")),
    "st": Column(pa.struct([("a", pa.int32()), ("t", pa.string())]), _STRUCT),
    "li": Column(pa.list_(pa.int32()), {"type": "array", "items": _nullable("int")}),
    "mp": Column(pa.map_(pa.string(), pa.int32()), {"type": "map", "values": _nullable("int")}),
    "deep": Column(
        pa.list_(pa.struct([("a", pa.int32()), ("t", pa.string())])),
        {"type": "array", "items": _nullable({**_STRUCT, "name": "deeper"})},
    ),
}


def _values(random: Random, row: int) -> dict[str, Any]:
    near = row + random.randrange(50)
    values = {
        "i": near,
        "l": near * 10_000_000_000,
        "f": float("nan") if row % 97 == 0 else near / 8,
        "d": -0.0 if row % 89 == 0 else near / 3,
        "b": near // 700 % 2 == 0,
        "s": f"s{near:08d}" + "x" * random.randrange(70),
        "word": f"word {row // 400}",
        "x": f"{near:06d}".encode() + bytes(range(row % 5)),
        "m": Decimal(near) / 100,
        "w": Decimal(near) * 10**12 + Decimal("0.5"),
        "day": _DAY + timedelta(days=near // 40),
        "at": _CLOCK + timedelta(minutes=near, microseconds=random.randrange(10**6)),
        "st": {"a": random.randrange(9), "t": None if row % 7 else f"t{row}"},
        "li": list(range(1 + random.randrange(9))),
        "mp": {f"k{key}": row + key for key in range(1 + random.randrange(3))},
        "deep": [{"a": row, "t": f"d{at}"} for at in range(random.randrange(5))],
    }
    # NULLs alone for a while, and here and there.
    sparse = row // 1_500 % 3 == 1
    return {
        **dict.fromkeys(_META_FIELDS, f"meta {row // 100}"),
        "id": row,
        **{
            name: None if sparse or random.random() < 0.1 else value
            for name, value in values.items()
        },
    }


def write_table(path: Path, pages: str, *, dictionaries: bool, index: bool = True) -> None:
    """Write a copy-on-write table of version 8 to a new directory.

    Args:
        path: The directory.
        pages: The version of data pages, "1.0" or "2.0".
        dictionaries: Whether values are encoded by dictionaries.
        index: Whether files have an index of their pages.
    """
    fields = [
        {"name": name, "type": _nullable(column.avro), "default": None}
        for name, column in COLUMNS.items()
    ]
    schema = {"type": "record", "name": "paged", "fields": fields}
    write_metadata(path, _INSTANT, schema, "paged")
    for number in range(FILES):
        pq.write_table(
            _rows(Random(number), number * FILE_ROWS),
            path / file_name(number, _INSTANT),
            row_group_size=GROUP_ROWS,
            data_page_size=4_096,
            write_batch_size=64,
            data_page_version=pages,
            use_dictionary=dictionaries,
            write_page_index=index,
        )


def _rows(random: Random, first: int) -> pa.Table:
    rows: Sequence[dict[str, Any]] = [
        _values(random, row) for row in range(first, first + FILE_ROWS)
    ]
    schema = pa.schema(
        [
            *((name, pa.string()) for name in _META_FIELDS),
            *((name, column.type) for name, column in COLUMNS.items()),
        ]
    )
    return pa.Table.from_pylist(rows, schema)
