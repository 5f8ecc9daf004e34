"""Avro schemas become Arrow schemas without loss."""

import json

import pyarrow as pa
import pytest

from pyhudi_expr.errors import UnsupportedTable
from pyhudi_expr.tables.schema import arrow_schema, optional_columns, with_meta_fields


def field_of(avro: object) -> pa.Field:
    record = {"type": "record", "name": "r", "fields": [{"name": "c", "type": avro}]}
    return arrow_schema(json.dumps(record)).field(0)


@pytest.mark.parametrize(
    ("avro", "arrow"),
    [
        ("boolean", pa.bool_()),
        ("int", pa.int32()),
        ("long", pa.int64()),
        ("float", pa.float32()),
        ("double", pa.float64()),
        ("bytes", pa.binary()),
        ("string", pa.string()),
        ({"type": "string", "avro.java.string": "String"}, pa.string()),
        ({"type": "int", "logicalType": "date"}, pa.date32()),
        ({"type": "int", "logicalType": "time-millis"}, pa.time32("ms")),
        ({"type": "long", "logicalType": "timestamp-millis"}, pa.timestamp("ms", "UTC")),
        ({"type": "long", "logicalType": "timestamp-micros"}, pa.timestamp("us", "UTC")),
        ({"type": "long", "logicalType": "local-timestamp-millis"}, pa.timestamp("ms")),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, pa.timestamp("us")),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 10},
            pa.decimal128(38, 10),
        ),
        (
            {"type": "fixed", "name": "f", "size": 5, "logicalType": "decimal", "precision": 10},
            pa.decimal128(10, 0),
        ),
        ({"type": "fixed", "name": "f", "size": 5}, pa.binary(5)),
        (
            {
                **{"type": "fixed", "name": "f", "size": 24, "logicalType": "vector"},
                **{"dimension": 3, "elementType": "DOUBLE", "storageBacking": "FIXED_BYTES"},
            },
            pa.list_(pa.field("element", pa.float64()), 3),
        ),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, pa.string()),
        ({"type": "long", "logicalType": "no-such-type"}, pa.int64()),
        (
            {"type": "map", "values": "long"},
            pa.map_(pa.string(), pa.field("value", "int64", False)),
        ),
    ],
)
def test_avro_types_become_arrow_types(avro: object, arrow: pa.DataType) -> None:
    assert field_of(avro) == pa.field("c", arrow, nullable=False)
    assert field_of(["null", avro]) == pa.field("c", arrow)
    assert field_of([avro, "null"]) == pa.field("c", arrow)


def test_nested_types_keep_nullability() -> None:
    item = {"type": "record", "name": "i", "fields": [{"name": "a", "type": ["null", "int"]}]}
    found = field_of({"type": "array", "items": ["null", item]})
    assert found.type.value_field.nullable
    assert found.type.value_type == pa.struct([("a", pa.int32())])


def test_named_types_can_be_referenced() -> None:
    fixed = {"type": "fixed", "name": "f", "namespace": "n", "size": 3}
    fields = [{"name": "a", "type": fixed}, {"name": "b", "type": ["null", "n.f"]}]
    schema = arrow_schema(json.dumps({"type": "record", "name": "r", "fields": fields}))
    assert schema.field("b").type == pa.binary(3)


def test_columns_that_readers_fill_in_with_null_may_be_null_and_have_no_default() -> None:
    inner = [
        {"name": "a", "type": ["null", "int"], "default": None},
        {"name": "b", "type": ["int", "null"], "default": 0},
    ]
    struct = {"type": "record", "name": "s", "fields": inner}
    fields = [
        {"name": "plain", "type": ["null", "int"]},
        {"name": "given", "type": ["string", "null"], "default": "", "doc": "a comment"},
        {"name": "required", "type": "int"},
        {"name": "st", "type": ["null", struct], "default": None, "doc": "another"},
        {"name": "whole", "type": "s"},
    ]
    schema = arrow_schema(json.dumps({"type": "record", "name": "r", "fields": fields}))
    assert list(optional_columns(schema)) == ["plain", "st", "st.a"]


@pytest.mark.parametrize("avro", [["int", "string"], "no.such.type"])
def test_types_without_an_arrow_type_are_refused(avro: object) -> None:
    with pytest.raises(UnsupportedTable):
        field_of(avro)


@pytest.mark.parametrize("text", ["", "{", '"int"'])
def test_a_schema_must_be_a_record(text: str) -> None:
    with pytest.raises(UnsupportedTable):
        arrow_schema(text)


def test_meta_columns_come_first_and_once() -> None:
    schema = with_meta_fields(pa.schema([("a", pa.int32())]))
    assert schema.names[0] == "_hoodie_commit_time"
    assert with_meta_fields(schema) == schema
