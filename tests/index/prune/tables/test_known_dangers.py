"""Known ways to drop a file with a match, each on a real table.

Small tables. Every file is compared with all rows that Hudi reads without data skipping.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from devtools.spark import session_settings
from devtools.tables import HudiTable, TableSpec, TableType, create, delete, upsert
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.tables.listing import TableView
from tests.index.prune.matching_slices import assert_no_row_lost, read
from tests.marks import long

pytestmark = pytest.mark.spark


@pytest.fixture
def pruner() -> Pruner:
    return Pruner(PruneOptions(footer_wait=20))


class Tables:
    """Writes small tables, with one file for each list of rows."""

    def __init__(self, spark: SparkSession, parent: Path) -> None:
        self._spark = spark
        self._parent = parent

    def frame(self, schema: str, *files: Iterable[tuple[Any, ...]]) -> Any:
        rows = [tuple(row) for file in files for row in file]
        frames = [self._spark.createDataFrame(list(file), schema).coalesce(1) for file in files]
        assert rows
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.union(frame)
        return whole

    def create(self, schema: str, *files: Iterable[tuple[Any, ...]], **spec: Any) -> HudiTable:
        spec = {"name": "trap", **spec}
        return create(self.frame(schema, *files), TableSpec(**spec), self._parent)


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Tables:
    return Tables(spark, tmp_path)


@pytest.mark.parametrize("type", [long(TableType.COW), TableType.MOR])
def test_a_column_that_was_added_is_null_in_older_files(
    spark: SparkSession, tables: Tables, pruner: Pruner, type: TableType
) -> None:
    table = tables.create(
        "id long, p string, x int",
        [(1, "a", 1)],
        [(2, "b", 2)],
        type=type,
        partitions=("p",),
        extra={"hoodie.schema.on.read.enable": "false"},
    )
    upsert(table, tables.frame("id long, p string, x int, y int", [(3, "a", 3, 30)]))
    kept = assert_no_row_lost(
        pruner,
        table.path,
        read(spark, table.path),
        ["y IS NULL", "y IS NOT NULL", "y = 30", "y <=> NULL", "NOT (y > 5)", "y = 31", "x = 1"],
    )
    assert kept["x = 1"] == 1
    assert kept["y = 31"] <= 2


OLD = "id long, a int, b float, c int, d long"
NEW = "id long, a long, b double, c double, d float"


@pytest.mark.parametrize("type", [long(TableType.COW), TableType.MOR])
def test_columns_that_were_widened(
    spark: SparkSession, tables: Tables, pruner: Pruner, type: TableType
) -> None:
    table = tables.create(
        OLD, *([(n, n, n / 10, n, 2**24 + n)] for n in (1, 2, 7)), type=type, version=9
    )
    upsert(
        table,
        tables.frame(NEW, [(n, 2**40 + n, n / 10, n / 10, float(n)) for n in (2, 3)]),
    )
    literals: dict[str, list[Any]] = {
        "a": [1, 2, 7, 2**40 + 2],
        "b": [f"cast('{n / 10}' as double)" for n in (1, 2, 3, 7)],
        "c": ["1.0", "0.2", "7"],
        "d": [f"cast('{n}' as float)" for n in (2**24 + 1, 2**24 + 2, 2**24 + 7, 2, 3)],
    }
    assert_no_row_lost(
        pruner,
        table.path,
        read(spark, table.path),
        [
            f"{name} {op} {literal}"
            for name, values in literals.items()
            for literal in values
            for op in ("=", "<", ">=")
        ],
    )


INFINITY, LARGEST = float("inf"), 1.7976931348623157e308
SPECIAL = [float("nan"), -INFINITY, INFINITY, -0.0, 0.0, LARGEST, -LARGEST, 5e-324, 2.5, -2.5]


@pytest.mark.parametrize("type", [long(TableType.COW), TableType.MOR])
def test_functions_of_special_floats(
    spark: SparkSession, tables: Tables, pruner: Pruner, type: TableType
) -> None:
    files = [[(n, value, value)] for n, value in enumerate(SPECIAL)]
    pairs = [[(10, -INFINITY, 1.5), (11, 1.5, INFINITY)], [(12, None, 2.5), (13, -7.0, None)]]
    table = tables.create("id long, d double, f float", *files, *pairs, type=type, version=9)
    terms = [
        *("{0} + 1", "{0} - 1.5", "{0} * 2", "{0} / 2", "2 / {0}", "-{0}", "abs({0})"),
        *("{0} + {0}", "{0} * {0}", "abs({0}) - {0}", "floor({0})", "ceil({0})", "round({0})"),
        *("{0} % 2", "coalesce({0}, 3)", "greatest({0}, 1)", "cast({0} as float)"),
    ]
    tests = ["< 0", "> 5", "= 2.5", "<= -2.5", "IS NULL", "= cast('NaN' as double)"]
    predicates = [f"{term.format(c)} {test}" for c in "df" for term in terms for test in tests]
    kept = assert_no_row_lost(pruner, table.path, read(spark, table.path), predicates)
    assert kept["d + 1 < 0"] < len(files)
    assert kept["abs(d) > 5"] < len(files)


TIMES = ["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"]


@pytest.mark.smoke("6-INT96")
@pytest.mark.parametrize("stored", TIMES)
@pytest.mark.parametrize("version", [6, 9])
def test_timestamps_in_each_parquet_type(
    spark: SparkSession, tables: Tables, pruner: Pruner, version: int, stored: str
) -> None:
    frame = spark.sql(
        "select id, timestamp'2020-01-01 00:00:00.123' + make_interval(0, 0, 0, id) as ts "
        "from range(0, 4, 1, 4)"
    )
    extra = {"hoodie.parquet.outputtimestamptype": stored}
    spec = TableSpec("times", version=version, extra=extra)
    table = create(frame, spec, tables._parent)
    kept = assert_no_row_lost(
        pruner,
        table.path,
        read(spark, table.path),
        [
            "ts = timestamp'2020-01-02 00:00:00.123'",
            "ts < timestamp'2020-01-02 00:00:00.123'",
            "ts >= timestamp'2020-01-04 00:00:00'",
            "ts > timestamp'1990-01-01 00:00:00'",
            "ts IS NOT NULL",
        ],
    )
    if stored == "TIMESTAMP_MICROS":
        assert kept["ts < timestamp'2020-01-02 00:00:00.123'"] == 1


@pytest.mark.smoke("6-true")
@pytest.mark.parametrize(("version", "legacy"), [(6, "true"), (9, "false")])
def test_decimals_in_each_parquet_type(
    spark: SparkSession, tables: Tables, pruner: Pruner, version: int, legacy: str
) -> None:
    frame = spark.sql(
        "select id, cast(id * 2 - 3 as decimal(9,2)) as small, cast(id * 2 - 3 as decimal(18,4)) "
        "as middle, cast(id * 2 - 3 as decimal(38,10)) as large, "
        "cast(id * 2 - 3 as decimal(30,18)) as deep from range(0, 4, 1, 4)"
    )
    extra = {"hoodie.parquet.writelegacyformat.enabled": legacy}
    table = create(frame, TableSpec("decimals", version=version, extra=extra), tables._parent)
    columns = ("small", "middle", "large", "deep")
    kept = assert_no_row_lost(
        pruner,
        table.path,
        read(spark, table.path),
        [f"{name} {test}" for name in columns for test in ("= -1", "< -1.5", "> 0", "= 2.5")],
    )
    # Version 6 has no statistics of decimals with many digits.
    for name in columns[: 2 if version == 6 else 4]:
        assert kept[f"{name} = -1"] == 1
        assert kept[f"{name} > 0"] == 2


@pytest.mark.parametrize(("type", "version"), [(TableType.COW, 9), (TableType.MOR, 6)])
def test_texts_too_long_for_statistics(
    spark: SparkSession, tables: Tables, pruner: Pruner, type: TableType, version: int
) -> None:
    files = [
        [(n, letter * size, bytes([n]) * size)]
        for n, (letter, size) in enumerate([("a", 1500), ("b", 3000), ("c", 9000), ("d", 70_000)])
    ]
    table = tables.create(
        "id long, s string, raw binary",
        *files,
        [(7, None, None)],
        type=type,
        version=version,
    )
    upsert(table, tables.frame("id long, s string, raw binary", [(1, "e" * 9000, b"\x09" * 9000)]))
    kept = assert_no_row_lost(
        pruner,
        table.path,
        read(spark, table.path),
        [
            *(f"s LIKE '{letter}%'" for letter in "abcde"),
            *(f"s >= '{letter}'" for letter in "abcdez"),
            *(f"raw >= X'0{n}'" for n in range(9)),
            *("s IS NULL", "s IS NOT NULL", "raw IS NULL", "raw IS NOT NULL"),
        ],
    )
    assert kept["s IS NOT NULL"] <= 5


MODE = "hoodie.write.record.merge.mode"
PAYLOAD = "hoodie.datasource.write.payload.class"
MODEL = "org.apache.hudi.common.model"
MERGING = [
    (9, {MODE: "COMMIT_TIME_ORDERING"}),
    long(8, {MODE: "EVENT_TIME_ORDERING"}),
    long(6, {}),
    (9, {PAYLOAD: f"{MODEL}.OverwriteNonDefaultsWithLatestAvroPayload"}),
    long(8, {PAYLOAD: f"{MODEL}.PartialUpdateAvroPayload"}),
    (6, {PAYLOAD: f"{MODEL}.PartialUpdateAvroPayload"}),
]
MERGED = [
    *(f"{column} {test}" for column in "xy" for test in ("= 1", "= 9", "= 20", "> 5", "IS NULL")),
    *("x = 1 AND y = 9", "x = 9 AND y = 1", "x IS NULL AND y = 9", "x < y", "y < x", "x <> y"),
    *("NOT (x = 1 AND y = 1)", "x = 1 OR y = 9"),
]


@pytest.mark.parametrize(("version", "extra"), MERGING)
def test_records_merged_with_older_or_partial_records(
    spark: SparkSession, tables: Tables, pruner: Pruner, version: int, extra: dict[str, str]
) -> None:
    schema = "id long, t long, x int, y int"
    table = tables.create(
        schema,
        [(1, 10, 1, 1), (2, 10, 1, 1)],
        [(3, 10, 1, 1), (4, 10, 1, 1)],
        [(5, 10, 20, 20)],
        type=TableType.MOR,
        version=version,
        ordering="t",
        extra=extra,
    )
    upsert(table, tables.frame(schema, [(1, 5, 9, 9), (2, 20, None, 9), (3, 20, 9, None)]))
    upsert(table, tables.frame(schema, [(3, 30, None, 9)]))
    frame = read(spark, table.path)
    kept = assert_no_row_lost(pruner, table.path, frame, MERGED)
    # A log file whose x is all null may hold partial updates.
    assert kept["x = 20"] <= 2
    optimised = read(spark, table.path, hoodie__datasource__query__type="read_optimized")
    kept = assert_no_row_lost(pruner, table.path, optimised, MERGED, view=TableView.READ_OPTIMIZED)
    assert kept["x = 9"] == 0


@pytest.mark.parametrize("version", [long(8), 9])
def test_partial_updates_by_merge_into(
    spark: SparkSession, tables: Tables, pruner: Pruner, version: int, tmp_path: Path
) -> None:
    path = tmp_path / "merged"
    name = f"merged_{version}"
    spark.sql(f"drop table if exists {name}")
    spark.sql(
        f"create table {name} (id long, t long, x int, y int, z string) using hudi "
        f"tblproperties (type='mor', primaryKey='id', preCombineField='t', "
        f"'hoodie.write.table.version'='{version}', "
        f"'hoodie.metadata.index.column.stats.enable'='true') location '{path}'"
    )
    with session_settings(spark, {"hoodie.parquet.small.file.limit": "0"}):
        for key in (1, 2, 3):
            spark.sql(f"insert into {name} values ({key}, 1, {key}, {key * 10}, 'z{key}')")
    spark.sql(
        f"merge into {name} as old using (select 2L as id, 5L as t, 777 as x) as new "
        "on old.id = new.id when matched then update set x = new.x, t = new.t"
    )
    assert_no_row_lost(
        pruner,
        path,
        read(spark, path),
        [
            *("x = 777", "x = 2", "y = 20", "y IS NULL", "y IS NOT NULL", "x = 777 AND y = 20"),
            *("x > 100 AND y < 100", "z = 'z2'", "x = 777 AND z = 'z2'", "NOT (x = 777)"),
            *("x = 777 AND y IS NOT NULL", "x > y", "t = 5 AND z LIKE 'z%'", "y <> 10"),
        ],
    )


@pytest.mark.parametrize(
    ("type", "version"), [long(TableType.COW, 9), (TableType.MOR, 9), long(TableType.MOR, 6)]
)
def test_records_that_were_deleted_and_inserted_again(
    spark: SparkSession, tables: Tables, pruner: Pruner, type: TableType, version: int
) -> None:
    schema = "id long, t long, x int, _hoodie_is_deleted boolean"
    table = tables.create(
        schema,
        [(1, 1, 1, False), (2, 1, 2, False)],
        [(3, 1, 3, False)],
        type=type,
        version=version,
        ordering="t",
    )
    delete(table, tables.frame(schema, [(1, 2, 1, False)]))
    upsert(table, tables.frame(schema, [(2, 2, 50, True), (3, 0, 70, True)]))
    predicates = ["x = 1", "x = 2", "x = 3", "x = 50", "x = 70", "x = 90", "x IS NULL"]
    assert_no_row_lost(pruner, table.path, read(spark, table.path), predicates)
    upsert(table, tables.frame(schema, [(1, 3, 90, False), (2, 3, None, False)]))
    kept = assert_no_row_lost(pruner, table.path, read(spark, table.path), predicates)
    assert kept["x = 90"] <= 2


def test_partition_stats_added_later_may_lack_existing_files(
    spark: SparkSession, tables: Tables, pruner: Pruner
) -> None:
    """Hudi 1.2 writes partition bounds that cover only the later files."""
    schema = "id long, p string, x int"
    plain = {"stats_columns": None, "partitions": ("p",), "ordering": "x"}
    table = tables.create(schema, [(i, "a", i) for i in range(50)], **plain)
    lock = "org.apache.hudi.client.transaction.lock.InProcessLockProvider"
    without = {
        "hoodie.write.lock.provider": lock,
        "hoodie.metadata.index.column.stats.enable": "false",
    }
    with session_settings(spark, without):
        spark.sql(f"CREATE TABLE late_statistics USING hudi LOCATION '{table.path}'")
        spark.sql("CREATE INDEX record_index ON late_statistics (id)")
        spark.sql("CREATE INDEX x ON late_statistics (x)")
        options = "expr='from_unixtime', format='yyyy'"
        spark.sql(f"CREATE INDEX e ON late_statistics USING column_stats(id) OPTIONS({options})")
        spark.sql("DROP TABLE late_statistics")
    indexed = {
        "hoodie.metadata.index.column.stats.enable": "true",
        "hoodie.metadata.index.partition.stats.enable": "true",
        "hoodie.metadata.record.index.enable": "true",
        "hoodie.metadata.global.record.level.index.enable": "true",
        "hoodie.embed.timeline.server": "true",
        "hoodie.datasource.write.operation": "insert",
    }
    later = tables.frame(schema, [(100, "a", 100), (101, "a", 101)])
    later.write.format("hudi").options(**{**table.spec.options(), **indexed}).mode("append").save(
        str(table.path)
    )
    predicates = ["x = 7", "x < 10", "x >= 100", "id = 7 AND x = 7", "x = 100"]
    kept = assert_no_row_lost(pruner, table.path, read(spark, table.path), predicates)
    assert kept["x = 7"] == 1
