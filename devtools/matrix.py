"""A small Hudi table with every type, of which a test knows every row and file.

File `k` of `FILES` holds `ROWS` rows; its values depend only on `k` and on the row's place `r`:

======  ====================================================================================
id      1000 k + r, the record key
b       all true, all false, mixed, mixed with nulls, by k % 4
ti, si  k - 16; 100 k - 1600 + r: in tinyint's and smallint's range, but Hudi only has int
i, l    1000 k + r - 5000; a thousand million times that: disjoint ranges
f, d    k + r / 64; the last rows are NaN (k % 8 = 3), infinity (5), -infinity (6), -0.0 (0)
dec9    decimal(9,2): 100 k + r and a quarter, negative below file 8
dec38   decimal(38,10): up to 27 digits before the point, disjoint ranges
s       ``name_kkk_rr``: disjoint ranges
u       by k % 6: accents, emoji, empty, 200 common characters, CJK, U+FFFD and U+10000
dt, ts  days and microseconds from 1969-12-20 on: disjoint ranges, file 0 before 1970
bin     bytes (k, r, 255 - r), null where r = 7
st      struct<a: int, b: string, c: struct<d: double, e: date>>, null where r = 11
n       int, null in whole files (k % 5 = 0) and where r % 3 = 0
none    int, null everywhere
arr, m  array<int> and map<string, int>
p, q    the columns that tables are partitioned by, see `Partitioning`
======  ====================================================================================
"""

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from devtools.shared import written_once
from devtools.tables import HudiTable, PartitionStyle, TableSpec, TableType, create, delete, upsert

FILES = 32
ROWS = 24

Row = Mapping[str, Any]

_TZ = dt.timezone.utc
_DAY_ZERO = dt.date(1969, 12, 20)
_TIME_ZERO = dt.datetime(1969, 12, 20, 1, 2, 3, 456_789, tzinfo=_TZ)
_SPECIAL = (None, "a b", "50% off", "x:y=z", "naïve/é", "日本", "#?*'\"", "plain")

SCHEMA = t.StructType(
    [
        t.StructField("id", t.LongType()),
        t.StructField("b", t.BooleanType()),
        t.StructField("ti", t.IntegerType()),
        t.StructField("si", t.IntegerType()),
        t.StructField("i", t.IntegerType()),
        t.StructField("l", t.LongType()),
        t.StructField("f", t.FloatType()),
        t.StructField("d", t.DoubleType()),
        t.StructField("dec9", t.DecimalType(9, 2)),
        t.StructField("dec38", t.DecimalType(38, 10)),
        t.StructField("s", t.StringType()),
        t.StructField("u", t.StringType()),
        t.StructField("dt", t.DateType()),
        t.StructField("ts", t.TimestampType()),
        t.StructField("bin", t.BinaryType()),
        t.StructField(
            "st",
            t.StructType(
                [
                    t.StructField("a", t.IntegerType()),
                    t.StructField("b", t.StringType()),
                    t.StructField(
                        "c",
                        t.StructType(
                            [t.StructField("d", t.DoubleType()), t.StructField("e", t.DateType())]
                        ),
                    ),
                ]
            ),
        ),
        t.StructField("n", t.IntegerType()),
        t.StructField("none", t.IntegerType()),
        t.StructField("arr", t.ArrayType(t.IntegerType())),
        t.StructField("m", t.MapType(t.StringType(), t.IntegerType())),
        t.StructField("p", t.StringType()),
        t.StructField("q", t.IntegerType()),
    ]
)

STATS_COLUMNS = (
    *("id", "b", "ti", "si", "i", "l", "f", "d", "dec9", "dec38", "s", "u", "dt", "ts", "bin"),
    *("st.a", "st.b", "st.c.d", "st.c.e", "n", "none", "p", "q"),
)
"""Every column and nested field that `column_stats` can hold."""


class Partitioning(Enum):
    """The partition columns of a table: files 8 k to 8 k + 7 share a partition of one level."""

    NONE = "none"
    HIVE = "hive"
    """`q=0` to `q=3`, an int."""
    PLAIN = "plain"
    """`p0` to `p3`, a string, without the column's name."""
    LEVELS = "levels"
    """`p=p0/q=0` to `p=p3/q=1`."""
    SPECIAL = "special"
    """`p=...` with a null and characters that need escapes; eight partitions."""


@dataclass(frozen=True)
class Matrix:
    """A matrix table and its contents.

    Attributes:
        table: The Hudi table.
        rows: Its rows after every commit, by id, with Python values (timestamps aware, in UTC).
    """

    table: HudiTable
    rows: tuple[Row, ...]


def write_matrix(
    spark: SparkSession,
    parent: Path,
    *,
    type: TableType,
    version: int = 9,
    partitioning: Partitioning = Partitioning.NONE,
    extra: Mapping[str, str] | None = None,
) -> Matrix:
    """Write the table in three commits: all rows, some updates, some deletes.

    The updates move values out of their file's old ranges. In a merge-on-read table the updates and
    deletes are in log files.

    Args:
        spark: A session with Hudi.
        parent: The directory in which the table's directory is created.
        type: Copy on write or merge on read.
        version: The table version: 6, 8 or 9.
        partitioning: The partition columns.
        extra: More options of Hudi's writer.
    """
    spec = _spec(type, version, partitioning, extra or {})
    rows = _Rows.of(partitioning)
    table = create(_frame(spark, rows.first, files=FILES), spec, parent)
    upsert(table, _frame(spark, rows.updated, files=1))
    delete(table, _frame(spark, rows.deleted, files=1))
    return Matrix(table, rows.last)


@dataclass(frozen=True)
class _Rows:
    """The rows of the first commit, the rows of the other two, and all rows afterwards."""

    first: tuple[Row, ...]
    updated: tuple[Row, ...]
    deleted: tuple[Row, ...]
    last: tuple[Row, ...]

    @staticmethod
    def of(partitioning: Partitioning) -> "_Rows":
        rows = {row["id"]: row for row in _rows(partitioning)}
        updated = {key: _moved(row) for key, row in rows.items() if _is_updated(key)}
        deleted = {key: row for key, row in rows.items() if _is_deleted(key)}
        last = {key: row for key, row in (rows | updated).items() if key not in deleted}
        return _Rows(
            tuple(rows.values()),
            tuple(updated.values()),
            tuple(deleted.values()),
            tuple(last[key] for key in sorted(last)),
        )


def _spec(
    type: TableType, version: int, partitioning: Partitioning, extra: Mapping[str, str]
) -> TableSpec:
    spec = TableSpec(
        name=f"matrix_{type.name.lower()}_v{version}_{partitioning.value}",
        type=type,
        version=version,
        partitions=_partitions(partitioning),
        partition_style=(
            PartitionStyle.PLAIN if partitioning is Partitioning.PLAIN else PartitionStyle.HIVE
        ),
        stats_columns=STATS_COLUMNS,
        extra=extra,
    )
    return spec if partitioning is Partitioning.SPECIAL else _without_escapes(spec)


class Matrices:
    """Matrix tables that several tests read: each is written once, at its first use.

    Test processes that run at the same time share them.
    """

    def __init__(self, spark: SparkSession, parent: Path) -> None:
        """Prepare without writing; tables will be directories of `parent`."""
        self._spark = spark
        self._parent = parent
        parent.mkdir(parents=True, exist_ok=True)

    def get(
        self, type: TableType, version: int = 9, partitioning: Partitioning = Partitioning.NONE
    ) -> Matrix:
        """Return the table as `write_matrix` writes it. It must not be changed."""
        spec = _spec(type, version, partitioning, {})
        with written_once(self._parent, spec.name) as is_missing:
            if is_missing:
                write_matrix(
                    self._spark, self._parent, type=type, version=version, partitioning=partitioning
                )
        path = self._parent.resolve() / spec.name
        return Matrix(HudiTable(spec, str(path), SCHEMA), _Rows.of(partitioning).last)


def _partitions(partitioning: Partitioning) -> tuple[str, ...]:
    return {
        Partitioning.NONE: (),
        Partitioning.HIVE: ("q",),
        Partitioning.PLAIN: ("p",),
        Partitioning.LEVELS: ("p", "q"),
        Partitioning.SPECIAL: ("p",),
    }[partitioning]


def _without_escapes(spec: TableSpec) -> TableSpec:
    option = {"hoodie.datasource.write.partitionpath.urlencode": "false"}
    return TableSpec(**{**vars(spec), "extra": {**option, **spec.extra}})


def _frame(spark: SparkSession, rows: tuple[Row, ...], *, files: int) -> DataFrame:
    values = [tuple(row[name] for name in SCHEMA.names) for row in rows]
    return spark.createDataFrame(spark.sparkContext.parallelize(values, files), SCHEMA)


def _rows(partitioning: Partitioning) -> list[Row]:
    return [_row(k, r, partitioning) for k in range(FILES) for r in range(ROWS)]


def _row(k: int, r: int, partitioning: Partitioning) -> Row:
    i = 1000 * k + r - 5000
    day = _DAY_ZERO + dt.timedelta(days=40 * k + r)
    special = partitioning is Partitioning.SPECIAL
    return {
        "id": 1000 * k + r,
        "b": (True, False, r % 2 == 0, None if r % 3 == 0 else r % 3 == 1)[k % 4],
        "ti": k - 16,
        "si": 100 * k - 1600 + r,
        "i": i,
        "l": i * 1_000_000_000,
        "f": _float(k, r),
        "d": _float(k, r),
        "dec9": Decimal(f"{100 * k + r}.25") * (-1 if k < 8 else 1),
        "dec38": Decimal(f"{k - 16}{r:02d}00000000000000000000000.0123456789"),
        "s": f"name_{k:03d}_{r:02d}",
        "u": _text(k, r),
        "dt": day,
        "ts": _TIME_ZERO + dt.timedelta(days=40 * k, seconds=61 * r, microseconds=r),
        "bin": None if r == 7 else bytes((k, r, 255 - r)),
        "st": None
        if r == 11
        else {"a": i, "b": f"inner_{k:03d}", "c": {"d": k + r / 64, "e": day}},
        "n": None if k % 5 == 0 or r % 3 == 0 else 10 * k + r,
        "none": None,
        "arr": None if r == 13 else [k, r],
        "m": {"k": k, f"r{r}": r},
        "p": _SPECIAL[k // 4] if special else f"p{k // 8}",
        "q": (k // 4) % 2 if partitioning is Partitioning.LEVELS else k // 8,
    }


def _float(k: int, r: int) -> float:
    odd = {3: math.nan, 5: math.inf, 6: -math.inf, 0: -0.0}.get(k % 8)
    return odd if odd is not None and r >= ROWS - 2 else k + r / 64


def _text(k: int, r: int) -> str:
    return (
        f"é{k:03d}à{r}",
        f"😀{k:03d}{r}",
        "" if r % 2 == 0 else f"e{k:03d}{r}",
        "x" * 200 + f"{k:03d}{r:02d}",
        f"日本語{k:03d}{r}",
        ("\ufffd" if r % 2 == 0 else "\U00010000") + f"{k:03d}",
    )[k % 6]


def _is_updated(key: int) -> bool:
    return (key // 1000) % 4 == 1 and key % 1000 in (1, 3)


def _is_deleted(key: int) -> bool:
    return (key // 1000) % 4 == 2 and key % 1000 in (2, 4)


def _moved(row: Row) -> Row:
    """Return the row with values outside every range of its file; keys and partition remain."""
    return {
        **row,
        "i": row["i"] + 500_000,
        "l": -row["l"] - 1,
        "f": -1e9,
        "d": 1e300,
        "dec9": Decimal("9999999.99"),
        "s": f"updated_{row['id']:05d}",
        "dt": row["dt"] + dt.timedelta(days=20_000),
        "ts": row["ts"] + dt.timedelta(days=20_000),
        "st": {"a": -1, "b": "moved", "c": {"d": -1.0, "e": dt.date(2100, 1, 1)}},
        "n": -7,
    }
