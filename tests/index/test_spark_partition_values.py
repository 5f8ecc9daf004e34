"""Partition values as Hudi for Spark reads them from paths, and how they affect file evidence.

`tests/spark/query/test_partition_columns.py` shows that Hudi does read them so.
"""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyhudi_expr.errors import UnsupportedTable
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import columns
from pyhudi_expr.expr.domains import float_ordinal
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index.partition_semantics import PartitionReader, ReaderSemantics
from pyhudi_expr.index.partition_values import PartitionValues, path_layout
from pyhudi_expr.index.spark_partition_values import (
    PathColumns,
    PathText,
    SparkPartitionColumns,
    SparkPathValues,
)
from pyhudi_expr.tables.properties import TableProperties
from tests.index.statistics_entries import UNKNOWN, column, plain

NULL = PathText(None)
LAST = date.max.toordinal() - date(1970, 1, 1).toordinal()
ENGINE, HUDI, ANY = PartitionReader.ENGINE, PartitionReader.HUDI_SPARK, PartitionReader.ANY


def properties(fields: str, generator: str = "COMPLEX", **more: str) -> TableProperties:
    raw = {
        "hoodie.table.version": "9",
        "hoodie.table.partition.fields": fields,
        "hoodie.table.keygenerator.type": generator,
        **{f"hoodie.{name.replace('__', '.')}": value for name, value in more.items()},
    }
    return TableProperties.parse(raw, "t")


def texts(path: str, fields: str = "p", generator: str = "COMPLEX", **more: str) -> list[Any]:
    found = SparkPartitionColumns.of(properties(fields, generator, **more)).texts(path)
    return [None if text is None else text.text or NULL for text in found]


@pytest.mark.parametrize(
    ("path", "fields", "expected"),
    [
        ("p=a", "p", ["a"]),
        ("a", "p", ["a"]),
        ("p=a=b", "p", ["a=b"]),
        ("a=b=c", "p", ["b=c"]),
        ("p=a%20b%zz%", "p", ["a b%zz%"]),
        ("p=%C3%A9", "p", ["Ã©"]),
        ("p=__HIVE_DEFAULT_PARTITION__", "p", [NULL]),
        ("p=default", "p", ["default"]),
        ("p=", "p", [None]),
        ("=a", "p", [None]),
        ("a/", "p", ["a"]),
        ("a/b", "p", ["a/b"]),
        ("p=a/b%20", "p", ["a/b%20"]),
        ("p=a/q=b", "p,q", ["a", "b"]),
        ("p=a/b/q=c", "p,q", ["a/b", "c"]),
        ("p=a/q=b/c", "p,q", ["a", "b/c"]),
        ("p=a/b/c", "p,q", [None, None]),
        ("p=a/q=b/r=c", "p,q", [None, None]),
        ("a/b/c", "p,q", [None, None]),
        ("", "", []),
    ],
)
def test_values_of_partition_paths(path: str, fields: str, expected: list[Any]) -> None:
    assert texts(path, fields) == expected


def test_paths_formatted_from_times() -> None:
    type_ = "keygen__timebased__timestamp__type"
    assert texts("p=20240102", generator="TIMESTAMP", **{type_: "SCALAR"}) == ["p=20240102"]
    assert texts("p=20240102", generator="TIMESTAMP", **{type_: "DATE_STRING"}) == ["20240102"]
    custom = SparkPartitionColumns.of(properties("p:TIMESTAMP,q:simple", "CUSTOM"))
    assert custom.formatted == {"p"}
    assert not custom.as_text
    assert SparkPartitionColumns.of(properties("p,q", "CUSTOM")).formatted == {"p", "q"}
    based = SparkPartitionColumns.of(properties("p", "TIMESTAMP_AVRO"))
    assert based.formatted == {"p"}
    assert based.as_text
    ordered = SparkPartitionColumns.of(properties("p,q", table__ordering__fields="ts,q"))
    assert ordered.from_files == {"q"}


NULLS = (None, None, False, True)


@pytest.mark.parametrize(
    ("text", "type_", "bounds"),
    [
        ("7", pa.int32(), (7, 7, True, False)),
        ("-07", pa.int64(), (-7, -7, True, False)),
        ("3000000000", pa.int32(), UNKNOWN),
        ("x", pa.int32(), UNKNOWN),
        ("true", pa.bool_(), (1, 1, True, False)),
        ("TRUE", pa.bool_(), UNKNOWN),
        ("1.0E300", pa.float64(), (*[float_ordinal(1e300)] * 2, True, False)),
        ("0.1", pa.float32(), (*[float_ordinal(float(np.float32(0.1)))] * 2, True, False)),
        ("-0.50", pa.decimal128(9, 2), (-50, -50, True, False)),
        ("0.555", pa.decimal128(9, 2), UNKNOWN),
        ("1970-01-03", pa.date32(), (2, 2, True, False)),
        ("19782", pa.date32(), (LAST, None, True, True)),
        ("20240102", pa.date32(), NULLS),
        ("365", pa.date32(), UNKNOWN),
        ("1704164645123456", pa.timestamp("us", "UTC"), NULLS),
        (
            "1970-01-01 00:00:01.123",
            pa.timestamp("us", "UTC"),
            ((1 - 15 * 3600) * 10**6, (1 + 15 * 3600) * 10**6, True, True),
        ),
        ("__HIVE_DEFAULT_PARTITION__", pa.int32(), NULLS),
    ],
)
def test_bounds_of_shown_partition_values(text: str, type_: pa.DataType, bounds: Any) -> None:
    found = SparkPathValues([f"p={text}"], SparkPartitionColumns.of(properties("p"))).bounds(
        column(type_, "p")
    )
    assert found is not None
    assert plain(found) == [bounds]


class Files:
    """Statistics of two partitions with a file each: '' and 'x'."""

    def bounds(self, column: Any) -> Any:
        from pyhudi_expr.expr.domains import Bounds

        values = pa.array([b"", b"x"], pa.large_binary())
        return Bounds(values, values, True, False) if column.name == "p" else None


@pytest.mark.parametrize(
    ("predicate", "kept"),
    [
        ("p = ''", [True, False]),
        ("p IS NULL", [True, False]),
        ("p IS NOT NULL", [True, True]),
        ("p <=> NULL", [True, False]),
        ("p = 'x'", [False, True]),
        ("p > 'y'", [False, False]),
        ("NOT (p = 'x')", [True, False]),
        ("p = q", [True, True]),
    ],
)
@pytest.mark.parametrize("reader", [ENGINE, HUDI, ANY])
def test_evidence_must_hold_for_files_and_paths(
    reader: PartitionReader, predicate: str, kept: list[bool]
) -> None:
    assert kept_partitions(reader, predicate) == kept


def test_a_reader_of_files_needs_no_evidence_of_paths() -> None:
    assert kept_partitions(PartitionReader.FILES, "p IS NULL") == [False, False]
    assert kept_partitions(PartitionReader.FILES, "p = ''") == [True, False]


def kept_partitions(reader: PartitionReader, predicate: str) -> list[bool]:
    table = properties("p")
    partitions = ["__HIVE_DEFAULT_PARTITION__", "x"]
    schema = pa.schema({"p": pa.string(), "q": pa.string()})
    bound = bind(parse_predicate(predicate), Scope(schema, here("UTC")))
    proved = PartitionValues(partitions, path_layout(table))
    needed = columns(bound).values()
    reading = ReaderSemantics.of(
        reader, SparkPathValues(partitions, SparkPartitionColumns.of(table)), proved, needed
    )
    evidence = [reading.of_partitions(StatisticsEvidence(Files())), StatisticsEvidence(proved)]
    kept: list[bool] = as_array(may_be(bound, True, evidence), 2).tolist()
    return kept


def test_partition_columns_shown_as_another_type() -> None:
    number, text = column(pa.int64(), "p"), column(pa.string(), "p")
    proved = PartitionValues([], path_layout(properties("p", "TIMESTAMP")))

    def undecided(generator: str, fields: str, reader: PartitionReader, column: Any) -> set[str]:
        table = SparkPartitionColumns.of(properties(fields, generator))
        return set(ReaderSemantics.of(reader, SparkPathValues([], table), proved, [column]).retyped)

    for reader, based, custom in (
        (ENGINE, set(), set()),
        (HUDI, {"p"}, set()),
        (ANY, {"p"}, {"p"}),
    ):
        assert undecided("TIMESTAMP", "p", reader, number) == based
        assert undecided("CUSTOM", "p:TIMESTAMP", reader, number) == custom
        assert undecided("SIMPLE", "p", reader, number) == set()
    assert undecided("TIMESTAMP", "p", HUDI, text) == set()


@pytest.mark.parametrize("type_", [pa.timestamp("us", "UTC"), pa.timestamp("us")])
def test_times_of_paths_are_not_shown_as_those_of_files(type_: pa.DataType) -> None:
    """Writers leave out a fraction, or write numbers, which Spark reads as null."""
    found = PathColumns.of(properties("p"), pa.schema([("p", type_), ("v", pa.int32())]))
    with pytest.raises(UnsupportedTable, match="Spark takes the times of p from the path"):
        found.values("p=2024-01-31 10%3A20%3A30.999")
    others = PathColumns.of(properties("p"), pa.schema([("v", pa.int32())]))
    assert others.values("p=2024-01-31 10%3A20%3A30.999") == {}
