"""Hive's names for the types of Hudi tables, which are the same as in HiveTypes.java."""

import json

import pytest

from pyhudi_expr.errors import UnsupportedTable
from pyhudi_expr.manage.hive.metastore_table import hive_columns
from pyhudi_expr.tables.schema import arrow_schema


def columns(*fields):
    record = {"type": "record", "name": "r", "fields": list(fields)}
    return hive_columns(arrow_schema(json.dumps(record)))


def logical(kind, logical_type, **more):
    return {"type": kind, "logicalType": logical_type, **more}


TYPES = [
    ("boolean", "boolean"),
    ("int", "int"),
    ("long", "bigint"),
    ("float", "float"),
    ("double", "double"),
    ("bytes", "binary"),
    ("string", "string"),
    (["null", "long"], "bigint"),
    ({"type": "enum", "name": "e", "symbols": ["A"]}, "string"),
    ({"type": "fixed", "name": "f", "size": 4}, "binary"),
    (logical("int", "date"), "date"),
    (logical("int", "time-millis"), "int"),
    (logical("long", "time-micros"), "bigint"),
    (logical("long", "timestamp-millis"), "timestamp"),
    (logical("long", "timestamp-micros"), "timestamp"),
    (logical("long", "local-timestamp-micros"), "timestamp"),
    (logical("bytes", "decimal", precision=9, scale=2), "decimal(9,2)"),
    (logical("fixed", "decimal", name="d", size=16, precision=38, scale=0), "decimal(38,0)"),
    ({"type": "array", "items": ["null", "int"]}, "array<int>"),
    ({"type": "map", "values": "double"}, "map<string,double>"),
]


@pytest.mark.parametrize(("avro", "hive"), TYPES, ids=[hive for _, hive in TYPES])
def test_each_type_has_hives_name(avro, hive):
    assert [column.type for column in columns({"name": "c", "type": avro})] == [hive]


def test_structs_have_lower_case_names_which_ddl_quotes():
    inner = [{"name": "Order", "type": "int"}, {"name": "b", "type": "string"}]
    (column,) = columns({"name": "S", "type": {"type": "record", "name": "i", "fields": inner}})
    assert (column.name, column.type) == ("s", "struct<order:int,b:string>")
    assert column.declared == "struct<`order`:int,`b`:string>"


def test_comments_come_from_the_schema():
    fields = [{"name": "a", "type": "int", "doc": "what it is"}, {"name": "b", "type": "int"}]
    assert [column.comment for column in columns(*fields)] == ["what it is", ""]


@pytest.mark.parametrize(
    "avro", ["null", logical("bytes", "decimal", precision=39, scale=0)], ids=["null", "decimal39"]
)
def test_types_missing_in_hive_are_refused_with_the_columns_name(avro):
    with pytest.raises(UnsupportedTable, match="column c: Hive has no type"):
        columns({"name": "c", "type": avro})
