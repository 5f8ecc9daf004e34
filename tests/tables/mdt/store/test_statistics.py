"""Statistics decoded in bulk equal those of a record-by-record reader."""

import io
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.avro_columns import decode_columns
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.hfile.cells import Cells
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store.file_group import EncodedRecords, all_cells
from pyhudi_expr.tables.mdt.store.statistics import (
    ColumnStatistics,
    column_statistics,
    concatenated,
    decode_statistics,
)
from pyhudi_expr.tables.parsing.avro_schemas import UndecodedError

pytestmark = pytest.mark.usefixtures("engine")

_NAMESPACE = "org.apache.hudi.avro.model"
_PARSED = fastavro.parse_schema(json.loads(RECORD_SCHEMA))

_LONGS = st.integers(-(2**63), 2**63 - 1)
_INTS = st.integers(-(2**31), 2**31 - 1)
_TEXTS = st.text(max_size=20)
_VALUES = {
    "BooleanWrapper": st.booleans(),
    "IntWrapper": _INTS,
    "LongWrapper": _LONGS,
    "FloatWrapper": st.floats(width=32),
    "DoubleWrapper": st.floats(),
    "BytesWrapper": st.binary(max_size=20),
    "StringWrapper": _TEXTS,
    "DateWrapper": _INTS,
}
_BOUNDS = st.none() | st.sampled_from(sorted(_VALUES)).flatmap(
    lambda name: _VALUES[name].map(lambda value: (f"{_NAMESPACE}.{name}", {"value": value}))
)
_KINDS = st.fixed_dictionaries(
    {"typeOrdinal": st.integers(0, 20), "additionalInfo": st.none() | _TEXTS}
)
_STATS = st.fixed_dictionaries(
    {
        "fileName": st.none() | _TEXTS,
        "columnName": st.none() | _TEXTS,
        "minValue": _BOUNDS,
        "maxValue": _BOUNDS,
        "valueCount": st.none() | _LONGS,
        "nullCount": st.none() | _LONGS,
        "totalSize": st.none() | _LONGS,
        "totalUncompressedSize": st.none() | _LONGS,
        "isDeleted": st.booleans(),
        "isTightBound": st.booleans(),
        "valueType": st.none() | _KINDS,
    }
)
_RECORDS = st.fixed_dictionaries(
    {"key": _TEXTS, "type": st.just(3), "filesystemMetadata": st.none()},
    optional={"ColumnStatsMetadata": st.none() | _STATS},
)


def encoded(records: list[Any]) -> EncodedRecords:
    values = []
    for record in records:
        target = io.BytesIO()
        fastavro.schemaless_writer(target, _PARSED, record)
        values.append(target.getvalue())
    keys = [b"key %d" % number for number in range(len(values))]
    return EncodedRecords("written", RECORD_SCHEMA, Cells.of(keys, values))


def rows(found: ColumnStatistics) -> str:
    """All columns as text, in which NaN equals itself."""
    columns = (getattr(found, field.name) for field in fields(found))
    return repr([_plain(column) for column in columns])


def _plain(column: Any) -> Any:
    if isinstance(column, dict):
        return sorted((wrapper, values.to_pylist()) for wrapper, values in column.items())
    return column.tolist()


def one_by_one(records: EncodedRecords) -> ColumnStatistics:
    return column_statistics(records.cells.keys, records.decoded())


@given(records=st.lists(_RECORDS, max_size=8))
def test_columns_equal_single_records(records: list[Any]) -> None:
    batch = encoded(records)
    assert rows(decode_statistics(batch)) == rows(one_by_one(batch))


@given(records=st.lists(_STATS, min_size=1, max_size=5), at=st.integers(0), bit=st.integers(0, 7))
def test_damage_is_reported_or_affects_only_its_value(
    records: list[Any], at: int, bit: int
) -> None:
    all_records = encoded(
        [
            {"key": "", "type": 3, "filesystemMetadata": None, "ColumnStatsMetadata": stats}
            for stats in records
        ]
    )
    damaged = bytearray(all_records.cells.values[0])
    damaged[at % len(damaged)] ^= 1 << bit
    values = [bytes(damaged), *all_records.cells.values[1:]]
    batch = EncodedRecords("damaged", RECORD_SCHEMA, Cells.of(all_records.cells.keys, values))
    try:
        expected = rows(one_by_one(batch))
    except CorruptFile:
        # A text that is not read may be damaged.
        return
    assert rows(decode_statistics(batch)) == expected


def test_hudis_own_files_are_decoded_in_bulk(golden: Mapping[str, Path]) -> None:
    seen = 0
    for table in golden.values():
        for path in table.glob(".hoodie/metadata/*_stats/*.hfile"):
            with path.open("rb") as source:
                hfile = HFile(_File(source), path.stat().st_size, path.name)
                batch = EncodedRecords(path.name, hfile.schema, all_cells(hfile))
            decode_columns(batch.schema, batch.cells.value_strings)
            assert rows(decode_statistics(batch)) == rows(one_by_one(batch))
            seen += 1
    assert seen


def test_parts_are_concatenated_in_order() -> None:
    stats = {
        "minValue": (f"{_NAMESPACE}.IntWrapper", {"value": 1}),
        "maxValue": (f"{_NAMESPACE}.IntWrapper", {"value": 2}),
        "isDeleted": False,
    }
    record = {"key": "", "type": 3, "filesystemMetadata": None, "ColumnStatsMetadata": stats}
    part = decode_statistics(encoded([record]))
    both = concatenated([part, decode_statistics(encoded([])), part])
    assert both.key.to_pylist() == ["key 0"] * 2
    assert both.minimum["IntWrapper"].to_pylist() == [1, 1]
    assert both.maximum["IntWrapper"].to_pylist() == [2, 2]
    assert np.array_equal(both.value_type, [-1, -1])


@pytest.mark.parametrize(
    ("schema", "value", "reason"),
    [
        ('"long"', b"\2", "not a record's"),
        ('{"type":"record","name":"r","fields":[{"name":"a","type":"long"}]}', b"\x80", "ends"),
        ('{"type":"record","name":"r","fields":[{"name":"a","type":"long"}]}', b"\2\2", "longer"),
        ('{"type":"record","name":"r","fields":[{"name":"a","type":"string"}]}', b"\1", "negative"),
        ('{"type":"record","name":"r","fields":[{"name":"a","type":"string"}]}', b"\6a", "ends"),
        ('{"type":"record","name":"r","fields":[{"name":"a","type":"double"}]}', b"abc", "ends"),
        ('{"type":"record","name":"r","fields":[{"name":"a","type":["null"]}]}', b"\2", "branch"),
        (
            '{"type":"record","name":"r","fields":[{"name":"a","type":"long"}]}',
            b"\xff" * 10 + b"\1",
            "too long",
        ),
        (
            '{"type":"record","name":"r","fields":'
            '[{"name":"a","type":{"type":"array","items":"null"}}]}',
            b"\xfe\xff\xff\xff\x0f",
            "many in no bytes",
        ),
    ],
)
def test_records_that_cannot_be_decoded_in_bulk_are_reported(
    schema: str, value: bytes, reason: str
) -> None:
    with pytest.raises(UndecodedError, match=reason):
        decode_columns(schema, ByteStrings.of([value]))


class _File:
    def __init__(self, source: Any) -> None:
        self._source = source

    def read_at(self, nbytes: int, offset: int) -> bytes:
        self._source.seek(offset)
        content: bytes = self._source.read(nbytes)
        return content
