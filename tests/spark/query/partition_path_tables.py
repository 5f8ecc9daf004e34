"""Partitioned tables whose paths format values in every way that Hudi has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from devtools.tables import HudiTable, PartitionStyle, TableSpec, TableType, create, upsert

HIVE, PLAIN = PartitionStyle.HIVE, PartitionStyle.PLAIN
PLAIN_ENCODED = PartitionStyle.PLAIN_ENCODED
COW, MOR = TableType.COW, TableType.MOR

NOT_ENCODED = {"hoodie.datasource.write.partitionpath.urlencode": "false"}
FROM_PATHS = "hoodie.datasource.read.extract.partition.values.from.path"
AVRO = {"hoodie.datasource.write.row.writer.enable": "false"}
_KEYS = "org.apache.hudi.keygen."
_TIMES = "hoodie.keygen.timebased."


def formatted(type_: str, output: str, **more: str) -> dict[str, str]:
    """Options for paths that are formatted from times. more: `input_dateformat` and the like."""
    named = {f"{_TIMES}{name.replace('_', '.')}": value for name, value in more.items()}
    return {f"{_TIMES}timestamp.type": type_, f"{_TIMES}output.dateformat": output, **named}


def generator(name: str, fields: str | None = None) -> dict[str, str]:
    """Options of a key generator. fields: with their types."""
    options = {"hoodie.datasource.write.keygenerator.class": f"{_KEYS}{name}KeyGenerator"}
    return options if fields is None else {**options, _FIELDS: fields}


_FIELDS = "hoodie.datasource.write.partitionpath.field"
SECONDS = formatted("UNIX_TIMESTAMP", "yyyyMMdd")
DAYS = {**formatted("SCALAR", "yyyyMMdd"), f"{_TIMES}timestamp.scalar.time.unit": "DAYS"}
MONTHS = formatted("DATE_STRING", "yyyy/MM", input_dateformat="yyyy-MM-dd")


TEN_HOURS_AHEAD = {f"{_TIMES}timezone": "GMT+10:00"}
WITHOUT_STATISTICS = {"hoodie.metadata.enable": "false"}
_MILLISECONDS = ("1704164645000", "1704239999999", "1704240000000", "1719792000000", "-1", "NULL")


@dataclass(frozen=True)
class Spelled:
    """A table with one row for each value, with ids from 0.

    values: of `p`, or of `p` and `q`, as literals of Spark's SQL.
    """

    name: str
    type: str
    values: Sequence[str]
    style: PartitionStyle = HIVE
    kind: TableType = COW
    key: tuple[str, ...] = ("id",)
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def fields(self) -> tuple[str, ...]:
        """The partition columns."""
        return ("p", "q") if self.values[0].startswith("(") else ("p",)

    @property
    def spec(self) -> TableSpec:
        """How it is written."""
        return TableSpec(
            self.name,
            self.kind,
            key=self.key,
            partitions=self.fields,
            partition_style=self.style,
            extra=self.options,
        )

    def write(self, spark: SparkSession, parent: Path) -> HudiTable:
        """For merge on read: every other row has a newer version in a log file."""
        rows = self.rows(spark)
        table = create(rows, self.spec, parent)
        if self.kind is MOR:
            upsert(table, rows.where("id % 2 = 0").withColumn("x", rows["x"] + 1000))
        return table

    def rows(self, spark: SparkSession) -> DataFrame:
        """A row for each value, with ids from 0."""
        cells = [value.strip("()").split(", ") for value in self.values]
        columns = [
            ", ".join([f"{id_}L", *(f"CAST({cell} AS {self.type})" for cell in row), f"{id_}"])
            for id_, row in enumerate(cells)
        ]
        rows = spark.sql(
            f"SELECT * FROM VALUES {', '.join(f'({row})' for row in columns)}"
            f" AS t(id, {', '.join(self.fields)}, x)"
        )
        # Hudi shows NULL in columns without NULLs, and fails if they are not nullable.
        nullable = [f"IF(id < 0, NULL, {name}) AS {name}" for name in self.fields]
        return rows.selectExpr("id", *nullable, "x").coalesce(1)


#: Values that only some readers need escaped.
_PLAIN_TEXTS = (
    *("''", "NULL", "'default'", "'__HIVE_DEFAULT_PARTITION__'", "'a b'", "'a%20b'", "'100%'"),
    *("'[x]'", "'{x}'", "'{x,y}'", r"'back\\slash'", "'*'", "'?'", "'^'", "'日本é'", "'😀'"),
    *("'007'", "'1e3'", "'-0'", "'true'", "'null'", "'2024-01-02'", "'#'", "'a+b'", r"'it\'s'"),
    *("' a'", "'a '", "'A'"),
)
_TEXTS = (*_PLAIN_TEXTS, "'a=b'", "'p=b'", "'b'", "'a=b=c'")
_ENCODED_TEXTS = (*_TEXTS, "'a/b'", "'a/'", "'a:b'", r"'\t'", "'a='")

_FEW = ("''", "NULL", "'a b'", "'a%20b'", "'[x]'", "'{x}'", r"'back\\slash'", "'007'")

#: Columns of times without statistics, of which only paths say something.
TIMES = (
    Spelled(
        "hours",
        "bigint",
        _MILLISECONDS,
        options={
            **generator("TimestampBased"),
            **formatted("EPOCHMILLISECONDS", "yyyy-MM-dd-HH", timezone="GMT"),
        },
    ),
    Spelled(
        "slashed_days",
        "bigint",
        _MILLISECONDS,
        PLAIN,
        MOR,
        options={
            **generator("TimestampBased"),
            **formatted("EPOCHMILLISECONDS", "yyyy/MM/dd", timezone="GMT+8:00"),
        },
    ),
    Spelled(
        "months_of_berlin",
        "bigint",
        _MILLISECONDS,
        options={
            **generator("TimestampBased"),
            **formatted("EPOCHMILLISECONDS", "yyyyMM", timezone="Europe/Berlin"),
        },
    ),
    Spelled(
        "stored_days",
        "date",
        ("'2024-01-02'", "'1969-12-31'", "NULL"),
        options={**generator("TimestampBased"), **DAYS, f"{_TIMES}timezone": "UTC"},
    ),
)
CORE = (
    Spelled("texts", "string", _FEW, options=NOT_ENCODED),
    Spelled("plain", "string", (*_FEW, "'a=b'", "'b'"), PLAIN, MOR),
    Spelled(
        "seconds",
        "bigint",
        ("1704164645", "1", "NULL"),
        options={**generator("TimestampBased"), **SECONDS},
    ),
    Spelled(
        "days",
        "date",
        ("'2024-01-02'", "NULL"),
        options={**generator("Custom", "p:TIMESTAMP"), **DAYS},
    ),
    Spelled(
        "keys",
        "string",
        ("'a=b'", "'b'", "''", "NULL"),
        PLAIN,
        key=("id", "p"),
        options={
            "hoodie.metadata.record.index.enable": "true",
            "hoodie.metadata.global.record.level.index.enable": "true",
        },
    ),
)
MORE = (
    Spelled("encoded", "string", _ENCODED_TEXTS, HIVE),
    Spelled("encoded_logs", "string", _ENCODED_TEXTS, HIVE, MOR),
    Spelled("plain_encoded", "string", _ENCODED_TEXTS, PLAIN_ENCODED),
    Spelled("not_encoded", "string", _TEXTS, options=NOT_ENCODED),
    Spelled("texts_logs", "string", _TEXTS, HIVE, MOR, options=NOT_ENCODED),
    Spelled("plain_bases", "string", _TEXTS, PLAIN),
    Spelled("slashes", "string", ("'a/b'", "'a'", "'x=/y'", "'%41/b'", "'p=c/d'"), PLAIN),
    Spelled("slashes_hive", "string", ("'a/b'", "'a'", "'x=/y'", "'%41/b'"), options=NOT_ENCODED),
    Spelled("integers", "int", ("0", "-1", "7", "2147483647", "-2147483648", "NULL")),
    Spelled("longs", "bigint", ("0", "-1", "9223372036854775807", "NULL"), PLAIN),
    Spelled("dates", "date", ("'2024-01-02'", "'1969-12-31'", "'9999-12-31'", "NULL")),
    Spelled("booleans", "boolean", ("true", "false", "NULL"), PLAIN),
    Spelled("doubles", "double", ("1.0", "-0.0", "'NaN'", "1e300", "0.1", "'-Infinity'", "NULL")),
    Spelled("floats", "float", ("1.0", "0.1", "NULL")),
    Spelled("decimals", "decimal(9,2)", ("1", "-0.5", "NULL")),
    Spelled("wide", "decimal(30,2)", ("1", "-0.5", "NULL")),
    Spelled("times", "timestamp", ("'2024-01-02 03:04:05.123456'", "'2024-01-02'", "NULL")),
    Spelled("times_avro", "timestamp", ("'2024-01-02 03:04:05.123456'", "NULL"), options=AVRO),
    Spelled("dates_avro", "date", ("'2024-01-02'", "NULL"), options=AVRO),
    Spelled(
        "ordered",
        "string",
        ("'a'", "''", "NULL", "'c=d'"),
        PLAIN,
        options={"hoodie.datasource.write.precombine.field": "p"},
    ),
    Spelled(
        "simple",
        "string",
        ("'a'", "''", "NULL", "'c=d'"),
        PLAIN,
        options=generator("Custom", "p:SIMPLE"),
    ),
    Spelled(
        "months",
        "string",
        ("'2024-01-02'", "'2023-12-31'", "NULL"),
        PLAIN,
        options={**generator("TimestampBased"), **MONTHS},
    ),
    Spelled(
        "months_custom",
        "string",
        ("'2024-01-02'", "'2023-12-31'", "NULL"),
        options={**generator("Custom", "p:TIMESTAMP"), **MONTHS},
    ),
    Spelled(
        "seconds_logs",
        "bigint",
        ("1704164645", "1", "NULL"),
        PLAIN,
        MOR,
        options={**generator("TimestampBased"), **SECONDS},
    ),
    Spelled(
        "seconds_custom",
        "bigint",
        ("1704164645", "1", "NULL"),
        kind=MOR,
        options={**generator("Custom", "p:TIMESTAMP"), **SECONDS},
    ),
    Spelled(
        "days_based",
        "date",
        ("'2024-01-02'", "NULL"),
        options={**generator("TimestampBased"), **DAYS},
    ),
    Spelled(
        "doubles_based",
        "double",
        ("1704164645.5", "NULL"),
        options={**generator("TimestampBased"), **SECONDS},
    ),
    Spelled(
        "two",
        "string",
        ("('a', 'b')", "('', NULL)", "('x/y', 'c')", "('x', 'y/z')"),
        options=NOT_ENCODED,
    ),
    Spelled(
        "two_plain",
        "string",
        ("('a', 'b')", "('', NULL)", "('c=d', 'e=f')", "('[1]', '{2}')"),
        PLAIN,
        MOR,
    ),
    Spelled(
        "two_kinds",
        "string",
        ("('2024-01-02', 'b')", "('2023-12-31', '')"),
        options={**generator("Custom", "p:TIMESTAMP,q:SIMPLE"), **MONTHS},
    ),
    Spelled(
        "keyless",
        "string",
        ("'a'", "''", "NULL", "'x=y'"),
        PLAIN,
        options={"hoodie.populate.meta.fields": "false"},
    ),
    Spelled(
        "keyless_logs",
        "string",
        ("'a'", "''", "NULL", "'x=y'"),
        PLAIN,
        MOR,
        options={"hoodie.populate.meta.fields": "false"},
    ),
)
