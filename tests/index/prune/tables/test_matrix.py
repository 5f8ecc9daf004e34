"""No row is lost: every predicate, on tables of every type, version and kind of partitioning."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession

from devtools.matrix import FILES, Matrices, Partitioning
from devtools.spark import session_settings
from devtools.tables import TableType
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.tables.listing import TableView
from tests.index.prune import predicates
from tests.index.prune.hudi_data_skipping import kept_beyond_hudi_in_matrix
from tests.index.prune.matching_slices import assert_no_row_lost, read, request
from tests.marks import long

pytestmark = pytest.mark.spark

COW, MOR = TableType.COW, TableType.MOR
NONE, HIVE, PLAIN = Partitioning.NONE, Partitioning.HIVE, Partitioning.PLAIN
LEVELS, SPECIAL = Partitioning.LEVELS, Partitioning.SPECIAL

TABLES = [
    *((COW, 9, NONE), (MOR, 9, NONE), (COW, 9, SPECIAL), (MOR, 9, HIVE), (COW, 8, LEVELS)),
    *((MOR, 8, PLAIN), (MOR, 6, NONE), long(COW, 6, HIVE)),
    *(long(COW, 8, NONE), long(MOR, 8, NONE), long(COW, 6, NONE), long(MOR, 6, SPECIAL)),
    long(MOR, 9, LEVELS),
]


@pytest.fixture(scope="module")
def pruner() -> Pruner:
    return Pruner(PruneOptions(footer_wait=20))


@pytest.mark.smoke("MERGE_ON_READ-6")
@pytest.mark.parametrize(("type_", "version", "partitioning"), TABLES)
def test_every_slice_with_a_matching_row_is_kept(
    spark: SparkSession,
    matrices: Matrices,
    pruner: Pruner,
    type_: TableType,
    version: int,
    partitioning: Partitioning,
) -> None:
    path = matrices.get(type_, version, partitioning).table.path
    predicates_checked: Sequence[str] = (*predicates.ALL, *predicates.ONLY_SPARK)
    kept = assert_no_row_lost(pruner, path, read(spark, path), predicates_checked)
    assert sum(kept.values()) < FILES * len(kept) / 2

    zone = "America/New_York"
    with session_settings(spark, {"spark.sql.session.timeZone": zone}):
        predicates_checked = (*predicates.TIMES, *predicates.OF_TIMES, *predicates.ONLY_SPARK)
        assert_no_row_lost(pruner, path, read(spark, path), predicates_checked, zone=zone)

    if type_ is MOR:
        bases = read(spark, path, hoodie__datasource__query__type="read_optimized")
        assert_no_row_lost(pruner, path, bases, predicates.ALL, view=TableView.READ_OPTIMIZED)


#: The whole correctness table, and predicates that only Spark's SQL has. Predicates for which
#: Hudi's own skipping loses rows or fails are left out.
EVERYTHING = (
    *(*predicates.ALL, *predicates.ONLY_SPARK),
    "ts + INTERVAL 1 DAY > TIMESTAMP '1973-05-01 00:00:00'",
    "dt - INTERVAL 2 MONTHS < DATE '1969-11-01'",
    *("(n > 5) IS NULL", "(n > 5) IS NOT NULL", "(i > 5) IS NULL"),
)


#: Without those for which Hudi 1.2's own skipping fails: binaries, and types that it cannot
#: compare.
COMPARED = (
    *("b = false", "b IS NULL", "i = 3005", "i > 25000", "i BETWEEN 990 AND 2010", "i <> 3005"),
    *("i IN (1, 7, 1005, 22007)", "NOT (i < 20000)", "i + 1 = 3006", "l > 26000000000000"),
    *("i = 503001", "CAST(i AS bigint) = 3005", "ti BETWEEN 10 AND 12", "si = -1600", "id = 5005"),
    *("dec9 = 1005.25", "dec9 < -600", "dec38 > 1522000000000000000000000.0123456789"),
    *("s = 'name_003_07'", "s > 'name_031'", "u = ''", "u = 'é006à3'", "u = '\ufffd005'"),
    *("dt = DATE '1970-01-05'", "dt > '1973-05-01'", "ts < TIMESTAMP '1970-01-01 00:00:00'"),
    *("st.a = 3005", "st.c.e = DATE '1970-01-05'", "n IS NULL", "n IS NOT NULL", "n = 11"),
    *("n <> 11", "none IS NOT NULL", "none = 1", "p = 'p1'", "q >= 2", "q IS NULL"),
    *("p = 'p1' AND q = 1 AND i < 6000", "p = 'p0' OR i > 26000"),
    *("(i < -4000 OR i > 25000) AND n IS NOT NULL", "i = 3005 AND s = 'name_009_05'"),
    *("s LIKE 'name_017%'", "s NOT LIKE 'name_%'", "s LIKE 'name_003_07'", "i <=> 3005"),
    *(*predicates.FUNCTIONS, *predicates.OF_TIMES, *predicates.ONLY_SPARK),
    *(
        "ts + INTERVAL 1 DAY > TIMESTAMP '1973-05-01 00:00:00'",
        "dt - INTERVAL 2 MONTHS < DATE '1969-11-01'",
    ),
    *("(n > 5) IS NULL", "(n > 5) IS NOT NULL", "(i > 5) IS NULL"),
)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("type_", "version", "partitioning", "predicates_checked", "every"),
    [
        (COW, 8, LEVELS, EVERYTHING, 24),
        *(long(COW, 8, LEVELS, EVERYTHING, 1), long(MOR, 6, NONE, EVERYTHING, 1)),
        *(long(COW, 9, NONE, COMPARED, 1), long(MOR, 9, HIVE, COMPARED, 1)),
    ],
    ids=["some", "cow-8", "mor-6", "cow-9", "mor-9"],
)
def test_hudi_does_not_keep_fewer_slices(
    spark: SparkSession,
    matrices: Matrices,
    pruner: Pruner,
    type_: TableType,
    version: int,
    partitioning: Partitioning,
    predicates_checked: Sequence[str],
    every: int,
) -> None:
    path = matrices.get(type_, version, partitioning).table.path
    kept = {
        text: int(pruner.prune(str(path), request(text)).keep.sum())
        for text in tuple(dict.fromkeys(predicates_checked))[::every]
    }
    assert kept_beyond_hudi_in_matrix(spark, path, kept, has_logs=type_ is MOR) == {}
