"""Our keys equal those of Apache Hudi's own key generators, byte for byte.

Hudi's classes compute the key of each of a list of unusual rows, by the three ways in which Hudi
reads a row: as an Avro record (upserts, deletes, and key look-ups), as a Spark row, and as one of
Spark's internal rows (bulk inserts). We follow the first one; the tests show where the others
differ from it.
"""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from pyhudi_expr.errors import HudiError, UnsupportedTable
from pyhudi_expr.spark.virtual_keys.key_column import key_column, with_keys
from pyhudi_expr.tables.keys.definition import Generator, KeyDefinition, key_definition
from pyhudi_expr.tables.keys.generators import MissingKey
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.slices.slice_rows import leaf

pytestmark = [pytest.mark.spark, pytest.mark.long]

UTC = timezone.utc
_FAILED = "no key"

VALUES: dict[str, tuple[t.DataType, list[Any]]] = {
    "s": (t.StringType(), ["x", "", None, "a:b,c:d", "é😀\u0000", "__null__", " x "]),
    "i": (t.IntegerType(), [0, -5, 2**31 - 1, -(2**31), None]),
    "by": (t.ByteType(), [0, -128, 127, None]),
    "l": (t.LongType(), [0, 2**63 - 1, -(2**63), None]),
    "b": (t.BooleanType(), [True, False, None]),
    "d": (t.DateType(), [date(2024, 2, 29), date(1970, 1, 1), date(1582, 10, 15), None]),
    "dec": (t.DecimalType(10, 2), [Decimal("1.50"), Decimal("-0.05"), Decimal("0.00"), None]),
    "wide": (
        t.DecimalType(38, 10),
        [Decimal("1E-10"), Decimal("0E-10"), Decimal("123456789012345678.1"), None],
    ),
    "f": (t.FloatType(), [0.1, -0.0, 1e-4, 16777.215, float("nan"), None]),
    "db": (
        t.DoubleType(),
        [0.1, -0.0, 5e-324, 1e-3, 9.99e-4, 1e7, 123456789.125, 1e14, float("inf"), None],
    ),
    "ts": (
        t.TimestampType(),
        [
            datetime(2024, 1, 2, 3, 4, 5, 678901, UTC),
            datetime(2024, 1, 2, 3, 4, 5, 120000, UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999001, UTC),
            datetime(1970, 1, 1, tzinfo=UTC),
            None,
        ],
    ),
    "ntz": (t.TimestampNTZType(), [datetime(2024, 1, 2, 3, 4, 5), datetime(1969, 1, 1), None]),
    "bin": (t.BinaryType(), [b"\x00\xff", b"x", None]),
}
SCHEMA = t.StructType(
    [
        *(t.StructField(name, type_) for name, (type_, _) in VALUES.items()),
        t.StructField("st", t.StructType([t.StructField("in", t.StringType())])),
        t.StructField("p", t.StringType()),
    ]
)
_COUNT = max(len(values) for _, values in VALUES.values())

ONE = tuple((name,) for name in (*VALUES, "st.in"))
SEVERAL = (("s", "i"), ("i", "st.in", "dec"), ("s", "ts", "d"), ("db", "wide", "bin"))


def rows() -> list[tuple[Any, ...]]:
    """Each value of each column, and one empty row. For several columns Hudi refuses a null field
    of a struct, whatever the other values are.
    """
    found = []
    for number in range(_COUNT):
        row = [values[number % len(values)] for _, values in VALUES.values()]
        found.append((*row, (row[0],), "p"))
    return [*found, (*(None for _ in VALUES), None, "p")]


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(rows(), SCHEMA).coalesce(1).cache()


@pytest.fixture(scope="module")
def hudi(spark: SparkSession, frame: DataFrame) -> Hudi:
    return Hudi(spark, frame)


class Hudi:
    """Hudi's classes in Spark's driver, and the rows as each of them reads them."""

    def __init__(self, spark: SparkSession, frame: DataFrame) -> None:
        self._jvm: Any = spark._jvm
        self.schema = frame._jdf.schema()
        self.rows = list(frame._jdf.collectAsList())
        self.internal = list(frame._jdf.queryExecution().executedPlan().executeCollect())
        convert = self._jvm.org.apache.hudi.AvroConversionUtils.createConverterToAvro(
            self.schema, "row", "rows"
        )
        self.avro = [convert.apply(row) for row in self.rows]

    def generator(self, generator: Generator, columns: tuple[str, ...], **settings: str) -> Any:
        properties = self._jvm.org.apache.hudi.common.config.TypedProperties()
        is_custom = generator in (Generator.CUSTOM, Generator.CUSTOM_AVRO)
        for name, value in {
            "hoodie.datasource.write.recordkey.field": ",".join(columns),
            "hoodie.datasource.write.partitionpath.field": "p:SIMPLE" if is_custom else "p",
            "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
            "hoodie.keygen.timebased.output.dateformat": "yyyy",
            **{f"hoodie.{name.replace('__', '.')}": value for name, value in settings.items()},
        }.items():
            properties.setProperty(name, value)
        return getattr(self._jvm.org.apache.hudi.keygen, generator.value)(properties)

    def keys(self, generator: Any, records: list[Any], *more: Any) -> list[str]:
        """The key of each record; `_FAILED` if Hudi refuses it."""
        return [self._key(generator, record, *more) for record in records]

    def _key(self, generator: Any, *record: Any) -> str:
        try:
            return str(generator.getRecordKey(*record))
        except Py4JJavaError as error:
            if error.java_exception.getClass().getSimpleName() != "HoodieKeyException":
                raise
            return _FAILED


def definition(generator: Generator, columns: tuple[str, ...], **settings: str) -> KeyDefinition:
    raw = {
        "hoodie.table.version": "9",
        "hoodie.table.recordkey.fields": ",".join(columns),
        "hoodie.table.keygenerator.type": generator.name,
        **{f"hoodie.{name.replace('__', '.')}": value for name, value in settings.items()},
    }
    return key_definition(TableProperties.parse(raw, "t"), "t")


def ours(key_definition: KeyDefinition, table: pa.Table) -> list[str]:
    """The keys of our own generator, row by row, because one bad row fails a whole batch."""
    columns = [
        leaf(table.combine_chunks().to_batches()[0], name) for name in key_definition.columns
    ]
    return [
        _key(key_definition, [one.slice(row, 1) for one in columns]) for row in range(len(table))
    ]


def _key(key_definition: KeyDefinition, values: list[pa.Array]) -> str:
    try:
        return str(key_definition.generator().keys(values)[0].as_py())
    except MissingKey:
        return _FAILED


@pytest.fixture(scope="module")
def table(frame: DataFrame) -> pa.Table:
    """The rows as Arrow represents them: Spark's instants in UTC."""
    return pa.Table.from_batches(frame._collect_as_arrow())


_CASES = [
    (generator, columns)
    for generator in Generator
    for columns in (*ONE, *SEVERAL)
    if len(columns) == 1 or not generator.name.startswith(("SIMPLE", "TIMESTAMP"))
]


@pytest.mark.parametrize("generator", list(Generator), ids=lambda generator: generator.name)
def test_keys_of_avro_records(hudi: Hudi, table: pa.Table, generator: Generator) -> None:
    for _, columns in [case for case in _CASES if case[0] is generator]:
        expected = hudi.keys(hudi.generator(generator, columns), hudi.avro)
        assert ours(definition(generator, columns), table) == expected, columns
        assert expected[-1] == _FAILED
        assert any(key != _FAILED for key in expected)


@pytest.mark.parametrize("version", ["8", "9"])
def test_the_new_encoding_of_one_column(hudi: Hudi, table: pa.Table, version: str) -> None:
    settings = {"write__complex__keygen__new__encoding": "true"}
    theirs = hudi.generator(Generator.COMPLEX, ("s",), **settings, write__table__version=version)
    key_definition = definition(Generator.COMPLEX, ("s",), **settings, table__version=version)
    assert ours(key_definition, table) == hudi.keys(theirs, hudi.avro)


def test_consistent_timestamps_equal_those_of_hudi(hudi: Hudi, table: pa.Table) -> None:
    """Hudi's bulk inserts format all timestamps in this way, whatever the setting."""
    key = "datasource__write__keygenerator__consistent__logical__timestamp__enabled"
    settings = {key: "true"}
    theirs = hudi.generator(Generator.NON_PARTITION, ("ts",), **settings)
    key_definition = definition(Generator.NON_PARTITION, ("ts",), **settings)
    assert ours(key_definition, table) == hudi.keys(theirs, hudi.avro)
    assert ours(key_definition, table) == hudi.keys(theirs, hudi.internal, hudi.schema)
    plain = hudi.generator(Generator.NON_PARTITION, ("ts",))
    assert ours(key_definition, table) == hudi.keys(plain, hudi.internal, hudi.schema)


@pytest.mark.parametrize("columns", [*ONE, *SEVERAL], ids=",".join)
def test_bulk_inserts_format_other_values_alike(
    hudi: Hudi, table: pa.Table, columns: tuple[str, ...]
) -> None:
    if {"ts", "bin"} & set(columns):
        return  # see above; for binaries it formats the address of an object
    theirs = hudi.generator(Generator.NON_PARTITION, columns)
    expected = hudi.keys(theirs, hudi.internal, hudi.schema)
    found = ours(definition(Generator.NON_PARTITION, columns), table)
    if len(columns) == 1:
        assert found == expected
    else:
        # Rows with a null or an empty part have no key there.
        assert [key for key in expected if key != _FAILED]
        pairs = zip(found, expected, strict=True)
        assert all(key == other for key, other in pairs if other != _FAILED)


@pytest.mark.parametrize("columns", [*ONE, *SEVERAL], ids=",".join)
@pytest.mark.parametrize("generator", [Generator.NON_PARTITION, Generator.COMPLEX])
def test_keys_as_a_spark_column(
    frame: DataFrame, table: pa.Table, generator: Generator, columns: tuple[str, ...]
) -> None:
    key_definition = definition(generator, columns)
    expected = [None if key == _FAILED else key for key in ours(key_definition, table)]
    try:
        expression = key_column(frame.schema, key_definition)
    except UnsupportedTable:
        assert {"ntz", "wide"} & set(columns)
        some = frame.dropna(subset=[name for name in columns if "." not in name])
        made_by_python = with_keys(some, key_definition, "key").select("key").collect()
        assert {row.key for row in made_by_python} <= set(expected)
        return
    assert [row.key for row in frame.select(expression.alias("key")).collect()] == expected


def test_a_missing_column_is_reported(frame: DataFrame) -> None:
    with pytest.raises(HudiError, match="'nope' is missing"):
        key_column(frame.schema, definition(Generator.NON_PARTITION, ("nope",)))
