"""Record indexes, secondary indexes and Bloom filters of tables written by real Hudi."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from devtools.tables import HudiTable, TableSpec, TableType, create, delete, upsert
from pyhudi_expr.index.prune import Pruner
from tests.index.prune.hudi_data_skipping import kept_beyond_hudi
from tests.index.prune.matching_slices import assert_no_row_lost, groups, read, request
from tests.marks import long

pytestmark = pytest.mark.spark

RECORD_INDEX = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
    # Without it, Hudi 1.2 fails to update a secondary index.
    "hoodie.embed.timeline.server": "true",
}
BLOOM = {"hoodie.metadata.index.bloom.filter.enable": "true"}
#: New rows go to the log files of the bucket that their key belongs to.
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"}

#: Key texts beyond ASCII: their last bytes are negative to Java.
KEY = "'ключ-é😀' || id"
KEYS = tuple(f"k = 'ключ-é😀{n}'" for n in (3, 21, 45, 78, 999))
BY_KEY = (
    *KEYS,
    "k IN ('ключ-é😀3', 'ключ-é😀60', 'nothing')",
    "k = 'ключ-é😀3' OR k = 'ключ-é😀45'",
    "k = 'ключ-é😀3' AND x > 5000",
    "_hoodie_record_key = 'ключ-é😀21'",
    "NOT (k = 'ключ-é😀3')",
)
BY_VALUE = (
    *("c = 'c$3\\\\'", "c = 'late'", "c = 'new$45'", "c IN ('c$1\\\\', 'c$9\\\\')", "c IS NULL"),
    *("c <=> NULL", "c = 'nothing'", "c = 'c$3\\\\' OR k = 'ключ-é😀45'", "NOT (c = 'c$3\\\\')"),
    *("d = DATE '2024-01-04'", "d = DATE '2034-01-04'", "d IS NULL", "n = 45", "n IN (7, 1045)"),
    *("ts = TIMESTAMP '2023-11-14 22:13:23'", "ts IS NULL", "c = 'c$3\\\\' AND n = 3"),
)


def rows(
    spark: SparkSession,
    where: str,
    c: str = "if(id % 7 = 0, null, 'c$' || id || chr(92))",
    n: str = "id",
    o: int = 5,
) -> DataFrame:
    """Rows with ids from 0 to 79, ten in a file, in partitions p0 and p1."""
    return spark.sql(
        f"select {KEY} as k, {c} as c, if(id % 7 = 1, null, date_add(DATE '2024-01-01', "
        f"cast(id as int))) as d, timestamp_seconds(1700000000 + id) as ts, cast({n} as int) as n, "
        f"id as x, cast({o} as long) as o, 'p' || (id div 40) as p "
        f"from range(0, 80, 1, 8) where {where}"
    )


def scattered(frame: DataFrame) -> DataFrame:
    """The same rows with days spread over all files, so that their bounds exclude nothing."""
    return frame.withColumn("d", expr("date_add(DATE '2024-01-01', cast(x * 37 % 80 as int))"))


@pytest.fixture
def by_sql(spark: SparkSession) -> Iterator[None]:
    """Creating indexes by SQL needs a lock, whose settings must not stay in the session."""
    lock = "hoodie.write.lock.provider"
    spark.conf.set(lock, "org.apache.hudi.client.transaction.lock.InProcessLockProvider")
    yield
    spark.conf.unset(lock)


def index(spark: SparkSession, table: HudiTable, *columns: str) -> None:
    spark.sql(f"DROP TABLE IF EXISTS {table.name}")
    spark.sql(f"CREATE TABLE {table.name} USING hudi LOCATION '{table.path}'")
    for column in columns:
        spark.sql(f"CREATE INDEX of_{column} ON {table.name} ({column})")


def bulk_insert(table: HudiTable, frame: DataFrame) -> None:
    """Adds rows without checking for existing keys."""
    options = {**table.spec.options(), "hoodie.datasource.write.operation": "bulk_insert"}
    frame.write.format("hudi").options(**options).mode("append").save(str(table.path))


def assert_right(
    spark: SparkSession,
    table: HudiTable,
    predicates: tuple[str, ...],
    by: str,
    compared: tuple[str, ...] = (),
) -> dict[str, int]:
    """Asserts that no row is lost, and that the index `by` excludes something; returns the kept
    slices.

    compared: predicates that keep no more slices than Hudi's own reader reads.
    """
    pruner = Pruner()
    kept = assert_no_row_lost(pruner, table.path, read(spark, table.path), predicates)
    results = [pruner.prune(str(table.path), request(text)) for text in predicates]
    notes = [note for result in results for note in result.notes]
    assert [note for note in notes if "SHOW INDEXES says why" not in note] == []
    answers = [answer for result in results for answer in result.explain().answers]
    assert any(answer.files for answer in answers if answer.index == by)
    ours = {text: int(pruner.prune(str(table.path), request(text)).keep.sum()) for text in compared}
    assert kept_beyond_hudi(spark, table.path, ours) == {}
    return kept


def test_filters_of_base_files_say_nothing_of_keys_in_log_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    spec = TableSpec("buckets", TableType.MOR, 9, ("k",), "o", ("p",), extra={**BLOOM, **BUCKETS})
    table = create(rows(spark, "id > 30"), spec, tmp_path)
    upsert(table, rows(spark, "id IN (3, 21)"))
    assert_right(spark, table, BY_KEY, "bloom_filters")


@pytest.mark.long
@pytest.mark.parametrize(
    ("type_", "version"),
    [
        (TableType.COW, 9),
        (TableType.COW, 8),
        (TableType.MOR, 9),
        (TableType.MOR, 6),
    ],
)
def test_indexes_follow_the_writers(
    spark: SparkSession, tmp_path: Path, by_sql: None, type_: TableType, version: int
) -> None:
    name = f"keys_{type_.name.lower()}_{version}"
    spec = TableSpec(
        name, type_, version, ("k",), "o", ("p",), stats_columns=("x",), extra=RECORD_INDEX
    )
    table = create(rows(spark, "true"), spec, tmp_path)
    predicates, by = BY_KEY, "record_index"
    if version > 6:
        index(spark, table, "c", "d", "ts", "n")
        predicates = BY_KEY + BY_VALUE
    if type_ is TableType.COW:
        by = "secondary_index_of_c"
    kept = assert_right(spark, table, predicates, by)
    assert [kept[key] for key in KEYS] == [1, 1, 1, 1, 0]

    upsert(table, rows(spark, "id % 10 = 5", c="'new$' || id", n="id + 1000", o=6))
    upsert(table, rows(spark, "id in (3, 4)", c="'late'", o=1))
    assert_right(spark, table, predicates, by)
    delete(table, rows(spark, "id in (21, 60)"))
    # Hudi trusts outdated secondary indexes of merged tables.
    compared = predicates if type_ is TableType.COW else BY_KEY
    kept = assert_right(spark, table, predicates, by, compared)
    assert [kept[key] for key in KEYS] == [1, 0, 1, 1, 0]

    # Existing keys: the index has one of their locations.
    bulk_insert(table, rows(spark, "id in (3, 45, 78)", c="'twice'").coalesce(1))
    assert_right(spark, table, (*predicates, "c = 'twice'"), "record_index")


BY_NUMBER = ("n = 3", "n = 45", "n = 71", "n = 1045", "n = 12", "n = 7777", "n IN (3, 1071)")


@pytest.mark.parametrize("version", [9, long(8)])
def test_secondary_indexes_of_merge_on_read_tables(
    spark: SparkSession, tmp_path: Path, by_sql: None, version: int
) -> None:
    """Hudi 1.2 updates only the first of two secondary indexes for log files."""
    spec = TableSpec(
        f"two_{version}",
        TableType.MOR,
        version,
        ("k",),
        "o",
        stats_columns=("x",),
        extra=RECORD_INDEX,
    )
    table = create(rows(spark, "true"), spec, tmp_path)
    upsert(table, rows(spark, "id = 3", n="3333", o=6))
    index(spark, table, "c", "n")
    predicates, by = (
        (*BY_NUMBER, "n = 3333", "c = 'new$45'", "c = 'c$46\\\\'"),
        "secondary_index_of_n",
    )
    kept = assert_right(spark, table, predicates, by)
    assert [kept[text] for text in ("n = 3", "n = 3333", "n = 45", "n = 71")] == [0, 1, 1, 1]

    upsert(table, rows(spark, "id in (45, 46, 71)", c="'new$' || id", n="id + 1000", o=7))
    kept = assert_right(spark, table, predicates, by)
    # Two slices have log files that the index does not cover.
    assert [kept[text] for text in ("n = 3", "n = 3333", "n = 12")] == [2, 3, 3]
    delete(table, rows(spark, "id = 12"))
    bulk_insert(table, rows(spark, "id = 12", n="7777", o=8).coalesce(1))
    assert_right(spark, table, predicates, by)
    spark.sql(f"CALL run_compaction(op => 'scheduleAndExecute', path => '{table.path}')").collect()
    kept = assert_right(spark, table, predicates, by)
    assert kept["n = 3333"] < 9

    spark.sql(f"DROP INDEX of_n ON {table.name}")
    spark.sql(f"CREATE INDEX of_n ON {table.name} (n)")
    kept = assert_right(spark, table, predicates, by)
    assert [kept[text] for text in ("n = 3", "n = 3333", "n = 1045", "n = 7777")] == [0, 1, 1, 1]


def test_a_late_delete_that_loses_by_ordering(spark: SparkSession, tmp_path: Path) -> None:
    """The delete removes the key's entry, but the row stays."""
    spec = TableSpec(
        "late", TableType.MOR, 9, ("k",), "o", ("p",), stats_columns=("x",), extra=RECORD_INDEX
    )
    marked = "false as _hoodie_is_deleted"
    table = create(rows(spark, "true").selectExpr("*", marked), spec, tmp_path)
    deleted = rows(spark, "id in (3, 45)", o=1).selectExpr("*", "true as _hoodie_is_deleted")
    upsert(table, deleted)
    assert read(spark, table.path).where(KEYS[0]).count() == 1
    kept = assert_right(spark, table, BY_KEY, "record_index")
    assert kept[KEYS[0]] >= 1


@pytest.mark.parametrize(
    ("type_", "version"), [long(TableType.COW, 6), long(TableType.COW, 9), (TableType.MOR, 8)]
)
def test_composite_keys_and_keys_of_dates(
    spark: SparkSession, tmp_path: Path, type_: TableType, version: int
) -> None:
    plain = {
        "type": type_,
        "version": version,
        "ordering": "o",
        "stats_columns": ("x",),
        "extra": RECORD_INDEX,
    }
    both = TableSpec("both", key=("n", "k"), partitions=("p",), **plain)
    table = create(rows(spark, "true"), both, tmp_path)
    upsert(table, rows(spark, "id = 45"))
    predicates = tuple(f"n = {n} AND k = 'ключ-é😀{n}'" for n in (3, 45, 999))
    predicates += ("n = 3", "n = 3 AND k = 'nothing'")
    kept = assert_right(spark, table, predicates, "record_index", compared=predicates)
    assert [kept[text] for text in predicates[:4]] == [1, 1, 0, 8]

    # Hudi's own reader finds no row by a date key.
    day = TableSpec("day", key=("d",), **plain)
    table = create(scattered(rows(spark, "id % 7 <> 1")), day, tmp_path)
    upsert(table, scattered(rows(spark, "id = 45")))
    predicates = tuple(f"d = DATE '2024-{day}'" for day in ("01-04", "02-15", "04-30"))
    predicates += ("d IN (DATE '2024-01-04', DATE '2024-03-10')",)
    kept = assert_right(spark, table, predicates, "record_index")
    assert [kept[text] for text in predicates] == [1, 1, 0, 2]


@pytest.mark.parametrize(
    ("type_", "version"), [(TableType.COW, 9), long(TableType.MOR, 8), long(TableType.COW, 6)]
)
def test_bloom_filters_lose_no_row_while_the_table_changes(
    spark: SparkSession, tmp_path: Path, type_: TableType, version: int
) -> None:
    spec = TableSpec(
        "bloom", type_, version, ("k",), "o", ("p",), stats_columns=("x",), extra=BLOOM
    )
    table = create(rows(spark, "true"), spec, tmp_path)
    kept = assert_right(spark, table, BY_KEY, "bloom_filters")
    assert [kept[key] for key in KEYS] == [1, 1, 1, 1, 0]
    upsert(table, rows(spark, "id % 10 = 5", c="'new$' || id"))
    bulk_insert(table, rows(spark, "id in (3, 45, 78)", c="'twice'").coalesce(1))
    # Bounds of texts beyond the BMP are not trusted in log files; Hudi trusts them.
    assert_right(spark, table, BY_KEY, "bloom_filters", BY_KEY if type_ is TableType.COW else ())
    pruner = Pruner()
    assert len(groups(pruner.prune(str(table.path), request(KEYS[0])))) >= 2
