"""Rows of the living table, and what describes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from pyhudi_expr.tables.hudi_names import (
    COLUMN_STATS,
    FILES,
    META_COLUMNS,
    PARTITION_STATS,
    RECORD_INDEX,
)
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.bloom_filter import (
    FOOTER_CONTENT,
    FOOTER_KIND,
    SIMPLE,
    FilterBuilder,
)
from pyhudi_expr.tables.mdt.records.value_types import value_type

BY_NAME, BY_NUMBER = "secondary_index_by_name", "secondary_index_by_number"
LOWERED, LOWERED_FILTER = "expr_index_lowered", "expr_index_lowered_filter"
BLOOMS = "bloom_filters"
SHARDS = {FILES: 1, COLUMN_STATS: 2, PARTITION_STATS: 1, RECORD_INDEX: 2, BY_NAME: 2}
SHARDS |= {BY_NUMBER: 1, BLOOMS: 2, LOWERED: 1, LOWERED_FILTER: 1}
COLUMNS = ("id", "name", "intField", "score", "amount", "born")
START = datetime(2026, 1, 1)
AVRO = {
    "type": "record",
    "name": "living",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": "string"},
        {"name": "intField", "type": ["null", "int"]},
        {"name": "score", "type": ["null", "double"]},
        {
            "name": "amount",
            "type": [
                "null",
                {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            ],
        },
        {"name": "born", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "part", "type": "string"},
    ],
}
TYPES = {
    "id": pa.int64(),
    "name": pa.string(),
    "intField": pa.int32(),
    "score": pa.float64(),
    "amount": pa.decimal128(9, 2),
    "born": pa.date32(),
    "part": pa.string(),
}

Row = dict[str, Any]
Cells = dict[str, dict[bytes, bytes | None]]
"""For each metadata partition the new values by key; None deletes the key."""


def row(key: int, random: Random, part: str) -> Row:
    """A row with values of every kind: nulls, NaN, negative numbers, texts beyond ASCII."""
    name = random.choice([f"Name {key}", f"näme {key}", f"back\\slash ${key}", "", "same"])
    return {
        "id": key,
        "name": name,
        "intField": random.choice([None, key, -key, 7]),
        "score": random.choice([None, 0.0, -0.0, key / 4, -1.5, float("nan")]),
        "amount": random.choice([None, Decimal(key) / 100, Decimal("-12.50")]),
        "born": random.choice([None, date(1990, 1, 1) + timedelta(days=key)]),
        "part": part,
    }


@dataclass
class Group:
    """A file group: its newest file, and the rows in it by key."""

    part: str
    file_id: str
    rows: dict[int, Row]
    name: str = ""


def parquet_table(group: Group, instant: str) -> pa.Table:
    rows = list(group.rows.values())
    keys = [str(each["id"]) for each in rows]
    meta = {name: [""] * len(rows) for name in META_COLUMNS}
    meta |= {
        "_hoodie_commit_time": [instant] * len(rows),
        "_hoodie_record_key": keys,
        "_hoodie_partition_path": [group.part] * len(rows),
        "_hoodie_file_name": [group.name] * len(rows),
    }
    columns = {name: pa.array(values, pa.string()) for name, values in meta.items()}
    columns |= {
        name: pa.array([each[name] for each in rows], type_) for name, type_ in TYPES.items()
    }
    builder = FilterBuilder(len(keys))
    builder.add(ByteStrings.of([key.encode() for key in keys]))
    footer = {FOOTER_CONTENT: builder.text(), FOOTER_KIND: SIMPLE.encode()}
    return pa.table(columns).replace_schema_metadata(footer)


def statistics_of(
    described: str, column: str, type_: pa.DataType, values: Sequence[Any], *, is_tight: bool
) -> payloads.Statistics:
    """Statistics by Python's own comparison, with NaN above all numbers."""
    present = sorted((value for value in values if value is not None), key=_rank)
    kind = value_type(type_, "V2")
    assert kind is not None
    return payloads.Statistics(
        described=described,
        column=column,
        value_type=kind,
        bounds=(_bound(present[0]), _bound(present[-1])) if present else None,
        value_count=len(values),
        null_count=len(values) - len(present),
        size=1,
        uncompressed_size=1,
        is_tight=is_tight,
    )


def _rank(value: Any) -> Any:
    if isinstance(value, float):
        return (True, 0.0) if value != value else (False, value)
    return value.encode() if isinstance(value, str) else value


def _bound(value: Any) -> Any:
    match value:
        case str():
            return value.encode()
        case Decimal():
            return int(value.scaleb(2))
        case date():
            return (value - date(1970, 1, 1)).days
    return value
